/**
 * `npm run bench:delivery-codes`: the fountain code of @bloomery/delivery beside the sums that it
 * is made of and beside the codes of npm, and how many symbols it needs.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type CodeRates, measureCode, measureOverheads, type Overheads } from './measure-code.ts';
import { measureLuby, measureOurs, measureRaptorQ, type PeerRates } from './measure-peers.ts';

const HELP = `npm run bench:delivery-codes -- [options]

  --part NAME        rates, overheads or peers; all by default
  --quick            fewer rounds and trials: half a minute
  --json FILE        keep the figures, and those of parts that are not measured now
  --markdown FILE    write the tables
  --help`;

const PARTS = ['rates', 'overheads', 'peers'] as const;
type Part = (typeof PARTS)[number];

/** The figures of a part, with the load beside them. */
interface Measured<T> {
  readonly rows: readonly T[];
  readonly load: string;
  readonly rounds: number;
}

interface Figures {
  rates?: Measured<CodeRates>;
  overheads?: Measured<Overheads>;
  peers?: Measured<PeerRates>;
}

const { values: options } = parseArgs({
  options: {
    part: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) console.log(HELP);
else await run(PARTS.filter((part) => options.part === undefined || options.part === part));

async function run(parts: readonly Part[]): Promise<void> {
  const { quick, json, markdown } = options;
  const figures: Figures =
    json !== undefined && existsSync(json) ? (JSON.parse(readFileSync(json, 'utf8')) as Figures) : {};
  const rounds = quick ? 1 : 5;
  if (parts.includes('rates'))
    figures.rates = await measured(rounds, () => [
      ...[1000, 2000, 4000].map((blocks) => progress(measureCode(blocks, 'auto', rounds))),
      progress(measureCode(1000, 'javascript', rounds)),
    ]);
  if (parts.includes('overheads'))
    figures.overheads = await measured(1, () =>
      [
        { blocks: 100, trials: 1000 },
        { blocks: 1000, trials: 500 },
        { blocks: 2000, trials: 150 },
        { blocks: 4000, trials: 100 },
      ].map(({ blocks, trials }) => progress(measureOverheads(blocks, quick ? trials / 10 : trials))),
    );
  if (parts.includes('peers'))
    figures.peers = await measured(1, async () => [
      progress(measureOurs(1000, false)),
      progress(measureOurs(1000, true)),
      progress(await measureRaptorQ(1000)),
      progress(measureLuby(1000, 1024)),
    ]);
  const text = [
    '# The fountain code of deliveries',
    '',
    'Written by `npm run bench:delivery-codes -- --markdown results/delivery-codes.md`; the parts ran one by one, with `--json` to keep them.',
    `${cpus()[0].model.trim()}, ${cpus().length} cores, Node ${process.versions.node}. Rates are megabytes of content per second of processor time.`,
    ...(figures.rates ? ['', ...ratesTable(figures.rates)] : []),
    ...(figures.overheads ? ['', ...overheadTable(figures.overheads)] : []),
    ...(figures.peers ? ['', ...peersTable(figures.peers)] : []),
  ].join('\n');
  console.log(text);
  if (markdown !== undefined) writeFileSync(markdown, `${text}\n`);
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(figures)}\n`);
}

async function measured<T>(
  rounds: number,
  work: () => readonly T[] | Promise<readonly T[]>,
): Promise<Measured<T>> {
  const before = loadavg()[0].toFixed(1);
  const rows = await work();
  return { rows, rounds, load: `load ${before} at the start and ${loadavg()[0].toFixed(1)} at the end` };
}

function progress<T>(measured: T): T {
  const shown = { ...measured, extra: undefined };
  console.error(JSON.stringify(shown));
  return measured;
}

function ratesTable({ rows, load, rounds }: Measured<CodeRates>): string[] {
  return [
    '## Encoding and decoding beside their sums',
    '',
    'Blocks of 16 KiB. "One sum" adds one block to another, in as much memory, by the same kernel. The goal is half of that rate,',
    'divided by the mean degree. Encoding makes symbols and copies them out; decoding copies coded symbols in, until all blocks can',
    `be read in its memory. Medians of ${rounds} rounds, ${load}.`,
    '',
    '| blocks | kernel | mean degree | one sum, MB/s | encode, MB/s | of one sum / degree | decode, MB/s | of one sum / degree | sums per block | symbols more |',
    '|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rows.map(
      ({
        blocks,
        kernel,
        meanDegree,
        sums,
        encode,
        decode,
        encodeShare,
        decodeShare,
        sumsPerBlock,
        overhead,
      }) => {
        const cells = [
          blocks.toLocaleString('en'),
          kernel,
          meanDegree.toFixed(2),
          Math.round(sums).toLocaleString('en'),
          Math.round(encode).toLocaleString('en'),
          encodeShare.toFixed(2),
          Math.round(decode).toLocaleString('en'),
          decodeShare.toFixed(2),
          sumsPerBlock.toFixed(1),
          percent(overhead),
        ];
        return `| ${cells.join(' | ')} |`;
      },
    ),
  ];
}

function overheadTable({ rows, load }: Measured<Overheads>): string[] {
  const shares = [0, 0.005, 0.01, 0.02, 0.03];
  return [
    '## Symbols that suffice',
    '',
    'Coded symbols alone, another key in each trial. The share of trials in which this many symbols more than blocks gave the',
    'content; the others asked for more and succeeded. Then the number of symbols more: mean, 99 of 100 trials, the worst.',
    `Symbols are counted, not timed; ${load}.`,
    '',
    `| blocks | trials | ${shares.map((share) => `${(100 * share).toFixed(1)} % more`).join(' | ')} | mean | 99 % | worst |`,
    `|---:|---:|${shares.map(() => '---:|').join('')}---:|---:|---:|`,
    ...rows.map(({ blocks, trials, extra }) => {
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

function peersTable({ rows, load }: Measured<PeerRates>): string[] {
  return [
    '## Beside the codes of npm',
    '',
    `One run each, ${load}.`,
    'Encoder and decoder with all that they set up. raptorq gives its packets at once, blocks first; luby-transform',
    'compresses first, which random content makes useless, and its decoder is too slow for more than a megabyte.',
    '',
    '| code | content | received | encode, MB/s | decode, MB/s | symbols more |',
    '|---|---|---|---:|---:|---:|',
    ...rows.map(({ name, blocks, blockBytes, what, encode, decode, overhead }) => {
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
