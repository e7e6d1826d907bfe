/**
 * Survey 2.2: the lower bound for any structure, and the sizes of a Bloom filter and of a static
 * filter.
 */

import { BLOOM_OVERHEAD, lowerBoundBits, rateAsymptotic, rateTrue, sizeClassic } from 'bloomery/math';
import { type Compare, compareMean, countingSpread, rateSpread } from '../findings/comparison.ts';
import { digits, measured } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { filterJob, fraction, job, N, type Results, resultOf, STRANGERS, type Work } from '../trials/jobs.ts';

export function boundWork(trials: number): Work[] {
  const some = fraction(trials, 25);
  return [
    ...FINGERPRINTS.flatMap((j) => [boundJob(j), staticJob(j)]),
    ...EQUAL_SPACE.map(([perKey, hashes]) => filterJob({ bits: perKey * N, hashes, code: true })),
  ].map((one) => ({ job: one, trials: some }));
}

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

export function lowerBound(results: Results, compare: Compare): Section {
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
      compare(
        compareMean(
          `Bloom filter at 2^-${j}`,
          bloom,
          rateTrue(bits, hashes, N),
          rateSpread(bits, hashes, N, STRANGERS),
        ),
      ),
      stored.toFixed(3),
      (stored / bound).toFixed(4),
      measured(fixed.rate()),
      compare(
        compareMean(`static filter at 2^-${j}`, fixed.rate(), 2 ** -j, countingSpread(2 ** -j, STRANGERS)),
      ),
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
        folds: [3, 8],
      },
      { head: ['bits per element', '0.5^j', '0.6185^j', 'k', 'f', 'measured'], rows: space },
    ],
  };
}
