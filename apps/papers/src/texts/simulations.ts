/** The five simulations of *compressed*: sizes of coded filters of 10,000 elements. */

import {
  binaryEntropy,
  compressedBits,
  compressedBitsDeviation,
  deltaBits,
  deltaBitsDeviation,
} from 'bloomery/math';
import { type Comparison, compareDistance, compareMean } from '../findings/comparison.ts';
import { digits, measured, percent } from '../findings/numbers.ts';
import type { Part, Report } from '../findings/section.ts';
import { N, type Results, resultOf, simulationJob, type Work } from '../trials/jobs.ts';
import { appendixBits, expectedCodeBytes } from './coder-theory.ts';
import { SIMULATIONS } from './printed.ts';
import { sizesPlot } from './sizes-figure.ts';

export const simulations: Part = {
  name: 'simulations',
  what: 'the five simulations of Compressed Bloom Filters: sizes of coded filters and of a delta',
  files: ['compressed-sizes.svg'],
  showsVerdicts: true,
  work,
  report,
};

function work(trials: number): Work[] {
  return SIMULATIONS.map((simulation) => ({ job: simulationJob(simulation), trials }));
}

function report(results: Results): Report {
  const comparisons: Comparison[] = [];
  const means: string[][] = [];
  const scatters: string[][] = [];
  for (const simulation of SIMULATIONS) {
    const { bits, hashes, replaced, budget } = simulation;
    const samples = resultOf(results, simulationJob(simulation));
    const name = [bits.toLocaleString('en'), String(hashes), replaced > 0 ? percent(replaced, 0) : ''];
    const entropy =
      (replaced > 0 ? deltaBits(bits, hashes, N, replaced) : compressedBits(bits, hashes, N)) / 8;
    const deviation =
      (replaced > 0
        ? deltaBitsDeviation(bits, hashes, N, replaced)
        : compressedBitsDeviation(bits, hashes, N)) / 8;
    const theory = expectedCodeBytes({ bits, hashes, keys: N, replaced: replaced * N });
    const [code, payload] = [samples.summary('codeBytes'), samples.summary('payloadBytes')];
    const real = samples.summary('ones', (ones) => (bits * binaryEntropy(ones / bits)) / 8);
    const appendix = samples.summary('ones', (ones) => Math.ceil(appendixBits(bits, ones) / 8));
    const what = `simulation m = ${bits}, k = ${hashes}`;
    // A sample's deviation scatters by 1/√(2 trials) of itself; whole bytes add 1/12 to the
    // variance.
    const wholeBytes = Math.hypot(deviation, Math.sqrt(1 / 12));
    const distance = (code.deviation / wholeBytes - 1) * Math.sqrt(2 * samples.trials);
    comparisons.push(compareMean(`${what}: mean size`, code, theory, wholeBytes));
    comparisons.push(compareDistance(`${what}: deviation`, distance));
    means.push([
      ...name,
      entropy.toFixed(1),
      measured(real),
      simulation.mean ?? '–',
      measured(appendix),
      theory.toFixed(2),
      measured(code),
      ((code.mean - theory) / code.error).toFixed(1),
      measured(payload),
    ]);
    scatters.push([
      ...name,
      simulation.deviation ?? '–',
      wholeBytes.toFixed(3),
      code.deviation.toFixed(3),
      payload.deviation.toFixed(3),
      simulation.most,
      String(code.most),
      String(payload.most),
      budget?.toLocaleString('en') ?? '–',
      budget === null ? '–' : percent(samples.share('payloadBytes', (bytes) => bytes <= budget)),
      budget === null ? '–' : digits((budget - payload.mean) / payload.deviation, 3),
    ]);
  }
  return {
    comparisons,
    sections: [
      {
        title: 'The five simulations of *compressed*',
        text: [
          'n = 10,000 elements, sizes in bytes. The paper ran each 100,000 times, through a general adaptive arithmetic coder, ' +
            '"including all overhead". The last row is a delta: 5 % of the elements replaced.',
          'Columns. Entropy: m·H(p)/8 by the formula, and the mean over the real arrays. Appendix: the adaptive coder of the ' +
            "paper's appendix, ⌈log2((m+1)!/(c!(m-c)!))⌉ + 1 bits in whole bytes, for the arrays of this run. Code: one range code " +
            'of the whole array, by theory (`apps/papers/src/texts/coder-theory.ts`: expected log2 of m over c, about 2 bits for taking the ' +
            'probability again only every 32 bits, 0.32 bytes for the end) and measured; σ is the distance of the two in standard ' +
            'errors. Payload: the bit code that is sent, which names its coding, the size of a piece and the number of ones; ' +
            'arrays whose code is longer than some 16 KiB are cut into pieces.',
        ],
        tables: [
          {
            head: [
              'm',
              'k',
              'replaced',
              'entropy: formula',
              'measured',
              'mean: paper',
              'appendix',
              'code: theory',
              'measured',
              'σ',
              'payload',
            ],
            rows: means,
            names: 3,
            folds: [5, 7, 10],
          },
          {
            head: [
              'm',
              'k',
              'replaced',
              'sd: paper',
              'theory',
              'code',
              'payload',
              'max: paper',
              'code',
              'payload',
              'budget',
              'payloads that fit',
              'room in sd',
            ],
            rows: scatters,
            names: 3,
            folds: [7, 10],
          },
        ],
        figures: [
          {
            file: 'compressed-sizes.svg',
            caption:
              'Sizes of coded filters, m = 140,000, k = 2, beside the mean, the maximum and the budget of the paper',
            plot: sizesPlot(results),
          },
        ],
      },
    ],
  };
}
