import { hashKey, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { fleetKeys } from './fleet-keys.ts';

const secret = Uint8Array.from({ length: 32 }, (_, i) => i);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('fleetKeys gives the keys that the specification names', () => {
  const keys = fleetKeys(secret);
  expect(hex(keys.request)).toBe('231eadf7b67d20acd8973f293d4eb8ff87a8574c7a10da8cdcac1deae0fdc2a4');
  expect(hex(keys.response)).toBe('24f967cc53ea991061fe8e2ec76c2f5a97d1a633aef1d4118dc78f8881ff5a8d');
  expect(keys.id).toBe(311_720_778);
  const summary = new SecretKey(Buffer.from('c7d371afe81dc3eb3168a3362bee992d', 'hex'));
  expect(hashKey('a', keys.summary.scheme).low).toBe(hashKey('a', summary.scheme).low);
});

test('fleetKeys gives other keys for another secret, and for each purpose', () => {
  const [a, b] = [fleetKeys(secret), fleetKeys(secret.slice(1))];
  const all = [a.request, a.response, b.request, b.response].map(hex);
  expect(new Set(all).size).toBe(4);
  expect(a.id).not.toBe(b.id);
});

test('fleetKeys refuses a secret that could be guessed', () => {
  expect(() => fleetKeys(new Uint8Array(15))).toThrow(
    'Cannot derive the keys of a fleet: expected a secret of at least 16 bytes, got 15',
  );
});
