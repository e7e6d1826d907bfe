import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ReconcileError } from '../reconcile-error.ts';
import { AutomergeSyncFilter } from './sync-filter.ts';

const random = new Random(1);
const hashes = Array.from({ length: 300 }, () => random.bytes(32));

function errorOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof ReconcileError)) throw error;
    return error.code;
  }
}

test('AutomergeSyncFilter has its members, and 0.8 % of other hashes', () => {
  const filter = AutomergeSyncFilter.decode(AutomergeSyncFilter.of(hashes).encode());
  expect([filter.entries, filter.bitsPerEntry, filter.probes]).toEqual([300, 10, 7]);
  expect(hashes.every((hash) => filter.has(hash))).toBe(true);
  let passed = 0;
  const trials = 20_000;
  for (let i = 0; i < trials; i++) if (filter.has(random.bytes(32))) passed++;
  // The rate at the share of ones that this filter has.
  let ones = 0;
  for (const byte of filter.encode().subarray(4)) for (let bit = 0; bit < 8; bit++) ones += (byte >> bit) & 1;
  expectBinomial(passed, trials, (ones / 3000) ** 7, 'false positives');
});

test('AutomergeSyncFilter: an empty filter has no bytes and no members', () => {
  const empty = AutomergeSyncFilter.of([]);
  expect(empty.encode()).toHaveLength(0);
  expect(AutomergeSyncFilter.decode(new Uint8Array(0)).has(hashes[0])).toBe(false);
  expect(AutomergeSyncFilter.decode(Uint8Array.of(0, 10, 7)).has(hashes[0])).toBe(false);
});

test('AutomergeSyncFilter: prefixes, declared sizes and odd parameters are refused', () => {
  const bytes = AutomergeSyncFilter.of(hashes.slice(0, 5)).encode();
  for (let length = 1; length < bytes.length; length++)
    expect(
      errorOf(() => AutomergeSyncFilter.decode(bytes.subarray(0, length))),
      `${length}`,
    ).toBe('malformed');
  const decode = (...input: number[]) => AutomergeSyncFilter.decode(Uint8Array.from(input));
  expect(() => decode(...bytes, 0)).toThrow(/expected the end of the message, got 1 more bytes/);
  // 2^32 - 1 entries of 2^32 - 1 bits
  expect(() => decode(255, 255, 255, 255, 15, 255, 255, 255, 255, 15, 7)).toThrow(/more bytes, got 0/);
  expect(() => decode(1, 8, 65, 0)).toThrow('expected at most 64 probes, got 65 (Automerge filter)');
  expect(() => decode(1, 8, 0, 0)).toThrow(
    /expected bits and probes for the entries, got 8 bits and 0 probes/,
  );
  expect(() => decode(1, 0, 7)).toThrow(/got 0 bits and 7 probes/);
  expect(() => AutomergeSyncFilter.decode(bytes, { maxBytes: 5 })).toThrow(/at most 5 bytes, got 10/);
  expect(() => AutomergeSyncFilter.of([new Uint8Array(20)])).toThrow(
    'Cannot use the change hash: expected 32 bytes, got 20',
  );
});
