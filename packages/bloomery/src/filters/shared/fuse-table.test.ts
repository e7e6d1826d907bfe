import { expect, test } from 'vitest';
import { hashScheme } from '../../hashing/hash-scheme.ts';
import { fuseAnswer } from '../../kernel/tables/fuse.ts';
import { bitsAsked, FuseTable, fuseProber, readTable } from './fuse-table.ts';

/** Attempt 0, one segment of 16 slots, so 64 slots, with 8 bits each. */
const TABLE = [0, 1, 16];
const payload = Uint8Array.from({ length: 64 }, (_, i) => (37 * i) & 255);

test('readTable takes the slots from the payload', () => {
  const [layout, store] = readTable(payload, TABLE, 8);
  expect(layout.slots).toBe(64);
  expect([...store.subarray(0, 64)]).toEqual([...payload]);
});

test('fuseProber ignores exactly the lowest bits that select a slot', () => {
  const [layout, store] = readTable(payload, TABLE, 8);
  const seen = new Set<string>();
  for (let low = 0; low < 2000; low++) {
    const answer = fuseAnswer(store.words, layout, low, 7 * low);
    for (const indexBits of [0, 2]) {
      const has = fuseProber(layout, indexBits).has(store.words, low, 7 * low);
      expect(has).toBe(answer < 2 ** indexBits);
      seen.add(`${indexBits} ${has}`);
    }
  }
  expect([...seen].sort()).toEqual(['0 false', '0 true', '2 false', '2 true']);
});

function tableOf(parameters = TABLE, size = 3): FuseTable {
  const [layout, store] = readTable(payload, parameters, 8);
  return new FuseTable(size, layout, store, hashScheme(), 0);
}

test('FuseTable compares the slots and the attempt that placed the keys', () => {
  const table = tableOf();
  expect(table.equals(tableOf())).toBe(true);
  expect(table.equals(tableOf([1, 1, 16]))).toBe(false);
  const changed = table.copy();
  expect(table.equals(changed)).toBe(true);
  changed.store.words[15] ^= 1 << 31;
  expect(table.equals(changed)).toBe(false);
});

test('FuseTable of no keys finds none, has no rate and no bits per key', () => {
  const keys = Array.from({ length: 2000 }, (_, i) => i);
  expect(tableOf().hasMany(keys)).toContain(1);
  const empty = tableOf(TABLE, 0);
  expect(empty.hasMany(keys)).not.toContain(1);
  expect([tableOf().rate(8), empty.rate(8)]).toEqual([1 / 256, 0]);
  expect([tableOf().byteLength, tableOf().bitsPerKey, empty.bitsPerKey]).toEqual([72, (8 * 72) / 3, 0]);
});

test('bitsAsked takes bits, or the bits whose rate is at most the one asked for', () => {
  const asked = (options: { readonly checkBits?: number; readonly falsePositiveRate?: number }) =>
    bitsAsked('Table', 'checkBits', 30, options);
  expect(asked({})).toBe(8);
  expect(asked({ checkBits: 30 })).toBe(30);
  expect(asked({ falsePositiveRate: 0.25 })).toBe(2);
  expect(asked({ falsePositiveRate: 0.2499 })).toBe(3);
  expect(asked({ falsePositiveRate: 2 ** -30 })).toBe(30);
  expect(() => asked({ checkBits: 31 })).toThrow(/Cannot use checkBits: expected an integer from 1 to 30/);
  expect(() => asked({ falsePositiveRate: 2 ** -31 })).toThrow(/at least 2\^-30 in a Table/);
  expect(() => asked({ checkBits: 8, falsePositiveRate: 0.1 })).toThrow(
    /Cannot size a Table: expected checkBits or falsePositiveRate, got both/,
  );
});
