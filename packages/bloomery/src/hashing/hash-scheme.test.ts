/**
 * The choice of the hash. This file imports no structure that brings XXH64 along, because the first
 * test shows a program without it.
 */

import { expect, test } from 'vitest';
import { BloomFilter } from '../filters/bloom-filter.ts';
import { FrameError } from '../frames/envelope.ts';
import { checkSameScheme, hashScheme } from './hash-scheme.ts';
import { SecretKey } from './secret-key.ts';

/** Golden: the keys a and b by XXH64 with seed 7 in 64 bits with 3 hashes. */
const FRAME = bytesOf('424c4d590101000307000000000000004000000000030000000000000062008000020002ac62e8c3');

test('without the import, xxh64 is an error that names it, for options and for frames', async () => {
  expect(() => hashScheme({ hash: 'xxh64' })).toThrow(
    "Cannot hash: expected import 'bloomery/xxh64', got hash xxh64",
  );
  expect(() => BloomFilter.decode(FRAME)).toThrow(FrameError);
  expect(() => BloomFilter.decode(FRAME)).toThrow("expected hash 1 or import 'bloomery/xxh64', got 3");
  await import('../xxh64.ts');
  expect(hashScheme({ hash: 'xxh64' }).id).toBe('xxh64/0');
  const filter = BloomFilter.decode(FRAME);
  expect(String(filter)).toBe('BloomFilter(64 bits, 3 hashes, classic, xxh64/7)');
  expect([filter.has('a'), filter.has('b'), filter.has('c')]).toEqual([true, true, false]);
  const same = new BloomFilter({ bits: 64, hashes: 3, hash: 'xxh64', seed: 7 });
  same.addMany(['a', 'b']);
  expect(same.encode()).toEqual(FRAME);
});

test('hashScheme takes a name or a whole id', async () => {
  await import('../xxh64.ts');
  expect(hashScheme({ hash: 'forge64' })).toBe(hashScheme());
  expect(hashScheme({ hash: 'xxh64', seed: 255 }).id).toBe('xxh64/ff');
  expect(hashScheme({ hash: 'xxh64/ff', seed: 255 }).id).toBe('xxh64/ff');
  expect(hashScheme({ hash: 'xxh64' })).toBe(hashScheme({ hash: 'xxh64/0' }));
  const key = new SecretKey(new Uint8Array(16));
  expect(hashScheme({ hash: 'siphash-2-4', key })).toBe(key.scheme);
  expect(hashScheme({ hash: key.scheme.id, key })).toBe(key.scheme);
});

test('hashScheme refuses a hash that seed and key do not give', async () => {
  await import('../xxh64.ts');
  const key = new SecretKey(new Uint8Array(16));
  for (const options of [
    { hash: 'md5' },
    { hash: '' },
    { hash: 'xxh6' },
    { hash: 'xxh64/' },
    { hash: 'xxh64/f', seed: 255 },
    { hash: 'forge64/ff', seed: 15 },
    { hash: 'xxh64', key },
    { hash: 'siphash-2-4' },
    { hash: 7 as never },
  ]) {
    expect(() => hashScheme(options), options.hash).toThrow(/^Cannot hash: expected .*\/.*, got hash/);
  }
});

test('schemes of unlike hashes are told apart even with one seed', async () => {
  await import('../xxh64.ts');
  const [forge64, xxh64] = [hashScheme({ seed: 7 }), hashScheme({ seed: 7, hash: 'xxh64' })];
  expect(() => checkSameScheme(xxh64, forge64)).toThrow(
    'Cannot use a hash: expected one by filter.scheme (forge64/7), got xxh64/7',
  );
  expect(() => checkSameScheme(xxh64, hashScheme({ seed: 7, hash: 'xxh64' }))).not.toThrow();
});

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
