import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import {
  BloomFilter,
  CountingBloomFilter,
  HashList,
  intersectionEstimate,
  jaccardEstimate,
  RotatingBloomFilter,
  StaticFilter,
  semiJoinEstimate,
  sizeEstimate,
  unionEstimate,
} from 'bloomery';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { describe, expect, it } from 'vitest';
import { containment } from '../../src/commands/similar.ts';
import { bloom, keys, Scratch } from '../conversion-scratch.ts';

const scratch = new Scratch();
const a = bloom(0, 6000);
const b = bloom(4000, 9000);
scratch.put('a.blm', a);
scratch.put('b.blm', b);
scratch.put('c.blm', bloom(20_000, 23_000));

describe('similar', () => {
  it('prints sizes, union, intersection, Jaccard, containment and the semi-join', () => {
    const { code, stdout, stderr } = scratch.run(['similar', 'a.blm', 'b.blm']);
    expect([code, stderr]).toEqual([0, '']);
    const value = (name: string) => {
      const found = new RegExp(`^${name} +([\\d,.]+)`, 'm').exec(stdout);
      return Number(found?.[1].replaceAll(',', ''));
    };
    expect(value('keys in A')).toBe(Math.round(a.estimatedSize()));
    expect(value('keys in B')).toBe(Math.round(b.estimatedSize()));
    expect(value('in A or B')).toBe(Math.round(a.estimatedUnionSize(b)));
    expect(value('in A and B')).toBe(Math.round(a.estimatedIntersectionSize(b)));
    // Printed with three digits, so rounded by at most 5e-4.
    expect(value('Jaccard similarity')).toBeCloseTo(jaccardEstimate(a, b).value, 3);
    expect(value('share of A that is in B')).toBeCloseTo(
      a.estimatedIntersectionSize(b) / a.estimatedSize(),
      3,
    );
    expect(value("keys of A that pass B's filter")).toBeGreaterThan(1900);
  });

  it("gives the library's estimates in JSON, with the confidence that was asked for", async () => {
    const result = JSON.parse(await scratch.ok('similar a.blm b.blm --json --confidence 99%'));
    const options = { confidence: 0.99 };
    expect(result).toMatchObject({ a: 'a.blm', b: 'b.blm', confidence: 0.99 });
    expect(result.sizeA).toEqual(sizeEstimate(a, options));
    expect(result.sizeB).toEqual(sizeEstimate(b, options));
    expect(result.union).toEqual(unionEstimate(a, b, options));
    expect(result.intersection).toEqual(intersectionEstimate(a, b, options));
    expect(result.jaccard).toEqual(jaccardEstimate(a, b, options));
    // The same quotient: rounding only, below half a unit of the last digit.
    expect(result.containmentBInA.value).toBeCloseTo(
      intersectionEstimate(a, b).value / sizeEstimate(b).value,
      12,
    );
  });

  it('uses sizes that are known', async () => {
    const result = JSON.parse(await scratch.ok('similar a.blm b.blm --json --size-a 6000'));
    const { matches, passing } = semiJoinEstimate(a, b, { size: 6000 });
    expect(result.sizeA).toEqual({ value: 6000, low: 6000, high: 6000, standardError: 0 });
    expect(result.intersection).toEqual(matches);
    expect(result.semiJoinAWithB.matches).toBe(matches.value);
    // The same formulas on numbers up to 6000: rounding only, below 5e-10 and 5e-13.
    expect(result.semiJoinAWithB.passing).toBeCloseTo(passing, 9);
    expect(result.containmentAInB.value).toBeCloseTo(matches.value / 6000, 12);
    const swapped = JSON.parse(await scratch.ok('similar b.blm a.blm --json --size-b 6000'));
    expect(swapped.intersection).toEqual(matches);
  });

  it('cuts estimates to what is possible for people, not in JSON', async () => {
    scratch.put('empty.blm', bloom(0, 0));
    const { stdout } = await scratch.line('similar a.blm c.blm');
    expect(stdout).not.toMatch(/-\d/);
    expect(stdout).toMatch(/^in A and B +\d+ +0 to \d+$/m);
    const result = JSON.parse(await scratch.ok('similar a.blm c.blm --json'));
    expect(result.intersection).toEqual(intersectionEstimate(a, bloom(20_000, 23_000)));
    expect(result.intersection.low).toBeLessThan(0);
    expect(await scratch.ok('similar empty.blm empty.blm')).toMatch(
      /^Jaccard similarity +unknown +there are no keys$/m,
    );
  });

  it('makes a matrix of several', async () => {
    const text = await scratch.ok('similar a.blm b.blm c.blm');
    const rows = text
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().split(/ +/));
    expect(rows[0]).toEqual(['keys', '1', '2', '3']);
    const j = jaccardEstimate(a, b).value.toFixed(3);
    expect(rows[1]).toEqual(['1', 'a.blm', rows[1][2], '1.000', j, rows[1][5]]);
    expect(rows[2].slice(3, 5)).toEqual([j, '1.000']);
    const result = JSON.parse(await scratch.ok('similar a.blm b.blm c.blm --json'));
    expect(result.files).toEqual(['a.blm', 'b.blm', 'c.blm']);
    expect(result.jaccard[0][1]).toEqual(jaccardEstimate(a, b));
    expect(result.sizes[2]).toEqual(sizeEstimate(bloom(20_000, 23_000)));
  });

  it('compares a counting filter, a list and generations with plain filters', async () => {
    const { bits, hashes } = a;
    const counting = new CountingBloomFilter({ counters: bits, hashes });
    counting.addMany(keys(0, 6000));
    scratch.put('counting.blm', counting);
    scratch.put('list.blm', HashList.fromFilter(b));
    const rotating = new RotatingBloomFilter({ generations: 2, capacity: 10_000, falsePositiveRate: 0.01 });
    rotating.addMany(keys(0, 100));
    scratch.put('rotating.blm', rotating);
    const result = JSON.parse(await scratch.ok('similar counting.blm list.blm --json'));
    expect(result.intersection).toEqual(intersectionEstimate(a, b));
    const turned = JSON.parse(await scratch.ok('similar rotating.blm rotating.blm --json'));
    expect(turned.sizeA).toEqual(sizeEstimate(rotating.flattened()));
  });

  it('compares files of other systems', async () => {
    const make = (from: number, to: number) => {
      const filter = GoBloomFilter.create({ capacity: 5000, falsePositiveRate: 0.01 });
      for (const key of keys(from, to)) filter.add(key);
      return filter;
    };
    const [one, two] = [make(0, 3000), make(2000, 5000)];
    scratch.put('1.go', one);
    scratch.put('2.go', two);
    const { sizeA, intersection } = JSON.parse(await scratch.ok('similar 1.go 2.go --json'));
    const common = one.estimatedSize() + two.estimatedSize() - one.union(two).estimatedSize();
    // The same formulas on the same bits: rounding only, below 5e-7.
    expect(sizeA.value).toBeCloseTo(one.estimatedSize(), 6);
    expect(intersection.value).toBeCloseTo(common, 6);
    // Double hashing, but of 48,000 bits: within five standard errors of the truth.
    expect(Math.abs(intersection.value - 1000)).toBeLessThan(5 * intersection.standardError);
  });
});

describe('containment', () => {
  it('has intervals that hold the truth as often as they say', () => {
    const random = new Random(7);
    const trials = 600;
    const confidence = 0.9;
    let held = 0;
    for (let trial = 0; trial < trials; trial++) {
      const [one, two] = [0, 1].map(() => new BloomFilter({ bits: 4096, hashes: 4 }));
      for (let i = 0; i < 150; i++) {
        const common = random.bits();
        one.add(common);
        two.add(common);
      }
      for (let i = 0; i < 250; i++) one.add(random.bits());
      for (let i = 0; i < 150; i++) two.add(random.bits());
      const { low, high } = containment(
        sizeEstimate(one),
        sizeEstimate(two),
        unionEstimate(one, two),
        intersectionEstimate(one, two),
        confidence,
      );
      if (low <= 150 / 400 && 150 / 400 <= high) held++;
    }
    expectBinomial(held, trials, confidence, 'intervals that hold the containment');
  });
});

describe('what cannot be compared', () => {
  scratch.put('seed.blm', bloom(0, 10, { seed: 9 }));
  scratch.put('static.blm', StaticFilter.from(keys(0, 10)));
  const grown = RedisBloomFilter.create({ capacity: 10 });
  for (const key of keys(0, 40)) grown.add(key);
  scratch.put('grown.redis', grown);
  it.each([
    [
      'similar a.blm seed.blm',
      /cannot compare a\.blm and seed\.blm: BloomFilter\(.*forge64\/0\) and BloomFilter\(.*forge64\/9\)/,
    ],
    ['similar a.blm b.blm seed.blm', /cannot compare a\.blm and seed\.blm/],
    ['similar a.blm static.blm', /static\.blm is a StaticFilter\(.*no ones can be counted/],
    ['similar grown.redis grown.redis', /grown\.redis has grown to \d links/],
    ['similar a.blm grown.redis', /different formats/],
    ['similar a.blm', /two or more filters, got 1/],
    ['similar a.blm b.blm c.blm --size-a 5', /for two filters, got 3/],
    ['similar a.blm b.blm --confidence 2', /Expected a rate between 0 and 1/],
    ['similar a.blm .', /\. is a directory/],
    ['similar a.blm none.blm', /none\.blm: no such file/],
  ])('%s', async (line, message) => {
    const { code, stdout, stderr } = await scratch.line(line);
    expect(stderr).toMatch(message);
    expect([code, stdout]).toEqual([2, '']);
  });
});
