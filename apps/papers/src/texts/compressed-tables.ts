/** Tables I to VII of *compressed*, the second of which is table 1 of the survey. */

import { binaryEntropy, compressedBits, deltaBits, rateAsymptotic, rateTrue } from 'bloomery/math';
import { type Comparison, compareMean, rateSpread } from '../findings/comparison.ts';
import { digits, measured, printed } from '../findings/numbers.ts';
import type { Part, Report } from '../findings/section.ts';
import { filterJob, fraction, N, type Results, resultOf, type Work } from '../trials/jobs.ts';
import { COMPRESSED_TABLES, type PrintedColumn, type PrintedTable } from './printed.ts';

export const compressedTables: Part = {
  name: 'compressed-tables',
  what: 'tables I to VII of Compressed Bloom Filters: rates and sizes, whole filters and deltas',
  files: [],
  work,
  report,
};

function work(trials: number): Work[] {
  return COMPRESSED_TABLES.flatMap((table) =>
    table.columns.map((column) => ({ job: jobOf(table, column), trials: fraction(trials, 25) })),
  );
}

function report(results: Results): Report {
  const comparisons: Comparison[] = [];
  const rows = COMPRESSED_TABLES.flatMap((table) =>
    table.columns.map((column) => {
      const { bitsPerKey, hashes } = column;
      const bits = bitsOf(column);
      const samples = resultOf(results, jobOf(table, column));
      const f = rateAsymptotic(bits, hashes, N);
      const z =
        (table.replaced > 0 ? deltaBits(bits, hashes, N, table.replaced) : compressedBits(bits, hashes, N)) /
        N;
      const rate = samples.rate();
      const what = `table ${table.name}, m/n = ${bitsPerKey}: rate`;
      const comparison = compareMean(
        what,
        rate,
        rateTrue(bits, hashes, N),
        rateSpread(bits, hashes, N, samples.job.strangers),
      );
      comparisons.push(comparison);
      const entropy = samples.summary('ones', (ones) => (bits * binaryEntropy(ones / bits)) / N);
      const coded = samples.summary('payloadBytes', (bytes) => (8 * bytes) / N);
      return [
        table.name,
        String(bitsPerKey),
        String(hashes),
        printed(column.rate, f),
        digits(f),
        measured(rate),
        comparison.sigmas.toFixed(1),
        printed(column.sent, z),
        z.toFixed(4),
        measured(entropy),
        measured(coded),
      ];
    }),
  );
  return {
    comparisons,
    sections: [
      {
        title: 'Tables I to VII of *compressed*',
        text: [
          'm/n bits in memory, k hash functions, f the rate of false positives, z/n bits sent, all per element; n = 10,000. ' +
            `${COMPRESSED_TABLES.map(({ name, caption }) => `${name}: ${caption}`).join('. ')}.`,
          'Formulas: p = e^(-kn/m), f = (1-p)^k, z = m·H(p); of a delta z = m·H(q), q = 2p(1-p^c). σ is the distance of the ' +
            'measured rate from the exact mean (`rateTrue`) in standard errors. "Entropy" is m·H of the real share of ones; ' +
            '"coded" is the bit code of the library (`small`), with its header. In bold: printed ' +
            'figures that the formula does not give ([errata](errata.md)).',
        ],
        tables: [
          {
            head: [
              'table',
              'm/n',
              'k',
              'f: paper',
              'formula',
              'measured',
              'σ',
              'z/n: paper',
              'formula',
              'entropy',
              'coded',
            ],
            rows,
            names: 3,
            folds: [7],
          },
        ],
        notes: [
          'A standard filter (the first row of tables I to V) is nearly half ones: there is next to nothing to gain, and the paper ' +
            'writes the size of the array. Where coding would gain less than it costs the bits are sent as they are, with one byte in ' +
            'front.',
        ],
      },
    ],
  };
}

function bitsOf({ bitsPerKey }: PrintedColumn): number {
  return Math.round(bitsPerKey * N);
}

function jobOf(table: PrintedTable, column: PrintedColumn) {
  const replaced = table.replaced * N;
  return filterJob({ bits: bitsOf(column), hashes: column.hashes, replaced, code: true });
}
