import { expect, test } from 'vitest';
import { hashScheme } from '../../hashing/hash-scheme.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { classicAdd, classicHas, setPlain } from '../../kernel/bits/classic.ts';
import type { Prober } from './batch-probing.ts';
import { BitArray } from './bit-array.ts';
import { FillGauge, OverfullError } from './fill-gauge.ts';

const BITS = 1000;
const HASHES = 3;
const SCHEME = hashScheme({ seed: 7 });
const KEYS = Array.from({ length: 50 }, (_, i) => `key-${i}`);

const PROBER: Prober = {
  has: (words, low, high) => classicHas(words, low, high, BITS, 0, HASHES),
  add: (words, low, high) => classicAdd(words, low, high, BITS, 0, HASHES, setPlain),
  inWasm: {
    hasKey: () => -1,
    has: (wasm, count, address) => wasm.classicHas(count, address, BITS, 0, HASHES),
    add: (wasm, count, address) => wasm.classicAdd(count, address, BITS, 0, HASHES),
  },
};

/** An array for `capacity` keys that throws when it is overfull. */
function newArray(capacity = 100): BitArray {
  const store = BitStore.allocate(BITS);
  const view = { bits: BITS, hashes: HASHES, capacity, onesCount: () => array.onesCount() };
  const array: BitArray = new BitArray(store, SCHEME, PROBER, new FillGauge(view, HASHES / BITS, 'throw'));
  return array;
}

function arrayOf(keys: readonly string[]): BitArray {
  const array = newArray();
  array.addMany(keys);
  return array;
}

test('BitArray answers the same for a key, for its hash and in a batch', () => {
  const [byKey, byHash, byBatch] = [newArray(), newArray(), newArray()];
  expect(KEYS.filter((key) => byKey.add(key)).length).toBe(byBatch.addMany(KEYS));
  for (const key of KEYS) byHash.addHash(hashKey(key, SCHEME));
  expect(byHash.store.words).toEqual(byKey.store.words);
  expect(byBatch.store.words).toEqual(byKey.store.words);
  const asked = [...KEYS, ...KEYS.map((key) => `other ${key}`)];
  const answers = asked.map((key) => byKey.has(key));
  expect(asked.map((key) => byKey.hasHash(hashKey(key, SCHEME)))).toEqual(answers);
  expect([...byKey.hasMany(asked)].map(Boolean)).toEqual(answers);
  expect(answers.slice(0, KEYS.length)).not.toContain(false);
  expect(answers).toContain(false);
});

test('BitArray refuses a hash of another scheme', () => {
  const foreign = hashKey('key', hashScheme({ seed: 8 }));
  expect(() => newArray().addHash(foreign)).toThrow(/expected one by filter\.scheme/);
  expect(() => newArray().hasHash(foreign)).toThrow(/expected one by filter\.scheme/);
});

test('BitArray asks the gauge before it changes a bit, and tells it when bits change otherwise', () => {
  const full = newArray(5);
  full.add('first');
  const empty = full.store.words.slice();
  expect(() => full.merge(arrayOf(KEYS))).toThrow(OverfullError);
  expect(full.store.words).toEqual(empty);
  for (const key of KEYS.slice(0, 4)) full.add(key);
  const before = full.store.words.slice();
  expect(() => full.add('one more')).toThrow(OverfullError);
  expect(() => full.addHash(hashKey('one more', SCHEME))).toThrow(OverfullError);
  expect(() => full.addMany(['one more'])).toThrow(OverfullError);
  expect(full.store.words).toEqual(before);
  full.clear();
  expect(full.onesCount()).toBe(0);
  expect(full.add('one more')).toBe(true);
});

test('BitArray merges, intersects and compares bit by bit', () => {
  const [few, all] = [arrayOf(KEYS.slice(0, 20)), arrayOf(KEYS)];
  const rest = arrayOf(KEYS.slice(20));
  expect(few.isSubsetOf(all)).toBe(true);
  expect(all.isSubsetOf(few)).toBe(false);
  expect(few.sharedOnesCount(all)).toBe(few.onesCount());
  const ones = few.onesCount() + rest.onesCount() - few.sharedOnesCount(rest);
  rest.merge(few);
  expect(rest.store.words).toEqual(all.store.words);
  expect(rest.onesCount()).toBe(ones);
  all.intersect(few);
  expect(all.store.words).toEqual(few.store.words);
});
