/**
 * `npm run bench:delivery-codes`: the fountain code of @bloomery/delivery beside the sums that it
 * is made of and beside the codes of npm, and how many symbols it needs.
 */

import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type CodeRates, measureCode, measureOverheads, type Overheads } from './measure-code.ts';
import { measureLuby, measureRaptorQ, measureWithBlocks, type PeerRates } from './measure-peers.ts';

const HELP = `npm run bench:delivery-codes -- [options]

  --quick            fewer rounds and trials: half a minute
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) console.log(HELP);
else await run(options.quick, options.markdown);

async function run(isQuick: boolean, file: string | undefined): Promise<void> {
  const before = loadavg()[0].toFixed(1);
  const rounds = isQuick ? 1 : 5;
  const rates = [1000, 2000, 4000].map((blocks) => progress(measureCode(blocks, 'auto', rounds)));
  rates.push(progress(measureCode(1000, 'javascript', rounds)));
  const overheads = (
    [
      [100, 1000],
      [1000, 1000],
      [2000, 300],
      [4000, 200],
    ] as const
  ).map(([blocks, trials]) => progress(measureOverheads(blocks, isQuick ? trials / 10 : trials)));
  const peers = [
    progress(measureWithBlocks(1000)),
    progress(await measureRaptorQ(1000)),
    progress(measureLuby(1000, 1024)),
  ];
  const text = [
    '# The fountain code of deliveries',
    '',
    'Written by `npm run bench:delivery-codes -- --markdown results/delivery-codes.md`.',
    '',
    `${cpus()[0].model.trim()}, ${cpus().length} cores, Node ${process.versions.node}; load ${before} at the start and ${loadavg()[0].toFixed(1)} at the end. Times are`,
    `processor time; rates are megabytes of content per second of it, medians of ${rounds} rounds.`,
    '',
    ...ratesTable(rates),
    '',
    ...overheadTable(overheads),
    '',
    ...peersTable(peers),
  ].join('\n');
  console.log(text);
  if (file !== undefined) writeFileSync(file, `${text}\n`);
}

function progress<T>(measured: T): T {
  const shown = { ...measured, extra: undefined };
  console.error(JSON.stringify(shown));
  return measured;
}

function ratesTable(rates: readonly CodeRates[]): string[] {
  return [
    '## Encoding and decoding beside their sums',
    '',
    'Blocks of 16 KiB. "One sum" adds one block to another, in as much memory, by the same kernel. The goal is half of that rate,',
    'divided by the mean degree. Encoding makes symbols and copies them out; decoding copies coded symbols in, until all blocks can',
    'be read in its memory.',
    '',
    '| blocks | kernel | mean degree | one sum, MB/s | encode, MB/s | of one sum / degree | decode, MB/s | of one sum / degree | sums per block | symbols more |',
    '|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rates.map(({ blocks, kernel, meanDegree, sums, encode, decode, sumsPerBlock, overhead }) => {
      const ideal = sums / meanDegree;
      const cells = [
        blocks.toLocaleString('en'),
        kernel,
        meanDegree.toFixed(2),
        Math.round(sums).toLocaleString('en'),
        Math.round(encode).toLocaleString('en'),
        (encode / ideal).toFixed(2),
        Math.round(decode).toLocaleString('en'),
        (decode / ideal).toFixed(2),
        sumsPerBlock.toFixed(1),
        percent(overhead),
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  ];
}

function overheadTable(overheads: readonly Overheads[]): string[] {
  const shares = [0, 0.005, 0.01, 0.02, 0.03];
  return [
    '## Symbols that suffice',
    '',
    'Coded symbols alone, another key in each trial. The share of trials in which this many symbols more than blocks gave the',
    'content; the others asked for more and succeeded. Then the number of symbols more: mean, 99 of 100 trials, the worst.',
    '',
    `| blocks | trials | ${shares.map((share) => `${(100 * share).toFixed(1)} % more`).join(' | ')} | mean | 99 % | worst |`,
    `|---:|---:|${shares.map(() => '---:|').join('')}---:|---:|---:|`,
    ...overheads.map(({ blocks, trials, extra }) => {
      const within = shares.map((share) => {
        const enough = extra.filter((more) => more <= Math.floor(share * blocks)).length;
        return percent(enough / trials);
      });
      const mean = extra.reduce((sum, more) => sum + more, 0) / trials;
      const most = extra[Math.ceil(0.99 * trials) - 1];
      const cells = [
        blocks.toLocaleString('en'),
        trials.toLocaleString('en'),
        ...within,
        `${mean.toFixed(1)} (${percent(mean / blocks)})`,
        `${most} (${percent(most / blocks)})`,
        `${extra[trials - 1]}`,
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  ];
}

function peersTable(peers: readonly PeerRates[]): string[] {
  return [
    '## Beside the codes of npm',
    '',
    'One run each, encoder and decoder with all that they set up. raptorq gives its packets at once, blocks first; luby-transform',
    'compresses first, which random content makes useless, and its decoder is too slow for more than a megabyte.',
    '',
    '| code | content | received | encode, MB/s | decode, MB/s | symbols more |',
    '|---|---|---|---:|---:|---:|',
    ...peers.map(({ name, blocks, blockBytes, what, encode, decode, overhead }) => {
      const content = `${blocks.toLocaleString('en')} × ${blockBytes.toLocaleString('en')} bytes`;
      return `| ${name} | ${content} | ${what} | ${rate(encode)} | ${rate(decode)} | ${percent(overhead)} |`;
    }),
  ];
}

function rate(value: number): string {
  return value >= 10 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
