/**
 * `npm run bench:delivery-strategies`: the strategies of partial senders in simulation, beside the
 * formulas, as tables and as data for the picture of the guide.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { bestRecodingDegree, filteredShare, recodedUsefulShare, usefulShare } from '@bloomery/delivery/codes';
import {
  STRATEGIES,
  type Strategy,
  simulateTransfer,
  type TransferResult,
  type TransferSettings,
} from '@bloomery/delivery/simulation';
import { containmentVariance, MinWiseSketch } from '@bloomery/delivery/sketches';

const HELP = `npm run bench:delivery-strategies -- [options]

  --quick            500 blocks and fewer seeds: half a minute
  --markdown FILE    write the tables
  --json FILE        write the transfers, for delivery-figures
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const SYSTEMS = [
  { name: 'compact', factor: 1.1, containments: [0, 0.2, 0.4, 0.6, 0.8] },
  { name: 'stretched', factor: 1.5, containments: [0, 0.1, 0.2, 0.3, 0.4, 0.5] },
] as const;
const FALSE_POSITIVES = 0.01;
const NAMES: Record<Strategy, string> = {
  random: 'random',
  'random-filter': 'random, filter',
  recode: 'recode',
  'recode-filter': 'recode, filter',
};

/** One cell of the tables: means over the seeds. */
interface Cell {
  readonly system: string;
  readonly containment: number;
  readonly strategy: Strategy;
  readonly partialSenders: number;
  readonly fullSenders: number;
  /** Symbols sent for each one that the receiver lacked. */
  readonly sentPerNeeded: number;
  /** Rounds of a full sender alone over rounds of this transfer. */
  readonly speedUp: number;
  readonly complete: number;
}

if (options.help) console.log(HELP);
else run(options.quick ? 500 : 1000, options.quick ? 3 : 10);

function run(blocks: number, seeds: number): void {
  const cells: Cell[] = [];
  for (const { name, factor, containments } of SYSTEMS) {
    for (const containment of containments) {
      for (const [partialSenders, fullSenders] of [
        [1, 0],
        [2, 0],
        [4, 0],
        [1, 1],
      ]) {
        for (const strategy of STRATEGIES) {
          const settings = { blocks, factor, containment, strategy, partialSenders, fullSenders };
          const results = Array.from({ length: seeds }, (_, i) =>
            simulateTransfer({ ...settings, seed: i + 1 }),
          );
          cells.push(cellOf(name, settings, results));
        }
      }
      console.error(`${name} c = ${containment}: done`);
    }
  }
  const text = [
    '# Partial senders without coordination',
    '',
    'Written by `npm run bench:delivery-strategies -- --markdown results/delivery-strategies.md --json results/delivery-strategies.json`.',
    '',
    `${blocks.toLocaleString('en')} blocks; the receiver needs 2 % more symbols than blocks. ${seeds} seeds; the same command gives the same figures.`,
    'Receiver and partial senders hold the same number of symbols, of which a share c is common to sender and receiver; together',
    'they hold 1.1 times the blocks (compact) or 1.5 times (stretched). The senders know nothing of each other.',
    '',
    ...formulaTable(blocks, 50 * seeds),
    '',
    ...transferTables(cells),
  ].join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(cells, null, 2)}\n`);
}

function cellOf(
  system: string,
  settings: Omit<TransferSettings, 'seed'>,
  results: readonly TransferResult[],
): Cell {
  const mean = (of: (one: TransferResult) => number) =>
    results.reduce((sum, one) => sum + of(one), 0) / results.length;
  const { containment, strategy, partialSenders, fullSenders = 0 } = settings;
  return {
    system,
    containment,
    strategy,
    partialSenders,
    fullSenders,
    sentPerNeeded: mean(({ sent, lacked }) => sent / lacked),
    speedUp: mean(({ rounds, lacked }) => lacked / rounds),
    complete: mean(({ isComplete }) => Number(isComplete)),
  };
}

/** A row of the first table: a formula, and the same by experiment. */
function formulaTable(blocks: number, trials: number): string[] {
  const rows: string[] = [];
  const row = (what: string, c: number, formula: number, observed: number, deviation: number) =>
    rows.push(
      `| ${what} | ${c} | ${formula.toPrecision(4)} | ${observed.toPrecision(4)} | ${((observed - formula) / deviation).toFixed(1)} |`,
    );
  for (const containment of [0.2, 0.5, 0.8]) {
    const factor = 1.1;
    const held = Math.round((factor * blocks) / (2 - containment));
    const exact = (2 * held - Math.round(factor * blocks)) / held;
    const base = { blocks, factor, containment, partialSenders: 1, needed: (held + 1) / blocks, patience: 1 };
    const first = (strategy: Strategy) =>
      Array.from({ length: trials }, (_, i) => simulateTransfer({ ...base, strategy, seed: i + 1 }));
    const binomial = (share: number, count: number) => Math.sqrt((share * (1 - share)) / count);
    const useful = first('random').filter((one) => one.first === 'new').length / trials;
    row(
      'useful share of random symbols, 1 − c',
      containment,
      usefulShare(exact),
      useful,
      binomial(exact, trials),
    );
    const filtered = first('random-filter').map(({ offered }) => offered / held);
    const offered = filtered.reduce((sum, share) => sum + share, 0) / trials;
    const share = filteredShare(exact, FALSE_POSITIVES);
    const spread = Math.sqrt((FALSE_POSITIVES * (1 - exact)) / (held * trials));
    row('share sent by a filter, (1 − f)(1 − c)', containment, share, offered, spread);
    const degree = bestRecodingDegree(exact);
    const hit = recodedUsefulShare(exact, degree);
    const sums = sumsUseful(held, exact, degree, 20 * trials);
    row(
      `useful share of sums of ${degree}, δ(1 − c)c^(δ−1)`,
      containment,
      hit,
      sums,
      binomial(hit, 20 * trials),
    );
    const { variance, error } = sketchVariance(blocks, exact, trials);
    row(
      'variance of an estimated c, c(1 − c)/128',
      containment,
      containmentVariance(exact, 128),
      variance,
      error,
    );
  }
  return [
    '## Formulas and what was seen',
    '',
    `${trials.toLocaleString('en')} trials a row (20 times as many sums). The last column is the difference in standard deviations.`,
    '',
    '| | c | formula | seen | deviations |',
    '|---|---:|---:|---:|---:|',
    ...rows,
    '',
    'The degree with the greatest useful share, and −1/ln c:',
    '',
    '| c | 0.2 | 0.5 | 0.7 | 0.8 | 0.9 | 0.95 | 0.98 |',
    '|---|---:|---:|---:|---:|---:|---:|---:|',
    `| best degree | ${[0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98].map((c) => bestRecodingDegree(c)).join(' | ')} |`,
    `| −1/ln c | ${[0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98].map((c) => (-1 / Math.log(c)).toFixed(2)).join(' | ')} |`,
  ];
}

/** Share of sums of `degree` random symbols in which the receiver lacks exactly one. */
function sumsUseful(held: number, c: number, degree: number, trials: number): number {
  const known = Math.round(c * held);
  const random = numbers(held + degree);
  let useful = 0;
  for (let trial = 0; trial < trials; trial++) {
    let unknown = 0;
    for (let i = 0; i < degree; i++) if (random() * held >= known) unknown++;
    if (unknown === 1) useful++;
  }
  return useful / trials;
}

/** Sample variance of estimates about the true containment, and its standard error. */
function sketchVariance(blocks: number, c: number, trials: number): { variance: number; error: number } {
  const size = Math.min(blocks, 300);
  const common = Math.round(c * size);
  let squares = 0;
  for (let seed = 1; seed <= trials; seed++) {
    const sketch = new MinWiseSketch({ seed });
    for (let id = 0; id < size; id++) sketch.add(id);
    const own = Array.from({ length: size }, (_, i) => i + size - common);
    squares += (sketch.estimatedContainmentIn(own) - common / size) ** 2;
  }
  const variance = squares / trials;
  return { variance, error: containmentVariance(common / size, 128) * Math.sqrt(2 / trials) };
}

function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

function transferTables(cells: readonly Cell[]): string[] {
  const text: string[] = [];
  for (const { name, containments } of SYSTEMS) {
    for (const [partial, full] of [
      [1, 0],
      [2, 0],
      [4, 0],
      [1, 1],
    ]) {
      const senders = `${partial} partial sender${partial > 1 ? 's' : ''}${full > 0 ? ' and a full one' : ''}`;
      const shown = full > 0 ? 'speed-up over the full one alone' : 'symbols sent for each one that lacked';
      text.push(
        `## ${name[0].toUpperCase()}${name.slice(1)}, ${senders}: ${shown}`,
        '',
        `| strategy | ${containments.map((c) => `c = ${c}`).join(' | ')} |`,
        `|---|${containments.map(() => '---:|').join('')}`,
        ...STRATEGIES.map((strategy) => {
          const row = containments.map((c) => {
            const cell = cells.find(
              (one) =>
                one.system === name &&
                one.containment === c &&
                one.strategy === strategy &&
                one.partialSenders === partial &&
                one.fullSenders === full,
            ) as Cell;
            if (cell.complete < 1) return `not done (${Math.round(100 * cell.complete)} % are)`;
            return (full > 0 ? cell.speedUp : cell.sentPerNeeded).toFixed(2);
          });
          return `| ${NAMES[strategy]} | ${row.join(' | ')} |`;
        }),
        '',
      );
    }
  }
  return text.slice(0, -1);
}
