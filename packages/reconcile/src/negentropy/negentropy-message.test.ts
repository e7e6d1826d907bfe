import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ReconcileError } from '../reconcile-error.ts';
import { decodeNegentropy, END, encodeNegentropy, type NegentropyRange } from './negentropy-message.ts';

const bound = (timestamp: bigint, ...prefix: number[]) => ({ timestamp, prefix: Uint8Array.from(prefix) });
const decoded = (...bytes: number[]) => [...decodeNegentropy(Uint8Array.from(bytes))];

const RANGES: NegentropyRange[] = [
  { mode: 'skip', upper: bound(5n) },
  { mode: 'fingerprint', upper: bound(5n, 1, 2), fingerprint: new Uint8Array(16).fill(9) },
  { mode: 'ids', upper: bound(1_700_000_000n), ids: new Uint8Array(64).fill(3) },
  { mode: 'ids', upper: bound(2n ** 64n - 2n, 255), ids: new Uint8Array(0) },
  { mode: 'fingerprint', upper: END, fingerprint: new Uint8Array(16) },
];
const message = encodeNegentropy(RANGES);

/** The code of the error that these bytes meet, or null if they are a message. */
function errorOf(bytes: Uint8Array): string | null {
  try {
    for (const range of decodeNegentropy(bytes)) void range;
    return null;
  } catch (error) {
    if (!(error instanceof ReconcileError)) throw error;
    return error.code;
  }
}

test('encodeNegentropy and decodeNegentropy are inverse', () => {
  expect([...decodeNegentropy(message)]).toEqual(RANGES);
  expect(decoded(0x61)).toEqual([]);
  // Timestamp 5 as 1 + 5, no prefix, skip; then the same timestamp with a prefix of one byte.
  const bytes = encodeNegentropy([RANGES[0], { mode: 'skip', upper: bound(5n, 7) }]);
  expect([...bytes]).toEqual([0x61, 6, 0, 0, 1, 1, 7, 0]);
  // 300 is 2 * 128 + 44, most significant digit first.
  expect([...encodeNegentropy([{ mode: 'skip', upper: bound(299n) }])]).toEqual([0x61, 130, 44, 0, 0]);
});

test('decodeNegentropy refuses what the specification rules out', () => {
  expect(() => decoded()).toThrow('Cannot reconcile: expected a version, got no bytes (negentropy message)');
  expect(() => decoded(0x62)).toThrow('Cannot reconcile: expected 0x61, got 0x62 (negentropy message)');
  expect(() => decoded(0x61, 1, 33)).toThrow(/at most 32 bytes of an id, got 33/);
  expect(() => decoded(0x61, 1, 0, 3)).toThrow(/expected mode 0, 1 or 2, got 3/);
  expect(() => decoded(0x61, 128, 1, 0, 0)).toThrow(/without leading zeros/);
  expect(() => decoded(0x61, 0, 0, 0, 1, 0, 0)).toThrow(/no range after the last one/);
  expect(() => decoded(0x61, 6, 1, 7, 0, 1, 1, 6, 0)).toThrow(/a bound above the one before/);
  expect(() => decoded(0x61, ...new Array(10).fill(255), 0)).toThrow(/a number below 2\^64/);
  // 2^64 - 1 in ten digits, as 1 + offset, is 2^64 - 2: allowed. One more second is not.
  const most = [129, ...new Array(8).fill(255), 127];
  expect(decoded(0x61, ...most, 0, 0)[0].upper.timestamp).toBe(2n ** 64n - 2n);
  expect(() => decoded(0x61, ...most, 0, 0, 2, 0, 0)).toThrow(/a timestamp below 2\^64 - 1/);
});

test('decodeNegentropy: a declared number of ids allocates nothing', () => {
  expect(() => decoded(0x61, 0, 0, 2, 255, 255, 255, 255, 127)).toThrow(
    'expected 34359738367 ids, got 0 bytes (negentropy message)',
  );
  const [range] = decodeNegentropy(message.subarray(0)) as Iterable<NegentropyRange>;
  expect(range.upper.prefix.buffer).toBe(message.buffer); // a view
});

test('decodeNegentropy: prefixes and flipped bits are messages or typed errors', () => {
  const starts = [1, ...RANGES.map((_, i) => encodeNegentropy(RANGES.slice(0, i + 1)).length)];
  for (let length = 0; length < message.length; length++)
    expect(errorOf(message.subarray(0, length)) === null, `${length} bytes`).toBe(starts.includes(length));
  for (let bit = 0; bit < 8 * message.length; bit++) {
    const flipped = message.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    errorOf(flipped);
  }
});

test('decodeNegentropy: random bytes are refused, or are encoded as they came', () => {
  const random = new Random(3);
  let read = 0;
  for (let round = 0; round < withEffort(5000); round++) {
    const bytes = round % 2 === 0 ? random.bytes(1 + random.below(40)) : message.slice();
    bytes[0] = 0x61;
    for (let n = random.below(5); n > 0; n--)
      bytes[Math.min(bytes.length - 1, 1 + random.below(bytes.length))] = random.pick([
        0,
        1,
        2,
        127,
        128,
        255,
        random.bits() & 255,
      ]);
    if (errorOf(bytes) !== null) continue;
    read++;
    expect(String(encodeNegentropy(decodeNegentropy(bytes)))).toBe(String(bytes));
  }
  expect(read).toBeGreaterThan(0);
});
