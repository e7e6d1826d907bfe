/** The bounds, estimates and tricks of the survey's section 2, each beside a measurement. */

import {
  BLOOM_OVERHEAD,
  counterOverflowBoundOptimal,
  counterProbability,
  estimateIntersectionSize,
  estimateSize,
  expectedInnerProduct,
  lowerBoundBits,
  normalProbability,
  occupancyMean,
  occupancyVariance,
  rateAsymptotic,
  rateExact,
  ratePartitioned,
  rateTrue,
  sizeClassic,
  zeroFractionTailCompressed,
  zeroFractionTailSurvey,
} from '../../packages/bloomery/src/math/index.ts';
import { type Comparison, digits, measured, percent, type Section } from './document.ts';
import { filterJob, fraction, job, type Results, resultOf, STRANGERS } from './jobs.ts';
import type { Work } from './pool.ts';
import { N } from './printed.ts';
import { summarize } from './samples.ts';

export function surveyWork(trials: number): Work[] {
  const some = fraction(trials, 25);
  return [
    ...RATES.flatMap((shape) => [
      { job: classicJob(shape), trials: shape.keys < N ? trials : some },
      { job: partitionedJob(shape), trials: shape.keys < N ? trials : some },
    ]),
    { job: ZEROS, trials },
    ...FINGERPRINTS.flatMap((j) => [
      { job: boundJob(j), trials: some },
      { job: staticJob(j), trials: some },
    ]),
    ...EQUAL_SPACE.map(([perKey, hashes]) => ({
      job: filterJob({ bits: perKey * N, hashes, code: true }),
      trials: some,
    })),
    { job: HALVING, trials: some },
    ...SHARED.map((shared) => ({ job: pairJob(shared), trials: fraction(trials, 5) })),
    { job: COUNTERS, trials },
  ];
}

export function survey(results: Results): { sections: Section[]; comparisons: Comparison[] } {
  const comparisons: Comparison[] = [];
  const compare = (what: string, sigmas: number) => {
    comparisons.push({ what: `survey, ${what}`, sigmas });
    return sigmas.toFixed(1);
  };
  const sections = [rates, zeros, lowerBound, halving, estimates, overflow].map((section) =>
    section(results, compare),
  );
  return { sections, comparisons };
}

type Compare = (what: string, sigmas: number) => string;

// 2.1: rates.

const RATES = [
  { bits: 80_000 - (80_000 % 6), hashes: 6, keys: N, strangers: STRANGERS },
  { bits: 84, hashes: 6, keys: 10, strangers: 1000 },
] as const;

function classicJob(shape: (typeof RATES)[number]) {
  return filterJob(shape);
}

function partitionedJob(shape: (typeof RATES)[number]) {
  return filterJob({ ...shape, partitioned: true });
}

function rates(results: Results, compare: Compare): Section {
  const rows = RATES.map((shape) => {
    const { bits, hashes, keys } = shape;
    const [classic, partitioned] = [classicJob(shape), partitionedJob(shape)].map((job) =>
      resultOf(results, job).rate(),
    );
    const [truth, slices] = [rateTrue(bits, hashes, keys), ratePartitioned(bits, hashes, keys)];
    return [
      bits.toLocaleString('en'),
      String(hashes),
      keys.toLocaleString('en'),
      digits(rateAsymptotic(bits, hashes, keys)),
      digits(rateExact(bits, hashes, keys)),
      digits(truth),
      measured(classic),
      compare(`rate, m = ${bits}`, (classic.mean - truth) / classic.error),
      digits(slices),
      measured(partitioned),
      compare(`partitioned rate, m = ${bits}`, (partitioned.mean - slices) / partitioned.error),
    ];
  });
  return {
    title: 'Survey 2.1: rates',
    text: [
      "f = (1-e^(-kn/m))^k and f' = (1-(1-1/m)^(kn))^k put the mean fill into a convex function, and so stay below the rate " +
        'that filters have on the average (`rateTrue`, exact): invisible at 10,000 elements, ' +
        `${percent(rateTrue(84, 6, 10) / rateAsymptotic(84, 6, 10) - 1, 0)} at 10. Partitioned: each function has m/k bits of its own, ` +
        '(1-(1-k/m)^n)^k; "always at least as large", says the survey, comparing it with f\'. To first order in 1/m that holds ' +
        'against the exact rate too (it comes down to 1-e^-λ ≤ λ, λ = kn/m).',
    ],
    tables: [
      {
        head: ['m', 'k', 'n', 'f', "f'", 'exact', 'measured', 'σ', 'partitioned', 'measured', 'σ'],
        rows,
      },
    ],
  };
}

// 2.1: concentration.

const ZEROS = filterJob({ bits: 80_000, hashes: 6, strangers: 0 });

function zeros(results: Results, compare: Compare): Section {
  const { bits, hashes } = ZEROS;
  const samples = resultOf(results, ZEROS);
  const mean = occupancyMean(bits, hashes * N);
  const deviation = Math.sqrt(occupancyVariance(bits, hashes * N));
  const ones = samples.summary('ones');
  compare('zeros: mean', (ones.mean - mean) / ones.error);
  compare('zeros: deviation', (ones.deviation / deviation - 1) * Math.sqrt(2 * samples.trials));
  const rows = [50, 100, 150, 200, 250, 300, 400].map((distance) => {
    const normal = 2 * normalProbability(-distance / deviation);
    return [
      String(distance),
      digits(zeroFractionTailCompressed(bits, hashes, N, distance / bits), 3),
      digits(zeroFractionTailSurvey(bits, hashes, N, distance / bits), 3),
      digits(normal, 3),
      digits(
        samples.share('ones', (count) => Math.abs(count - mean) > distance),
        3,
      ),
    ];
  });
  return {
    title: 'Survey 2.1 and *compressed*, appendix: how far the zeros stray',
    text: [
      `m = 80,000, k = 6, n = 10,000, ${samples.trials.toLocaleString('en')} filters. P(|X - p'm| > εm): the bound proved in ` +
        '*compressed*, 2e^(-ε²m²/2nk); the one of the survey, 2e^(-2ε²m²/nk); the normal distribution with the exact variance; ' +
        'the share of real filters. A bound above 1 says nothing.',
      `Zeros: expected ${digits(bits - mean, 7)} ± ${digits(deviation, 4)}, measured ${digits(bits - ones.mean, 7)} ± ${digits(ones.deviation, 4)}.`,
    ],
    tables: [{ head: ['εm in bits', 'compressed', 'survey', 'normal', 'measured'], rows }],
    notes: [
      'Both bounds hold. Neither is near: the standard deviation, which is as easy to compute, says far more.',
    ],
  };
}

// 2.2: the lower bound.

const FINGERPRINTS = [4, 7, 10, 14];
const EQUAL_SPACE = [
  [4, 3],
  [8, 6],
  [16, 11],
] as const;

function boundSize(j: number) {
  return sizeClassic({ capacity: N, falsePositiveRate: 2 ** -j });
}

function boundJob(j: number) {
  const { bits, hashes } = boundSize(j);
  return filterJob({ bits, hashes });
}

function staticJob(j: number) {
  return job({ kind: 'static', bits: 0, hashes: j, keys: N, strangers: STRANGERS });
}

function lowerBound(results: Results, compare: Compare): Section {
  const rows = FINGERPRINTS.map((j) => {
    const bound = lowerBoundBits(N, 2 ** -j) / N;
    const { bits, hashes } = boundSize(j);
    const bloom = resultOf(results, boundJob(j)).rate();
    const fixed = resultOf(results, staticJob(j));
    const stored = fixed.summary('storedBits').mean / N;
    return [
      `2^-${j} = ${digits(2 ** -j, 4)}`,
      bound.toFixed(3),
      (bound * BLOOM_OVERHEAD).toFixed(3),
      (bits / N).toFixed(3),
      String(hashes),
      (bits / N / bound).toFixed(4),
      measured(bloom),
      compare(`Bloom filter at 2^-${j}`, (bloom.mean - rateTrue(bits, hashes, N)) / bloom.error),
      stored.toFixed(3),
      (stored / bound).toFixed(4),
      measured(fixed.rate()),
      compare(`static filter at 2^-${j}`, (fixed.rate().mean - 2 ** -j) / fixed.rate().error),
    ];
  });
  const space = EQUAL_SPACE.map(([perKey, hashes]) => [
    String(perKey),
    digits(0.5 ** perKey, 4),
    digits(Math.exp(-(Math.LN2 ** 2) * perKey), 4),
    String(hashes),
    digits(rateAsymptotic(perKey * N, hashes, N), 4),
    measured(resultOf(results, filterJob({ bits: perKey * N, hashes, code: true })).rate()),
  ]);
  return {
    title: 'Survey 2.2: the lower bound and the 1.44',
    text: [
      'No structure with false positive rate ε takes fewer than log2(1/ε) bits per element. A Bloom filter takes log2 e = 1.44 ' +
        'times that, and a little more, since k is an integer and its true rate is kept. A perfect hash function with ' +
        'fingerprints of j bits would take j bits and the function; the static filter of the library is the nearest thing to it ' +
        '(a binary fuse filter: no function to store, some empty slots instead; at 10,000 keys more of them than at a million).',
      'The second table keeps the space: j bits per element give 0.5^j at best and 0.6185^j in a Bloom filter.',
    ],
    tables: [
      {
        head: [
          'ε',
          'bound',
          '× 1.4427',
          'Bloom bits',
          'k',
          '÷ bound',
          'measured rate',
          'σ',
          'static bits',
          '÷ bound',
          'measured rate',
          'σ',
        ],
        rows,
      },
      { head: ['bits per element', '0.5^j', '0.6185^j', 'k', 'f', 'measured'], rows: space },
    ],
  };
}

// 2.4: halving, sizes.

const HALVING = job({ kind: 'halving', bits: 2 ** 17, hashes: 6, keys: N, strangers: STRANGERS });

function halving(results: Results, compare: Compare): Section {
  const samples = resultOf(results, HALVING);
  const rows = [
    { bits: HALVING.bits, rate: samples.rate('positives') },
    { bits: HALVING.bits / 2, rate: samples.rate('positivesOfHalf') },
  ].map(({ bits, rate }) => {
    const exact = rateTrue(bits, HALVING.hashes, N);
    const sigmas = compare(`halving, ${bits} bits`, (rate.mean - exact) / rate.error);
    return [
      bits.toLocaleString('en'),
      digits(rateAsymptotic(bits, HALVING.hashes, N)),
      digits(exact),
      measured(rate),
      sigmas,
    ];
  });
  return {
    title: 'Survey 2.4: halving',
    text: [
      'A filter of 2^17 bits, k = 6, 10,000 elements, and its half. The survey ORs the first and the second half of the array and drops ' +
        'the highest bit of an index. Indices here are scaled rather than masked, so neighbours are ORed and the lowest bit is ' +
        `dropped: the same thing. The half is bit for bit the filter of half the size in ${percent(
          samples.share('same', (same) => same === 1),
          0,
        )} of ` +
        `${samples.trials.toLocaleString('en')} trials.`,
    ],
    tables: [{ head: ['bits', 'f', 'exact', 'measured', 'σ'], rows }],
  };
}

const PAIR = { bits: 160_000, hashes: 5 } as const;
const SHARED = [0, 1000, 5000];

function pairJob(shared: number) {
  return job({ kind: 'pair', ...PAIR, keys: N, strangers: 0, shared });
}

function estimates(results: Results, compare: Compare): Section {
  const { bits, hashes } = PAIR;
  const rows = SHARED.map((shared) => {
    const samples = resultOf(results, pairJob(shared));
    const [ones1, ones2, onesAnd] = (['ones1', 'ones2', 'onesAnd'] as const).map((name) =>
      samples.column(name),
    );
    const product = samples.summary('onesAnd');
    const expectation = expectedInnerProduct(bits, hashes, N, N, shared);
    const sizes = [...ones1].map((ones) => estimateSize({ bits, hashes, ones }));
    const overlaps = [...ones1].map((_, t) =>
      estimateIntersectionSize({ bits, hashes, ones1: ones1[t], ones2: ones2[t], onesAnd: onesAnd[t] }),
    );
    const size = summarize(sizes.map(({ value }) => value));
    const overlap = summarize(overlaps.map(({ value }) => value));
    const inside =
      overlaps.filter(({ low, high }) => low <= shared && shared <= high).length / samples.trials;
    compare(`size estimate, ${shared} shared`, (size.mean - N) / size.error);
    return [
      shared.toLocaleString('en'),
      expectation.toFixed(1),
      measured(product),
      compare(`inner product, ${shared} shared`, (product.mean - expectation) / product.error),
      measured(size),
      `${size.deviation.toFixed(1)} (${sizes[0].standardError.toFixed(1)})`,
      measured(overlap),
      compare(`intersection, ${shared} shared`, (overlap.mean - shared) / overlap.error),
      `${overlap.deviation.toFixed(1)} (${overlaps[0].standardError.toFixed(1)})`,
      percent(inside, 1),
    ];
  });
  return {
    title: 'Survey 2.4: sizes from zeros',
    text: [
      'Two filters of 160,000 bits, k = 5, of 10,000 elements each, some of which they share. The inner product (ones of the AND) against ' +
        'its expectation; |S| ≈ ln(Z/m)/(k·ln(1-1/m)) of the first filter; |S₁∩S₂| from the three zero counts, ' +
        '(1/m)(1-1/m)^(-k|S₁∩S₂|) ≈ (Z₁+Z₂-Z₁₂)/(Z₁Z₂), where Z₁₂ are the zeros of the AND. Standard deviations are measured, and ' +
        'in brackets what the library states beside the first of these estimates; the last column is how often its 95 % interval ' +
        'holds the truth.',
    ],
    tables: [
      {
        head: [
          'shared',
          'inner product',
          'measured',
          'σ',
          'size',
          'sd',
          'intersection',
          'σ',
          'sd',
          '95 % interval',
        ],
        rows,
      },
    ],
  };
}

// 2.5: counters.

/** kn/m = ln 2, the most that the survey's bound allows. */
const COUNTERS = job({ kind: 'counters', bits: 14_427, hashes: 10, keys: 1000, strangers: 0 });

function overflow(results: Results, compare: Compare): Section {
  const { bits, hashes, keys } = COUNTERS;
  const samples = resultOf(results, COUNTERS);
  const rows = [4, 5, 6, 7, 8, 9, 10, 16].map((j) => {
    const union = bits * counterProbability(bits, hashes, keys, j);
    const share = samples.share('most', (most) => most >= Math.min(j, 15));
    // Counters are nearly independent, so the share is nearly 1 - e^-union.
    const likely = -Math.expm1(-union);
    const error = Math.sqrt((likely * (1 - likely)) / samples.trials);
    if (union < 3 && likely * samples.trials > 20) compare(`counters, ${j}`, (share - likely) / error);
    return [
      String(j),
      digits(counterOverflowBoundOptimal(bits, j), 3),
      digits(union, 3),
      digits(likely, 3),
      j === 16 ? `${share} (15 or more)` : digits(share, 3),
    ];
  });
  return {
    title: 'Survey 2.5: overflow of counters',
    text: [
      `A counting filter with 4-bit counters, m = 14,427, k = 10, n = 1000 (kn/m = ln 2), ${samples.trials.toLocaleString('en')} filters: the ` +
        'probability that some counter reaches j. The bound of the survey m·(e·ln2/j)^j; the union bound m·P(c ≥ j) with the exact binomial ' +
        `tail; 1-e^-(that); the share of real filters. At j = 16 the survey prints 1.37e-15·m; the formula gives ${digits(counterOverflowBoundOptimal(1, 16), 4)}·m.`,
    ],
    tables: [{ head: ['j', 'bound', 'm·P(c ≥ j)', '1-e^-…', 'measured'], rows }],
  };
}
