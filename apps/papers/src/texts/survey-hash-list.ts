/** Survey 2.3: the sorted list of hashes of 2·log2 n bits, compared with a Bloom filter. */

import { optimalHashes, rateAsymptotic, rateTrue } from 'bloomery/math';
import { type Compare, compareMean, rateSpread } from '../findings/comparison.ts';
import { digits, measured } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { fraction, job, type Results, resultOf, STRANGERS, type Work } from '../trials/jobs.ts';

export function hashListWork(trials: number): Work[] {
  return SIZES.map((keys) => ({ job: listJob(keys), trials: fraction(trials, 25) }));
}

const SIZES = [128, 1024, 8192];

/** n² hash values, which are 2·log2 n bits. */
function listJob(keys: number) {
  return job({ kind: 'list', bits: keys ** 2, hashes: 1, keys, strangers: STRANGERS });
}

export function hashList(results: Results, compare: Compare): Section {
  const rows = SIZES.map((keys) => {
    const samples = resultOf(results, listJob(keys));
    const values = keys ** 2;
    const perKey = 2 * Math.log2(keys);
    const theory = rateTrue(values, 1, keys);
    const filterBits = perKey * keys;
    const hashes = optimalHashes(filterBits, keys);
    return [
      keys.toLocaleString('en'),
      String(perKey),
      measured(samples.summary('storedBits', (bits) => bits / keys)),
      digits(1 / keys),
      digits(theory),
      measured(samples.rate()),
      compare(
        compareMean(`list of ${keys} hashes`, samples.rate(), theory, rateSpread(values, 1, keys, STRANGERS)),
      ),
      digits(rateAsymptotic(filterBits, hashes, keys)),
      digits((Math.log2(keys) / Math.LN2 / perKey) * 100, 3),
    ];
  });
  return {
    title: 'Survey 2.3: a list of hashes',
    text: [
      'Each of n elements is hashed to 2·log2 n bits, and the sorted list of the hashes stands for the set: "the probability that any ' +
        'element not in the set matches some hash value in the set is at most n/n² = 1/n". The list is the library\'s `HashList` ' +
        "with n² values and one hash. Stored are the bits of its frame's payload; two elements with one hash are stored once. Exact: " +
        '1-(1-1/n²)^n. Last: a Bloom filter with as many bits, and the share of these bits with which it has the rate 1/n.',
    ],
    tables: [
      {
        head: [
          'n',
          'bits/element',
          'stored',
          '1/n',
          'exact',
          'measured',
          'σ',
          'Bloom filter',
          'bits for 1/n, %',
        ],
        rows,
        folds: [7],
      },
    ],
    notes: [
      'The bound is tight: two elements of the set rarely share a hash. A Bloom filter with the same bits has the rate ' +
        '0.6185^(2·log2 n) = n^-1.39, which is far below 1/n, and for 1/n it takes log2 e·log2 n bits per element, 72 % of the list. ' +
        'The "more interesting tradeoffs" of the survey are better ones, at every n.',
    ],
  };
}
