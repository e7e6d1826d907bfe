import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import {
  decodeCompareAnswer,
  decodeListAnswer,
  decodeOpenAnswer,
  decodeWarmRequest,
  encodeCompareAnswer,
  encodeListAnswer,
  encodeOpenAnswer,
  encodeWarmRequest,
  type WarmObject,
} from './warm-message.ts';

const session = '00ff10a0b0c0d0e0';
const buckets = [
  { bucket: 0, bytes: Uint8Array.of() },
  { bucket: 300, bytes: Uint8Array.of(1, 2, 3) },
];
const objects: WarmObject[] = [
  { key: 'http://a.example/ü', varied: [], bytes: 0, freshMs: 60_000 },
  { key: 'http://a.example/b', varied: [['accept-encoding', 'gzip']], bytes: 2 ** 40, freshMs: 0.5 },
  { key: 'http://a.example/c', varied: [['accept', null]], bytes: 7, freshMs: 1e9 },
];
const open = encodeOpenAnswer({ session, objects: 2 ** 33, sums: Uint32Array.of(1, 2, 2 ** 32 - 1, 4) });

const MESSAGES: readonly [string, Uint8Array, (bytes: Uint8Array) => unknown][] = [
  ['open', encodeWarmRequest({ kind: 'open', keyId: 2 ** 32 - 1, objects: 0 }), decodeWarmRequest],
  ['compare', encodeWarmRequest({ kind: 'compare', session, turn: 200, buckets }), decodeWarmRequest],
  ['list', encodeWarmRequest({ kind: 'list', session, from: 12_345 }), decodeWarmRequest],
  ['open answer', open, decodeOpenAnswer],
  ['compare answer', encodeCompareAnswer(buckets), decodeCompareAnswer],
  ['list answer', encodeListAnswer({ total: 9, objects }), decodeListAnswer],
];

test('every message is read as it was written', () => {
  expect(MESSAGES.map(([, bytes, decode]) => decode(bytes))).toEqual([
    { kind: 'open', keyId: 2 ** 32 - 1, objects: 0 },
    { kind: 'compare', session, turn: 200, buckets },
    { kind: 'list', session, from: 12_345 },
    { session, objects: 2 ** 33, sums: Uint32Array.of(1, 2, 2 ** 32 - 1, 4) },
    buckets,
    { total: 9, objects },
  ]);
});

test('prefixes, flipped bits and random bytes are another message or none, and never an exception', () => {
  const random = new Random(7);
  for (const [name, bytes, decode] of MESSAGES) {
    for (let length = 0; length < bytes.length; length++) {
      const read = decode(bytes.subarray(0, length));
      // Lists of buckets have no length of their own: the request that carries them has one.
      if (!name.startsWith('compare')) expect(read, `${name}, ${length} bytes`).toBeNull();
    }
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      decode(flipped);
    }
    for (let round = 0; round < withEffort(300); round++) {
      const noise = random.bytes(2 + random.below(80));
      noise.set(bytes.subarray(0, 2), 0);
      decode(noise);
    }
  }
});

test('a declared size allocates nothing, and fields of a question cannot be smuggled in', () => {
  expect(decodeOpenAnswer(Uint8Array.of(1, 1, ...new Uint8Array(8), 0, 40))).toBeNull();
  expect(decodeCompareAnswer(Uint8Array.of(1, 2, 0, 255, 255, 255, 255, 15))).toBeNull();
  const list = (row: unknown) =>
    decodeListAnswer(Buffer.concat([Uint8Array.of(1, 3, 1), Buffer.from(JSON.stringify([row]))]));
  expect(list(['http://a/', [], 1, 1])).not.toBeNull();
  expect(list(['http://a/', [['accept', 'a\r\nCookie: b']], 1, 1])).toBeNull();
  expect(list(['http://a/', [['accept', 1]], 1, 1])).toBeNull();
  expect(list(['', [], 1, 1])).toBeNull();
  expect(list(['http://a/', [], -1, 1])).toBeNull();
  expect(list(['http://a/', [], 1, 'soon'])).toBeNull();
  expect(list(null)).toBeNull();
});
