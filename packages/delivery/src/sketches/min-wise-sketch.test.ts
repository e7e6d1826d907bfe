import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { containmentVariance, sketchedContainmentVariance } from '../math/containment.ts';
import { MinWiseSketch } from './min-wise-sketch.ts';

/** Two sets of 300 and 500 keys with `common` keys in common, all drawn at random. */
function pair(seed: number, common: number) {
  const random = new Random(seed);
  const draw = () => random.bits() * 2 ** 21 + (random.bits() >>> 11);
  const both = Array.from({ length: common }, draw);
  const a = [...both, ...Array.from({ length: 300 - common }, draw)].map(String);
  const b = [...both, ...Array.from({ length: 500 - common }, draw)].map(String);
  return { a, b, sketchA: sketchOf(a, seed), sketchB: sketchOf(b, seed) };
}

function sketchOf(keys: Iterable<string>, seed: number) {
  const sketch = new MinWiseSketch({ seed });
  for (const key of keys) sketch.add(key);
  return sketch;
}

/** Mean and variance of a sample, compared with those of a binomial share of 128. */
function expectMoments(values: number[], mean: number, variance: number, what: string) {
  const n = values.length;
  const average = values.reduce((sum, value) => sum + value, 0) / n;
  const spread = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
  expectNormal(average, mean, Math.sqrt(variance / n), `${what}, mean`);
  expectNormal(spread, variance, variance * Math.sqrt(2 / n), `${what}, variance`);
}

test.each([30, 150, 270])('sketches estimate resemblance and containment, with %i common keys', (common) => {
  const resemblances: number[] = [];
  const sketched: number[] = [];
  const searched: number[] = [];
  for (let seed = 1; seed <= withEffort(150, 50); seed++) {
    const { b, sketchA, sketchB } = pair(seed, common);
    resemblances.push(sketchA.estimatedResemblance(sketchB));
    sketched.push(sketchA.estimatedContainment(sketchB));
    searched.push(sketchA.estimatedContainmentIn(b));
  }
  const r = common / (800 - common);
  const c = common / 300;
  expectMoments(resemblances, r, (r * (1 - r)) / 128, 'resemblance');
  expectMoments(searched, c, containmentVariance(c, 128), 'containment of a searched set');
  // The curvature of r / (1 + r) biases the mean by r'' variance / 2, below a tenth of a sigma.
  const variance = sketchedContainmentVariance(r, 300, 500, 128);
  if (common < 270) {
    const bias = (-800 / 300 / (1 + r) ** 3) * ((r * (1 - r)) / 128);
    expectMoments(
      sketched.map((value) => value - bias),
      c,
      variance,
      'containment of two sketches',
    );
  }
});

test('a sketch of a subset is contained as a whole, one of a disjoint set not at all', () => {
  const keys = Array.from({ length: 200 }, (_, i) => `key ${i}`);
  const part = sketchOf(keys.slice(0, 50), 3);
  expect(part.estimatedContainmentIn(keys)).toBe(1);
  expect(part.estimatedContainmentIn(keys.slice(50))).toBe(0);
  expect(part.estimatedContainment(part)).toBe(1);
  expect(new MinWiseSketch({ seed: 3 }).estimatedContainmentIn(keys)).toBe(1);
  expect(new MinWiseSketch().estimatedResemblance(new MinWiseSketch())).toBe(1);
});

test('a sketch of one key has that key in all its minima', () => {
  expect(sketchOf(['a'], 1).estimatedContainmentIn(['b', 'a'])).toBe(1);
});

test('MinWiseSketch.decode reads what encode wrote', () => {
  const { sketchA, sketchB } = pair(5, 100);
  const read = MinWiseSketch.decode(sketchA.encode(), { seed: 5 });
  expect(read.size).toBe(300);
  expect(read.encode()).toEqual(sketchA.encode());
  expect(read.estimatedResemblance(sketchB)).toBe(sketchA.estimatedResemblance(sketchB));
  expect(MinWiseSketch.decode(new MinWiseSketch().encode()).size).toBe(0);
});

test('MinWiseSketch.decode refuses every prefix, other hashes, other versions and contradictions', () => {
  const encoded = sketchOf(['a', 'b'], 5).encode();
  for (let length = 0; length < encoded.length; length++)
    expect(() => MinWiseSketch.decode(encoded.subarray(0, length), { seed: 5 })).toThrow(
      /^Cannot read a sketch/,
    );
  expect(() => MinWiseSketch.decode(Uint8Array.of(...encoded, 0), { seed: 5 })).toThrow(
    'expected 1035 bytes',
  );
  expect(() => MinWiseSketch.decode(encoded, { seed: 6 })).toThrow('the same hash');
  const later = encoded.slice();
  later[0] = 2;
  expect(() => MinWiseSketch.decode(later, { seed: 5 })).toThrow('expected version 1, got 2');
  const empty = encoded.slice();
  empty.fill(0, 5, 11);
  expect(() => MinWiseSketch.decode(empty, { seed: 5 })).toThrow('no minima for no keys');
  const full = new MinWiseSketch({ seed: 5 }).encode();
  full[5] = 1;
  expect(() => MinWiseSketch.decode(full, { seed: 5 })).toThrow('expected minima');
});

test('MinWiseSketch.decode survives every flipped bit and random bytes', () => {
  const encoded = sketchOf(['a', 'b'], 5).encode();
  for (let bit = 0; bit < 8 * encoded.length; bit++) {
    const flipped = encoded.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    try {
      MinWiseSketch.decode(flipped, { seed: 5 }).estimatedContainmentIn(['a']);
    } catch (error) {
      expect(error).toMatchObject({ name: 'DeliveryError' });
    }
  }
  const random = new Random(9);
  for (let round = 0; round < 50; round++)
    expect(() => MinWiseSketch.decode(random.bytes(1035), { seed: 5 })).toThrow(/^Cannot read a sketch/);
});

test('sketches under different hashes are not compared', () => {
  expect(() => sketchOf(['a'], 1).estimatedResemblance(sketchOf(['a'], 2))).toThrow('expected the same hash');
});
