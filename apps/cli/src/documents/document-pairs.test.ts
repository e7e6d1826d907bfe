import { readdirSync, readFileSync } from 'node:fs';
import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectCount, expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { comparePair, TopPairs } from './document-pairs.ts';
import { termsOf } from './document-terms.ts';
import { documentOf } from './text-document.ts';

const BITS = 2 ** 17;

/** A document with `own` terms of its own, and `common` ones that all documents of a round have. */
function seeded(random: Random, round: number, common: number, own: number) {
  const terms = new Set<string>();
  for (let i = 0; i < common; i++) terms.add(`word ${round} ${i}`);
  while (terms.size < common + own) terms.add(`own ${random.bits()} ${random.bits()}`);
  return documentOf(`document ${round}`, terms, BITS);
}

function exactJaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const common = [...a].filter((term) => b.has(term)).length;
  return common / (a.size + b.size - common);
}

test('seeded documents: no bias, and intervals that hold the exact similarity', () => {
  let [inside, trials] = [0, 0];
  for (const [common, own1, own2] of [
    [1000, 1000, 1000],
    [4000, 500, 1500],
    [200, 8000, 9000],
    [30_000, 20_000, 25_000],
  ]) {
    const total = common + own1 + own2;
    const rounds = withEffort(Math.max(3, Math.round(150_000 / total)), 3);
    const random = new Random(total);
    const exact = common / total;
    let sum = 0;
    for (let round = 0; round < rounds; round++) {
      const [a, b] = [own1, own2].map((own) => seeded(random, round, common, own));
      const { jaccard } = comparePair(a, b, 0.9);
      sum += (jaccard.value - exact) / jaccard.standardError;
      if (jaccard.low <= exact && exact <= jaccard.high) inside++;
    }
    trials += rounds;
    expectNormal(sum, 0, Math.sqrt(rounds), `${total} terms: errors in units of the standard error`);
  }
  // One term to each side widens an interval only where collisions are rare, and here they are not.
  expectBinomial(inside, trials, 0.9, 'intervals that hold the exact value');
});

test('real text: all pairs of a collection are within 5 sigma of the exact similarity', () => {
  const folder = '/usr/share/games/fortunes';
  const names = readdirSync(folder).filter((name) => !name.includes('.'));
  const texts = names.map((name) => termsOf(readFileSync(`${folder}/${name}`, 'utf8')));
  const documents = texts.map((terms, i) => documentOf(names[i], terms, BITS));
  let pairs = 0;
  for (const [i, a] of documents.entries()) {
    for (const [j, b] of documents.entries()) {
      if (j <= i) continue;
      const { jaccard, intersection } = comparePair(a, b, 0.95);
      const exact = exactJaccard(texts[i], texts[j]);
      const common = (exact * (a.terms + b.terms)) / (1 + exact);
      const what = `${a.path} and ${b.path}`;
      // Collisions of short documents are rare, so one term more is allowed where few are expected.
      const collisions = (a.terms + b.terms) ** 2 / (2 * BITS);
      if (collisions < 5) expect(Math.abs(intersection.value - common), what).toBeLessThan(2.5);
      else expectNormal(jaccard.value, exact, jaccard.standardError, what);
      pairs++;
    }
  }
  expect(pairs).toBeGreaterThan(100);
});

test('documents that are the same, apart, or one inside the other', () => {
  const random = new Random(3);
  const same = seeded(random, 1, 3000, 0);
  const equal = comparePair(same, documentOf('copy', new Set(termNames(1, 3000)), BITS), 0.95).jaccard;
  expect(equal.high).toBe(1);
  expect(1 - equal.value).toBeLessThan(0.01);
  const apart = comparePair(same, seeded(random, 2, 3000, 0), 0.95).intersection;
  expectCount(apart.value, 0, apart.standardError, 'terms in common of documents that have none');
  expect(apart.low).toBeLessThan(0);
  const inside = comparePair(seeded(random, 4, 500, 0), seeded(random, 4, 500, 2500), 0.95).jaccard;
  expectNormal(inside.value, 500 / 3000, Math.max(inside.standardError, 0.0005), 'a part of the other');
});

test('an interval reaches at least one term to each side', () => {
  const [a, b] = [
    ['ant', 'bee', 'cat'],
    ['ant', 'bee', 'dog'],
  ].map((terms) => documentOf('short', new Set(terms), BITS));
  const { jaccard } = comparePair(a, b, 0.95);
  expect(jaccard.low).toBeLessThan(1 / 5 + 1e-3);
  expect(jaccard.high).toBeGreaterThan(1 - 1e-3);
});

test('a filter without zeros makes the similarity unknown', () => {
  const terms = new Set(termNames(1, 5000));
  const { jaccard } = comparePair(documentOf('a', terms, 64), documentOf('b', terms, 64), 0.95);
  expect(jaccard).toEqual({ value: Number.NaN, low: 0, high: 1, standardError: Number.POSITIVE_INFINITY });
});

test('TopPairs keeps the most similar of any number of pairs, in order', () => {
  const top = new TopPairs(3);
  const random = new Random(9);
  const values = Array.from({ length: 5000 }, () => random.bits() / 2 ** 32);
  const document = documentOf('any', new Set(['word']), 64);
  for (const value of values) {
    const estimate = { value, low: 0, high: 1, standardError: 0 };
    top.offer({ a: document, b: document, jaccard: estimate, intersection: estimate });
  }
  expect(top.count).toBe(5000);
  const best = [...values].sort((a, b) => b - a).slice(0, 3);
  expect(top.best().map(({ jaccard }) => jaccard.value)).toEqual(best);
});

function termNames(round: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `word ${round} ${i}`);
}
