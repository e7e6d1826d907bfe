import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { packKeys, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { bloomSummary, surelyMissing } from './bloom-summary.ts';
import { ReconciliationTree } from './reconciliation-tree.ts';

const SIZE = 10_000;
const DIFFERENCES = 100;

/**
 * Shares of the differences that a separate prototype found, with other code, hashes and seeds, in
 * 30 trials of 10,000 keys and 100 differences on each side. `leafBits` are the divisions that were
 * best there.
 */
const PROTOTYPE = [
  {
    bits: 2,
    leafBits: [0.5, 0.5, 0.5, 1, 1, 1],
    found: [0, 0.011, 0.0483, 0.139, 0.223, 0.279],
    plain: 0.607,
  },
  {
    bits: 4,
    leafBits: [0.5, 1.5, 1.5, 2, 2.5, 2.5],
    found: [0.007, 0.178, 0.406, 0.506, 0.567, 0.642],
    plain: 0.853,
  },
  {
    bits: 6,
    leafBits: [1, 2.5, 2.5, 3.5, 4, 4.5],
    found: [0.102, 0.449, 0.642, 0.769, 0.796, 0.814],
    plain: 0.944,
  },
  {
    bits: 8,
    leafBits: [2, 3.5, 4.5, 5, 5, 6],
    found: [0.293, 0.718, 0.814, 0.886, 0.909, 0.927],
    plain: 0.978,
  },
];
const PROTOTYPE_TRIALS = 30;

function keysFrom(random: Random, count: number): number[] {
  const base = random.below(2 ** 20) * 2 ** 30;
  return Array.from({ length: count }, (_, i) => base + i);
}

/** Expects two means of trials to agree; `shares` has those of one side. */
function expectSameMean(shares: readonly number[], other: number, what: string): void {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const variance = shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / (shares.length - 1);
  // At least the variance of independent keys: a few trials without any find have none.
  const least = (other * (1 - other)) / DIFFERENCES + 1e-6;
  const deviation = Math.sqrt(Math.max(variance, least) * (1 / shares.length + 1 / PROTOTYPE_TRIALS));
  expectNormal(mean, other, deviation, what);
}

test('ReconciliationTree finds the shares that a separate prototype found', () => {
  const shares = new Map<string, number[]>();
  const note = (what: string, found: number) =>
    shares.set(what, [...(shares.get(what) ?? []), found / DIFFERENCES]);
  for (let trial = 0; trial < withEffort(12, 6); trial++) {
    const keys = keysFrom(new Random(trial), SIZE + DIFFERENCES);
    const [here, there] = [keys.slice(0, SIZE), keys.slice(DIFFERENCES)];
    const [mine, theirs] = [new ReconciliationTree(here), new ReconciliationTree(there)];
    for (const { bits, leafBits } of PROTOTYPE) {
      for (const [correction, leaf] of leafBits.entries()) {
        const summary = theirs.summary({ bitsPerKey: bits, leafBits: leaf });
        const { keys: found } = mine.surelyMissing(summary, { correction });
        expect(found.every((key) => (key as number) < keys[DIFFERENCES])).toBe(true);
        note(`${bits} bits, c = ${correction}`, found.length);
      }
      note(`${bits} bits, plain`, surelyMissing(here, bloomSummary(there, { bitsPerKey: bits })).length);
    }
  }
  for (const { bits, found, plain } of PROTOTYPE) {
    expectSameMean(shares.get(`${bits} bits, plain`) ?? [], plain, `${bits} bits, plain`);
    for (const [correction, share] of found.entries()) {
      const what = `${bits} bits, c = ${correction}`;
      expectSameMean(shares.get(what) ?? [], share, what);
    }
  }
});

test('a walk visits few nodes if little differs, and all of them beside an empty set', () => {
  const keys = keysFrom(new Random(5), SIZE + 3);
  const mine = new ReconciliationTree(keys);
  const near = new ReconciliationTree(keys.slice(3)).summary({ bitsPerKey: 16, correction: 1 });
  const { keys: found, visited } = mine.surelyMissing(near, { correction: 1 });
  expect(found.length).toBeGreaterThan(0);
  expect(visited).toBeLessThan(SIZE / 10);
  const all = mine.surelyMissing(new ReconciliationTree([]).summary());
  expect(all.keys).toEqual(keys);
  expect(all.visited).toBe(2 * keys.length - 1);
});

test('equal sets have no differences, at every correction level', () => {
  const keys = keysFrom(new Random(6), 1000);
  const tree = new ReconciliationTree(keys);
  for (const correction of [0, 1, 5, 64])
    expect(tree.surelyMissing(tree.summary(), { correction }).keys).toEqual([]);
  expect(tree.surelyMissing(tree.summary(), { correction: 0 }).visited).toBe(1);
});

test('sets of no key, one key and repeated keys', () => {
  const none = new ReconciliationTree([]);
  const one = new ReconciliationTree(['a']);
  const wide = { bitsPerKey: 64 };
  expect([none.size, one.size, new ReconciliationTree(['a', 'b', 'a', 'a']).size]).toEqual([0, 1, 2]);
  expect(none.surelyMissing(one.summary())).toEqual({ keys: [], visited: 0 });
  expect(one.surelyMissing(none.summary())).toEqual({ keys: ['a'], visited: 1 });
  expect(one.surelyMissing(one.summary(wide)).keys).toEqual([]);
  const repeated = new ReconciliationTree(['b', 'a', 'b', 'c']);
  expect(repeated.surelyMissing(one.summary(wide), { correction: 9 }).keys).toEqual(['b', 'c']);
});

test('packed keys, keys of a generator and a secret key give the same answers', () => {
  const [many, few] = [Array.from({ length: 500 }, (_, i) => `key ${i}`), ['key 3', 'key 400']];
  const options = { correction: 20 };
  const missing = many.filter((key) => !few.includes(key));
  const summary = new ReconciliationTree(few).summary({ bitsPerKey: 60 });
  const generated = new ReconciliationTree(new Set(many).values());
  expect(generated.surelyMissing(summary, options).keys).toEqual(missing);
  const packed = new ReconciliationTree(packKeys(many)).surelyMissing(summary, options);
  expect(packed.keys.map((key) => String.fromCharCode(...(key as Uint8Array)))).toEqual(missing);
  const key = new SecretKey(new Uint8Array(16).fill(7));
  const keyed = new ReconciliationTree(few, { key }).summary({ bitsPerKey: 60 });
  expect(new ReconciliationTree(many, { key }).surelyMissing(keyed, options).keys).toEqual(missing);
  expect(() => generated.surelyMissing(keyed)).toThrow(
    /Cannot reconcile: expected a summary with forge64\/0, got siphash/,
  );
  const seeded = new ReconciliationTree(few, { seed: 5 }).summary();
  expect(() => generated.surelyMissing(seeded)).toThrow(/got forge64\/5/);
});

test('refuses keys and options that make no sense', () => {
  const tree = new ReconciliationTree(['a']);
  expect(() => new ReconciliationTree('abc')).toThrow(TypeError);
  expect(() => tree.summary({ bitsPerKey: 0 })).toThrow('expected bitsPerKey above 0 and up to 64, got 0');
  expect(() => tree.summary({ bitsPerKey: 65 })).toThrow(RangeError);
  expect(() => tree.summary({ bitsPerKey: 8, leafBits: 8 })).toThrow('leafBits above 0 and below 8, got 8');
  expect(() => tree.summary({ correction: -1 })).toThrow('expected a correction from 0 to 64, got -1');
  expect(() => tree.surelyMissing(tree.summary(), { correction: 0.5 })).toThrow(RangeError);
});
