/**
 * `npm --prefix bench run bench:text`: schemes of grams on several corpora. For each: the index in
 * percent of the text, and the share of false blocks for needles of several kinds, taken from the
 * text itself. A false block is one that the index does not rule out and that does not contain the
 * needle. Blocks are cut and asked exactly as the index does it.
 *
 * `--full` takes two gigabytes of text, and the two schemes that the command has. It runs in
 * pieces: with `--folder DIR --minutes 5` it stops after about five minutes with code 75, and the
 * same command goes on.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  createGramScanner,
  DEFAULT_SCHEME,
  type GramScheme,
  needleBits,
  PRECISE_SCHEME,
} from '../../packages/stores/dist/text/index.js';
import { asMarkdown, asText, type Table } from '../shared/report.ts';
import { CORPORA, type Corpus, corpusOf, Dice } from './corpora.ts';
import { Pieces } from './pieces.ts';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string' },
    needles: { type: 'string', default: '200' },
    full: { type: 'boolean', default: false },
    folder: { type: 'string' },
    minutes: { type: 'string' },
    markdown: { type: 'string' },
    json: { type: 'string' },
  },
});
const BYTES = Number(options.megabytes ?? (options.full ? 400 : 40)) * 1e6;
const NEEDLES = Number(options.needles);

const HALF = { bitsLog2: 17, limit: 1 << 16 };
const ALL_SCHEMES: Readonly<Record<string, GramScheme>> = {
  '5': { gram: 5, extra: 0, extraRule: 'none', ...HALF },
  '6': { gram: 6, extra: 0, extraRule: 'none', ...HALF },
  '7': { gram: 7, extra: 0, extraRule: 'none', ...HALF },
  '5 + 7 in runs': { gram: 5, extra: 7, extraRule: 'run', ...HALF },
  '5 + 8 in runs (default)': DEFAULT_SCHEME,
  '6 + 8 in runs': { gram: 6, extra: 8, extraRule: 'run', ...HALF },
  '5 + 8 at digits': { gram: 5, extra: 8, extraRule: 'digit', ...HALF },
  '5 + 8 in runs, 1/3 full (--precise)': PRECISE_SCHEME,
  '6 + 8 in runs, 2/5 full': { gram: 6, extra: 8, extraRule: 'run', bitsLog2: 17, limit: 52_429 },
};

const SCHEMES = Object.fromEntries(
  Object.entries(ALL_SCHEMES).filter(
    ([, scheme]) => !options.full || scheme === DEFAULT_SCHEME || scheme === PRECISE_SCHEME,
  ),
);

const KINDS: Readonly<Record<string, (text: Buffer, dice: Dice) => string | null>> = {
  addresses: (text, dice) => found(text, dice, /(?<![\d.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])/),
  'hex ids, 16': (text, dice) => found(text, dice, /[0-9a-f]{16}/),
  'absent words, 12': (_, dice) => letters(dice, 12),
  'absent words, 9': (_, dice) => letters(dice, 9),
  'any 16 bytes': (text, dice) => substring(text, dice, 16),
  'any 12 bytes': (text, dice) => substring(text, dice, 12),
  'any 9 bytes': (text, dice) => substring(text, dice, 9),
};

function found(text: Buffer, dice: Dice, pattern: RegExp): string | null {
  const at = dice.below(text.length);
  return pattern.exec(text.toString('latin1', at, at + 1000))?.[0] ?? null;
}

function letters(dice: Dice, length: number): string {
  return Array.from({ length }, () => String.fromCharCode(97 + dice.below(26))).join('');
}

function substring(text: Buffer, dice: Dice, length: number): string | null {
  const at = dice.below(text.length - length);
  const piece = text.toString('latin1', at, at + length);
  return piece.includes('\n') ? null : piece;
}

const FEW = 'fewer than six grams';

interface Needle {
  readonly kind: string;
  readonly bytes: Buffer;
}

function needlesOf(corpus: Corpus): Needle[] {
  const dice = new Dice(7);
  return Object.entries(KINDS).flatMap(([kind, draw]) => {
    const needles: Needle[] = [];
    for (let tries = 0; needles.length < NEEDLES && tries < 4 * NEEDLES; tries++) {
      const drawn = draw(corpus.text, dice);
      if (drawn !== null) needles.push({ kind, bytes: Buffer.from(drawn.toLowerCase(), 'latin1') });
    }
    return needles.length < NEEDLES / 4 ? [] : needles;
  });
}

interface Outcome {
  readonly scheme: string;
  readonly percent: number;
  readonly blocks: number;
  readonly megabytesPerSecond: number;
  /** False blocks in percent, by the kind of the needle. */
  readonly rates: Readonly<Record<string, number>>;
  readonly fewGrams: number;
}

/** `folded` is the text in lower case. */
function measure(corpus: Corpus, folded: Buffer, name: string, needles: readonly Needle[]): Outcome {
  const scheme = SCHEMES[name];
  const scanner = createGramScanner(scheme);
  const blocks: { column: Uint8Array; text: Buffer }[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < corpus.text.length; ) {
    const end = scanner.scan(corpus.text, at, 4 << 20);
    blocks.push({ column: scanner.take(), text: folded.subarray(at, end) });
    at = end;
  }
  const { user, system } = process.cpuUsage(before);
  const falses = new Map<string, { passed: number; asked: number }>();
  let fewGrams = 0;
  for (const { kind, bytes } of needles) {
    const bits = needleBits(bytes, scheme);
    if (bits.length < 6) fewGrams++;
    const group = bits.length < 6 ? FEW : kind;
    const count = falses.get(group) ?? { passed: 0, asked: 0 };
    falses.set(group, count);
    for (const { column, text } of blocks) {
      const passes = bits.every((bit) => ((column[bit >>> 3] >>> (bit & 7)) & 1) === 1);
      if (passes && text.includes(bytes)) continue;
      count.asked++;
      if (passes) count.passed++;
    }
  }
  const rates = [...falses].filter(([, { asked }]) => asked > 0);
  return {
    scheme: name,
    percent: (100 * blocks.length * 2 ** scheme.bitsLog2) / 8 / corpus.text.length,
    blocks: blocks.length,
    megabytesPerSecond: corpus.text.length / (user + system),
    rates: Object.fromEntries(rates.map(([kind, { passed, asked }]) => [kind, (100 * passed) / asked])),
    fewGrams,
  };
}

/** ASCII letters in lower case, as the index folds them. */
function foldedText(text: Buffer): Buffer {
  const folded = Buffer.from(text);
  for (let i = 0; i < folded.length; i++) if (folded[i] >= 65 && folded[i] <= 90) folded[i] += 32;
  return folded;
}

interface CorpusOutcome {
  readonly corpus: string;
  readonly bytes: number;
  readonly outcomes: readonly Outcome[];
}

function corpusTable({ corpus, bytes, outcomes }: CorpusOutcome): Table {
  const has = (kind: string) => outcomes.some(({ rates }) => rates[kind] !== undefined);
  const kinds = [...Object.keys(KINDS), FEW].filter(has);
  return {
    title: `${corpus}, ${(bytes / 1e6).toFixed(0)} MB`,
    head: [
      'scheme',
      'index %',
      'blocks',
      ...kinds.map((kind) => `${kind}, false %`),
      'few grams',
      'MB/s CPU',
    ],
    numbersFrom: 1,
    rows: outcomes.map(({ scheme, percent, blocks, rates, fewGrams, megabytesPerSecond }) => [
      scheme,
      percent.toFixed(2),
      String(blocks),
      ...kinds.map((kind) => rates[kind]?.toFixed(2) ?? ''),
      String(fewGrams),
      megabytesPerSecond.toFixed(0),
    ]),
    notes: [],
  };
}

/** The worst corpus for each promise of the two schemes of the command. */
const PROMISES: readonly [scheme: string, what: string, most: number][] = [
  ['(default)', 'index', 6],
  ['(default)', 'addresses', 5],
  ['(default)', 'hex ids, 16', 1],
  ['(default)', 'absent words, 12', 1],
  ['(default)', 'any 16 bytes', 1],
  ['(default)', 'any 12 bytes', 1],
  ['(--precise)', 'index', 11],
  ['(--precise)', 'addresses', 1],
  ['(--precise)', 'hex ids, 16', 1],
  ['(--precise)', 'absent words, 12', 1],
  ['(--precise)', 'any 12 bytes', 1],
  ['(--precise)', 'any 9 bytes', 1],
];

function promisesTable(all: readonly CorpusOutcome[]): Table {
  return {
    title: 'The worst corpus',
    head: ['scheme', 'what', 'wanted, % at most', 'measured %', 'corpus', ''],
    numbersFrom: 6,
    rows: PROMISES.map(([scheme, what, most]) => {
      const found = all.flatMap(({ corpus, outcomes }) =>
        outcomes
          .filter((one) => one.scheme.endsWith(scheme))
          .map(({ percent, rates }) => ({ corpus, value: what === 'index' ? percent : rates[what] })),
      );
      const worst = found
        .filter(({ value }) => value !== undefined)
        .sort((a, b) => b.value - a.value)
        .at(0);
      if (worst === undefined) return [scheme.slice(1, -1), what, String(most), '', '', ''];
      const { value, corpus } = worst;
      const met = value <= most ? 'met' : 'NOT MET';
      return [scheme.slice(1, -1), what, String(most), value.toFixed(2), corpus, met];
    }),
    notes: [
      'Needles of any 12 or 16 bytes are drawn from the text. Many of them are fixed parts of the log with a few digits: their grams occur in most blocks.',
    ],
  };
}

function main(pieces: Pieces): void {
  const all = CORPORA.map(
    (name): CorpusOutcome =>
      pieces.piece(`schemes of ${name}`, () => {
        const corpus = corpusOf(name, BYTES);
        const folded = foldedText(corpus.text);
        const needles = needlesOf(corpus);
        const outcomes = Object.keys(SCHEMES).map((scheme) => measure(corpus, folded, scheme, needles));
        return { corpus: name, bytes: corpus.text.length, outcomes };
      }),
  );
  // Less text is too little for these figures.
  const tables = [...(options.full ? [promisesTable(all)] : []), ...all.map(corpusTable)];
  const note = `${pieces.load} ${NEEDLES} needles of each kind. Those with fewer than six distinct grams are in the column of that name.`;
  for (const table of tables) console.log(asText(table));
  console.log(note);
  if (options.markdown !== undefined)
    writeFileSync(
      options.markdown,
      `# Schemes of grams\n\nWritten by \`npm --prefix bench run bench:text\`. ${note}\n\n${tables.map(asMarkdown).join('\n')}`,
    );
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`);
}

Pieces.run(options, main);
