import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../clock.ts';
import { FleetKeyring } from '../fleet-keyring.ts';
import { SealedEnvelopes } from './sealed-envelopes.ts';

const SECRET = Uint8Array.from({ length: 32 }, (_, i) => i);
const OTHER = Uint8Array.from({ length: 32 }, (_, i) => 255 - i);
const LIFE = 'AAECAwQFBgcI';
const SUBJECT = 'bloomery.test.said.a.x';
const draft = { kind: 'message', number: 7, payload: Buffer.from('some bytes') } as const;

function seals(now = 1_000_000, secrets: readonly Uint8Array[] = [SECRET]) {
  const clock: Clock = { ...systemClock, now: () => now };
  const keyring = new FleetKeyring(secrets);
  return new SealedEnvelopes({ protocol: 'bloomery-nats 1', keyring, clock, node: 'node-a', life: LIFE });
}

const refusal = (opened: object) => ('refused' in opened ? opened.refused : null);

test('SealedEnvelopes: an envelope is read as it was sealed', () => {
  const opened = seals().open(SUBJECT, seals().seal(SUBJECT, draft));
  expect(opened).toMatchObject({
    envelope: { kind: 'message', node: 'node-a', life: LIFE, serial: 1, number: 7, piece: 0, pieces: 1 },
  });
  expect(`${Buffer.from(opened.envelope!.payload)}`).toBe('some bytes');
});

test('SealedEnvelopes refuses every prefix and every flipped bit', () => {
  const sealed = seals().seal(SUBJECT, draft);
  const reader = seals();
  for (let length = 0; length < sealed.length; length++)
    expect(refusal(reader.open(SUBJECT, sealed.subarray(0, length)))).not.toBe(null);
  for (let bit = 0; bit < 8 * sealed.length; bit++) {
    const damaged = Buffer.from(sealed);
    damaged[bit >> 3] ^= 1 << (bit & 7);
    expect(refusal(reader.open(SUBJECT, damaged))).not.toBe(null);
  }
  // The reader has not been spoilt by what it refused.
  expect(refusal(reader.open(SUBJECT, sealed))).toBe(null);
});

test('SealedEnvelopes: an envelope on another subject, or of another fleet, is refused', () => {
  const sealed = seals().seal(SUBJECT, draft);
  for (const subject of ['bloomery.test.said.a.y', 'bloomery.test.said.b.x', 'bloomery.prod.said.a.x'])
    expect(refusal(seals().open(subject, sealed))).toBe('signature');
  expect(refusal(seals(undefined, [OTHER]).open(SUBJECT, sealed))).toBe('signature');
  expect(refusal(seals(undefined, [OTHER, SECRET]).open(SUBJECT, sealed))).toBe(null);
});

test('SealedEnvelopes: an envelope is taken once, and within 30 s', () => {
  const sealed = seals().seal(SUBJECT, draft);
  const reader = seals();
  expect(refusal(reader.open(SUBJECT, sealed))).toBe(null);
  expect(refusal(reader.open(SUBJECT, sealed))).toBe('replayed');
  expect(refusal(seals(1_030_000).open(SUBJECT, sealed))).toBe(null);
  expect(refusal(seals(1_030_001).open(SUBJECT, sealed))).toBe('clock');
  expect(refusal(seals(969_999).open(SUBJECT, sealed))).toBe('clock');
  // A state may be of any age, and may be read twice.
  expect(refusal(seals(9_000_000).openState(SUBJECT, sealed))).toBe(null);
});

test('SealedEnvelopes: a later version is told apart from damage', () => {
  const sealed = seals().seal(SUBJECT, draft);
  sealed[0] = 2;
  expect(refusal(seals().open(SUBJECT, sealed))).toBe('version');
});
