/** Table 1 of *perl*: sizes by error rate and number of keys. */

import { rateTrue, sizeClassic } from 'bloomery/math';
import { type Comparison, compareMean, rateSpread } from '../findings/comparison.ts';
import { digits, measured } from '../findings/numbers.ts';
import type { Part, Report } from '../findings/section.ts';
import { filterJob, fraction, type Results, resultOf, type Work } from '../trials/jobs.ts';
import { PERL_TABLE, type PrintedPerlRow } from './printed.ts';

export const perl: Part = {
  name: 'perl',
  what: 'table 1 of Using Bloom Filters (perl.com): sizes by error rate and number of keys',
  files: [],
  work,
  report,
};

/** The article's search: m = -kn/ln(1-c^(1/k)) for k = 1 to 100, the smallest wins. */
function shortestFilter(keys: number, rate: number): { readonly bits: number; readonly hashes: number } {
  let best = { bits: Number.POSITIVE_INFINITY, hashes: 0 };
  for (let hashes = 1; hashes <= 100; hashes++) {
    const bits = (-hashes * keys) / Math.log(1 - rate ** (1 / hashes));
    if (bits < best.bits) best = { bits, hashes };
  }
  return best;
}

function work(trials: number): Work[] {
  // The rates are small and the filters large, so a few filters are asked many keys.
  return PERL_TABLE.map((row) => ({
    job: jobOf(row),
    trials: row.keys >= 1e5 ? fraction(trials, 1000, 1) : fraction(trials, 100),
  }));
}

function report(results: Results): Report {
  const comparisons: Comparison[] = [];
  const rows = PERL_TABLE.map((row) => {
    const { bits, hashes } = shortestFilter(row.keys, row.rate);
    const job = jobOf(row);
    const rate = resultOf(results, job).rate();
    const what = `perl, ${row.keys} keys at ${row.rate}: rate`;
    const comparison = compareMean(
      what,
      rate,
      rateTrue(job.bits, hashes, row.keys),
      rateSpread(job.bits, hashes, row.keys, job.strangers),
    );
    comparisons.push(comparison);
    const own = sizeClassic({ capacity: row.keys, falsePositiveRate: row.rate });
    const bytes = bits / 8;
    // The table's M are thousands of its K.
    const unit = row.size.endsWith('M') ? 1000 * 1024 : 1024;
    const fifths = bits / 5 / unit;
    const decimals = row.size.split(' ')[0].split('.')[1]?.length ?? 0;
    return [
      `${digits(100 * row.rate, 1)} %`,
      row.keys.toLocaleString('en'),
      `**${row.size}**`,
      `**${row.bytesPerKey}**`,
      bits.toFixed(1),
      String(hashes),
      `${(bytes / unit).toFixed(decimals)} ${row.size.slice(-1)}`,
      (bytes / row.keys).toFixed(2),
      `${(Math.floor(fifths * 10 ** decimals) / 10 ** decimals).toFixed(decimals)} ${row.size.slice(-1)}`,
      measured(rate),
      comparison.sigmas.toFixed(1),
      `${digits(own.bits / 8 / row.keys, 4)} (k = ${own.hashes})`,
    ];
  });
  return {
    comparisons,
    sections: [
      {
        title: 'Table 1 of *perl*',
        text: [
          'What the article prints, and what its own function `calculate_shortest_filter_length` returns: the smallest m = ' +
            '-kn/ln(1-c^(1/k)) over k = 1 … 100. K is 1024 bytes, and an M a thousand of these. "÷ 5" takes the bits for fifths of a byte and ' +
            'cuts the rest off: that is the printed column, in all rows. Measured: the rate of filters with the m and k of the ' +
            "function. Last: the library's own sizing, in bytes per key; it keeps the rate that filters really have.",
        ],
        tables: [
          {
            head: [
              'rate',
              'keys',
              'size: paper',
              'bytes/key: paper',
              'bits: function',
              'k',
              'size',
              'bytes/key',
              'bits ÷ 5 ÷ 1024',
              'measured rate',
              'σ',
              'forCapacity',
            ],
            rows,
            names: 2,
            folds: [4, 6, 9, 11],
          },
        ],
      },
    ],
  };
}

function jobOf({ keys, rate }: PrintedPerlRow) {
  const { bits, hashes } = shortestFilter(keys, rate);
  return filterJob({ bits: Math.ceil(bits), hashes, keys, strangers: keys >= 1e5 ? 4_000_000 : 400_000 });
}
