/**
 * Sealed and randomised filters, byte for byte. `BLOOMERY_WRITE_GOLDEN=1` writes the file again,
 * after a change of the bytes that must have a new version.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hashKey, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import {
  keyedFilter,
  openSealed,
  RandomisedFilter,
  RandomisedPublisher,
  sealFilter,
} from '../../src/private/index.ts';

const FILE = fileURLToPath(new URL('../golden/filters-v1.json', import.meta.url));
const bytes = (first: number) => Uint8Array.from({ length: 16 }, (_, i) => first + i);
const keys = ['ann@example.org', 'bob@example.org', 'jörg@example.org'];
const hex = (each: Uint8Array) => Buffer.from(each).toString('hex');
const pair = { secret: bytes(0), from: 'ann@example.org' };
const randomised = { bits: 200, hashes: 2, epsilon: 2, budget: 2, noiseSecret: bytes(32), salt: bytes(64) };

test('the bytes of sealed and randomised filters are golden', () => {
  const now = {
    sealed: hex(sealFilter(keyedFilter(keys, pair), { ...pair, issued: 1_700_000_000 })),
    padded: hex(sealFilter(keyedFilter(keys, { ...pair, padTo: 8 }), { ...pair, issued: 0 })),
    randomised: hex(new RandomisedPublisher(randomised).release(keys).encode()),
  };
  if (process.env.BLOOMERY_WRITE_GOLDEN === '1') writeFileSync(FILE, `${JSON.stringify(now, null, 2)}\n`);
  const golden = JSON.parse(readFileSync(FILE, 'utf8'));
  expect(now).toEqual(golden);
  const { filter } = openSealed(Buffer.from(golden.sealed, 'hex'), pair);
  expect(keys.every((key) => filter.has(key))).toBe(true);
});

test('docs/spec/randomised-filter.md suffices to take the noise off again', () => {
  // Everything below follows the words of the specification, with SipHash of the library.
  const frame = Buffer.from(JSON.parse(readFileSync(FILE, 'utf8')).randomised, 'hex');
  const [k, m, t] = [frame[5], frame.readUInt32LE(6), frame.readUInt32LE(10)];
  const sip = (key: Uint8Array, message: Uint8Array | number | string) =>
    hashKey(message, new SecretKey(key).scheme);
  const derive = (secret: Uint8Array, purpose: Uint8Array) =>
    Uint8Array.from(
      [0, 1].flatMap((half) => {
        const { low, high } = sip(secret, Uint8Array.of(half, ...purpose));
        return [0, 8, 16, 24]
          .map((s) => (low >>> s) & 255)
          .concat([0, 8, 16, 24].map((s) => (high >>> s) & 255));
      }),
    );
  const text = (words: string) => new TextEncoder().encode(words);
  const truth = new Uint8Array(Math.ceil(m / 8));
  for (const key of keys) {
    for (let i = 0; i < k; i++) {
      const { high } = sip(
        derive(randomised.salt, text(`bloomery randomised filter 1 hash ${i}`)),
        text(key),
      );
      const bit = Math.floor((high * m) / 2 ** 32);
      truth[bit >> 3] |= 1 << (bit & 7);
    }
  }
  const numbers = new Uint8Array(12);
  for (const [i, value] of [m, k, t].entries()) new DataView(numbers.buffer).setUint32(4 * i, value, true);
  const statement = [
    ...text('bloomery randomised filter 1 noise '),
    ...numbers,
    ...randomised.salt,
    ...truth,
  ];
  const noiseKey = derive(randomised.noiseSecret, Uint8Array.from(statement));
  const noisy = truth.slice();
  for (let bit = 0; bit < m; bit++) {
    const { low, high } = sip(noiseKey, bit >> 1);
    if ((bit % 2 === 0 ? low : high) < t) noisy[bit >> 3] ^= 1 << (bit & 7);
  }
  expect(hex(noisy)).toBe(hex(frame.subarray(14)));
  expect(RandomisedFilter.decode(frame, { salt: randomised.salt }).bits).toBe(200);
});
