import { expect, test } from 'vitest';
import { BlockedBloomFilter } from '../../src/filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../../src/filters/bloom-filter.ts';
import { sizeEstimate } from '../../src/filters/shared/estimates.ts';
import { SecretKey } from '../../src/hashing/secret-key.ts';
import { hashKeys } from '../../src/kernel/batches/hash-keys.ts';
import { useKernel } from '../../src/kernel/wasm/kernel-choice.ts';
import type { Key } from '../../src/keys/key.ts';
import { awkwardStrings } from '../keys.ts';

/**
 * A million keys: ASCII and not, empty, lone surrogates, integers, bytes, and some of a megabyte.
 */
function millionKeys(): Key[] {
  const awkward: Key[] = awkwardStrings(200_000, 42);
  const keys = awkward.concat(
    Array.from({ length: 600_000 }, (_, i) => `https://example.org/${i % 977}/${i}`),
    Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? i * 1_000_003 - 5e10 : BigInt(i) ** 5n)),
    Array.from({ length: 99_996 }, (_, i) =>
      Uint8Array.of(i, i >> 8, i >> 16, 255 - (i & 255)).subarray(0, 1 + (i % 4)),
    ),
  );
  keys.push('', '\ud800', 'm'.repeat(2 ** 20), `${'é'.repeat(2 ** 19)}\udc00`);
  return keys;
}

test('both kernels give identical bytes for a million keys of every kind', () => {
  const keys = millionKeys();
  expect(keys.length).toBe(1_000_000);
  const results = (['wasm', 'javascript'] as const).map((kernel) => {
    useKernel(kernel);
    const filters = [
      new BloomFilter({ bits: 9_585_059, hashes: 7 }),
      new BloomFilter({ bits: 7 * 1_370_000, hashes: 7, layout: 'partitioned', seed: 2n ** 64n - 1n }),
      new BlockedBloomFilter({ blocks: 19_337, hashes: 6 }),
      new BlockedBloomFilter({
        blocks: 20_011,
        hashes: 11,
        key: new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i * i)),
      }),
      new BlockedBloomFilter({ blocks: 41_133, layout: 'split-block' }),
      new BloomFilter({ bits: 9_585_059, hashes: 7, hash: 'xxh64', seed: 2n ** 40n + 1n }),
    ];
    const probes = awkwardStrings(50_000, 43);
    return {
      hashes: hashKeys(keys).words,
      fresh: filters.map((filter) => filter.addMany(keys)),
      bytes: filters.map((filter) => filter.encode()),
      answers: filters.map((filter) => filter.hasMany(probes)),
    };
  });
  useKernel('auto');
  const [wasm, javascript] = results;
  expect(same(wasm.hashes, javascript.hashes)).toBe(true);
  expect(wasm.fresh).toEqual(javascript.fresh);
  for (let i = 0; i < wasm.bytes.length; i++) {
    expect(same(wasm.bytes[i], javascript.bytes[i]), `bytes of filter ${i}`).toBe(true);
    expect(same(wasm.answers[i], javascript.answers[i]), `answers of filter ${i}`).toBe(true);
  }
});

test('filters move in and out of linear memory without losing a bit', () => {
  useKernel('wasm');
  const keys = Array.from({ length: 30_000 }, (_, i) => `key ${i}`);
  // 24 MB each: the arena of 512 MB overflows after twenty-one of them, and all filters move out.
  const filters = Array.from(
    { length: 30 },
    (_, seed) => new BlockedBloomFilter({ blocks: 390_625, hashes: 6, seed }),
  );
  const big = Array.from({ length: 900_000 }, (_, i) => i);
  for (const filter of filters) {
    filter.addMany(keys);
    filter.addMany(big);
  }
  useKernel('auto');
  for (const filter of filters) {
    expect(filter.hasMany(keys).every((answer) => answer === 1)).toBe(true);
    expect(filter.has('key 29999') && filter.has(0) && filter.has(899_999)).toBe(true);
    const { low, high } = sizeEstimate(filter, { confidence: 1 - 5.7e-7 });
    expect(low <= 930_000 && 930_000 <= high).toBe(true);
  }
});

/** `toEqual` on millions of elements takes minutes. */
function same(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
