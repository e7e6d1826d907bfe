import { BloomFilter, CountingBloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { SATURATED, SIZES, Workbench } from './workbench.ts';

const KEYS = Array.from({ length: 40 }, (_, i) => `key ${i}`);

test('a key sets its positions and no others, and they answer as the library does', () => {
  for (const bits of SIZES) {
    const bench = new Workbench({ kind: 'bits', bits, hashes: 3 });
    const filter = new BloomFilter({ bits, hashes: 3 });
    const expected = new Set<number>();
    for (const key of KEYS.slice(0, 20)) {
      bench.add(key);
      filter.add(key);
      for (const position of bench.positionsOf(key)) expected.add(position);
    }
    const cells = bench.cells();
    expect([...cells.keys()].filter((i) => cells[i] === 1)).toEqual([...expected].sort((a, b) => a - b));
    for (const key of KEYS) {
      expect(bench.has(key)).toBe(filter.has(key));
      expect(bench.has(key)).toBe(bench.positionsOf(key).every((position) => cells[position] === 1));
    }
  }
});

test('counters are those of the library, and stay at 15', () => {
  const bench = new Workbench({ kind: 'counters', bits: 256, hashes: 3 });
  const filter = new CountingBloomFilter({ counters: 256, hashes: 3, counterBits: 4 });
  for (const key of [...KEYS, 'a', 'a', 'a']) {
    bench.add(key);
    filter.add(key);
  }
  for (const key of [...KEYS, 'a', 'b']) {
    const cells = bench.cells();
    const least = Math.min(...bench.positionsOf(key).map((position) => cells[position]));
    expect(least).toBe(filter.count(key));
  }
  for (let i = 0; i < 20; i++) bench.add('a');
  const top = () => Math.min(...bench.positionsOf('a').map((position) => bench.cells()[position]));
  expect([top(), bench.facts().saturated > 0]).toEqual([SATURATED, true]);
  bench.delete('a');
  expect(top()).toBe(SATURATED);
});

test('halving keeps every key, and the delta names the bits that changed', () => {
  let bench = new Workbench({ kind: 'bits', bits: 1024, hashes: 4 });
  for (const key of KEYS.slice(0, 30)) bench.add(key);
  bench.mark();
  expect(bench.delta()?.changed).toEqual([]);
  const before = new Set([...bench.cells().keys()].filter((i) => bench.cells()[i] === 1));
  bench.add(KEYS[35]);
  expect(bench.delta()?.changed).toEqual(bench.positionsOf(KEYS[35]).filter((i) => !before.has(i)));
  for (let bits = 512; bits >= 32; bits /= 2) {
    bench = bench.halved()!;
    expect(bench.shape.bits).toBe(bits);
    expect(KEYS.slice(0, 30).every((key) => bench.has(key))).toBe(true);
  }
  expect(bench.halved()).toBeNull();
});

test('the coded bytes are near the entropy', () => {
  const bench = new Workbench({ kind: 'bits', bits: 4096, hashes: 2 });
  for (const key of KEYS) bench.add(key);
  const { arrayBytes, entropyBytes, codedBytes } = bench.facts();
  expect(arrayBytes).toBe(512);
  expect(codedBytes).toBeGreaterThanOrEqual(entropyBytes - 8);
  expect(codedBytes).toBeLessThan(entropyBytes + 8);
});
