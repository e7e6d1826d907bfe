/**
 * `npm --prefix bench run bench:text`: schemes of grams on several corpora. For each: the index in
 * percent of the text, and the share of false blocks for needles of several kinds, taken from the
 * text itself. A false block is one that the index does not rule out and that does not contain the
 * needle. Blocks are cut and asked exactly as the index does it.
 */

import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { createGramScanner, type GramScheme, needleBits } from '../../packages/stores/dist/text/index.js';
import { asMarkdown, asText, type Table } from '../shared/report.ts';
import { type Corpus, Dice, debianCorpus, madeCorpora } from './corpora.ts';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '40' },
    needles: { type: 'string', default: '200' },
    markdown: { type: 'string' },
    json: { type: 'string' },
  },
});
const BYTES = Number(options.megabytes) * 1e6;
const NEEDLES = Number(options.needles);

const HALF = { bitsLog2: 17, limit: 1 << 16 };
const SCHEMES: Readonly<Record<string, GramScheme>> = {
  '5': { gram: 5, extra: 0, extraRule: 'none', ...HALF },
  '6': { gram: 6, extra: 0, extraRule: 'none', ...HALF },
  '7': { gram: 7, extra: 0, extraRule: 'none', ...HALF },
  '5 + 7 in runs': { gram: 5, extra: 7, extraRule: 'run', ...HALF },
  '5 + 8 in runs': { gram: 5, extra: 8, extraRule: 'run', ...HALF },
  '6 + 8 in runs': { gram: 6, extra: 8, extraRule: 'run', ...HALF },
  '5 + 8 at digits': { gram: 5, extra: 8, extraRule: 'digit', ...HALF },
  '5 + 8 in runs, 1/3 full': { gram: 5, extra: 8, extraRule: 'run', bitsLog2: 17, limit: 43_690 },
  '6 + 8 in runs, 2/5 full': { gram: 6, extra: 8, extraRule: 'run', bitsLog2: 17, limit: 52_429 },
};

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
  /** Places in the text, in lower case. */
  readonly places: readonly number[];
}

function needlesOf(corpus: Corpus, folded: Buffer): Needle[] {
  const dice = new Dice(7);
  return Object.entries(KINDS).flatMap(([kind, draw]) => {
    const needles: Needle[] = [];
    for (let tries = 0; needles.length < NEEDLES && tries < 4 * NEEDLES; tries++) {
      const drawn = draw(corpus.text, dice);
      if (drawn === null) continue;
      const bytes = Buffer.from(drawn.toLowerCase(), 'latin1');
      const places: number[] = [];
      for (let at = folded.indexOf(bytes); at >= 0; at = folded.indexOf(bytes, at + 1)) places.push(at);
      needles.push({ kind, bytes, places });
    }
    return needles.length < NEEDLES / 4 ? [] : needles;
  });
}

interface Outcome {
  readonly percent: number;
  readonly blocks: number;
  readonly megabytesPerSecond: number;
  readonly rates: ReadonlyMap<string, number>;
  readonly fewGrams: number;
}

function measure(corpus: Corpus, scheme: GramScheme, needles: readonly Needle[]): Outcome {
  const scanner = createGramScanner(scheme);
  const ends: number[] = [];
  const columns: Uint8Array[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < corpus.text.length; ) {
    at = scanner.scan(corpus.text, at, 4 << 20);
    ends.push(at);
    columns.push(scanner.take());
  }
  const { user, system } = process.cpuUsage(before);
  const falses = new Map<string, { passed: number; asked: number }>();
  let fewGrams = 0;
  for (const { kind, bytes, places } of needles) {
    const bits = needleBits(bytes, scheme);
    if (bits.length < 6) fewGrams++;
    const name = bits.length < 6 ? FEW : kind;
    const own = new Set(places.map((place) => blockOf(ends, place)));
    const count = falses.get(name) ?? { passed: 0, asked: 0 };
    falses.set(name, count);
    columns.forEach((column, block) => {
      if (own.has(block)) return;
      count.asked++;
      if (bits.every((bit) => ((column[bit >>> 3] >>> (bit & 7)) & 1) === 1)) count.passed++;
    });
  }
  return {
    percent: (100 * columns.length * 2 ** scheme.bitsLog2) / 8 / corpus.text.length,
    blocks: columns.length,
    megabytesPerSecond: corpus.text.length / (user + system),
    rates: new Map(
      [...falses].map(([kind, { passed, asked }]) => [
        kind,
        asked === 0 ? Number.NaN : (100 * passed) / asked,
      ]),
    ),
    fewGrams,
  };
}

function blockOf(ends: readonly number[], place: number): number {
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > place) high = middle;
    else low = middle + 1;
  }
  return low;
}

function* corpora(): Generator<Corpus> {
  yield* madeCorpora(BYTES);
  yield debianCorpus(BYTES);
}

interface SchemeResult {
  readonly corpus: string;
  readonly scheme: string;
  readonly percent: number;
  readonly rates: Readonly<Record<string, number>>;
}

const results: SchemeResult[] = [];
const tables: Table[] = Array.from(corpora(), (corpus) => {
  const folded = Buffer.from(corpus.text.toString('latin1').toLowerCase(), 'latin1');
  const needles = needlesOf(corpus, folded);
  const kinds = [...Object.keys(KINDS).filter((kind) => needles.some((needle) => needle.kind === kind)), FEW];
  const rows = Object.entries(SCHEMES).map(([name, scheme]) => {
    const { percent, blocks, megabytesPerSecond, rates, fewGrams } = measure(corpus, scheme, needles);
    results.push({ corpus: corpus.name, scheme: name, percent, rates: Object.fromEntries(rates) });
    const shown = kinds.map((kind) => {
      const rate = rates.get(kind);
      return rate === undefined || Number.isNaN(rate) ? '' : rate.toFixed(2);
    });
    return [
      name,
      percent.toFixed(2),
      String(blocks),
      ...shown,
      String(fewGrams),
      megabytesPerSecond.toFixed(0),
    ];
  });
  return {
    title: `${corpus.name}, ${(corpus.text.length / 1e6).toFixed(0)} MB`,
    head: [
      'scheme',
      'index %',
      'blocks',
      ...kinds.map((kind) => `${kind}, false %`),
      'few grams',
      'MB/s CPU',
    ],
    numbersFrom: 1,
    rows,
    notes: [],
  };
});
const load = `Load ${loadavg()
  .map((value) => value.toFixed(1))
  .join(' ')}. Needles of all kinds with fewer than six distinct grams are in the column of that name.`;
for (const table of tables) console.log(`${asText(table)}\n`);
console.log(load);
if (options.markdown !== undefined)
  writeFileSync(
    options.markdown,
    `# Schemes of grams\n\nWritten by \`npm --prefix bench run bench:text\`. ${load}\n\n${tables.map(asMarkdown).join('\n\n')}\n`,
  );
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
