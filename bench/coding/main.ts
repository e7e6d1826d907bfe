/**
 * `npm run bench:coding`: the coder of bit arrays beside the general compressors, on arrays of
 * independent bits from 0.1 % to 50 % ones and from 10 kbit to 100 Mbit: size over entropy, and
 * speed of coding and decoding in MB of plain bits a second. Every round runs all contenders in
 * turn; the median of the rounds counts. At the end, the sizes of frames and deltas of every
 * structure (structure-table.ts).
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync, gzipSync } from 'node:zlib';
import { decodeBits, encodeBits } from 'bloomery/wire';
import { STRUCTURES_HEADING, structureLines } from './structure-table.ts';

const HELP = `npm run bench:coding -- [options]

  --quick            to 1 Mbit, fewer rounds, no brotli -11: half a minute
  --structures       only the sizes of frames and deltas: a minute; with --markdown, the rest of FILE stays
  --markdown FILE    write the tables
  --help`;

interface Contender {
  readonly name: string;
  readonly encode: (bytes: Uint8Array, words: Uint32Array, bits: number) => Uint8Array;
  readonly decode?: (code: Uint8Array, bits: number) => unknown;
  /**
   * Rounds of a coder that is too slow for the largest arrays, or whose size alone is wanted; none
   * above this many bits.
   */
  readonly rounds?: number;
  readonly mostBits?: number;
}

interface Cell {
  readonly bytes: number;
  readonly overEntropy: number;
  readonly encode: number;
  readonly decode: number;
}

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    structures: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const DENSITIES = [0.001, 0.003, 0.01, 0.02, 0.05, 0.07, 0.1, 0.133, 0.25, 0.4, 0.5];
const SIZES = options.quick ? [1e4, 1e5, 1e6] : [1e4, 1e5, 1e6, 1e7, 1e8];
const ROUNDS = options.quick ? 5 : 9;
const scratch = mkdtempSync(join(tmpdir(), 'bloomery-coding-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

const contenders: Contender[] = [
  {
    name: 'small',
    encode: (_, words, bits) => encodeBits(words, bits, 'small'),
    decode: (code, bits) => decodeBits(code, bits),
  },
  {
    name: 'fast',
    encode: (_, words, bits) => encodeBits(words, bits, 'fast'),
    decode: (code, bits) => decodeBits(code, bits),
  },
  { name: 'gzip -6', encode: (bytes) => gzipSync(bytes, { level: 6 }), decode: (code) => gunzipSync(code) },
  { name: 'gzip -9', encode: (bytes) => gzipSync(bytes, { level: 9 }), rounds: 1, mostBits: 1e7 },
  {
    name: 'brotli -11',
    encode: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
    decode: (code) => brotliDecompressSync(code),
    rounds: 1,
    mostBits: options.quick ? 0 : 1e7,
  },
  { name: 'zstd -19', encode: zstd, rounds: 1, mostBits: 1e8 },
];

function main(): void {
  const lines = options.structures ? [] : arrayLines();
  const compressors = contenders.filter(({ name }) => ['gzip -9', 'brotli -11', 'zstd -19'].includes(name));
  const others = compressors.map(({ name, encode }) => ({
    name,
    encode: (bytes: Uint8Array) => encode(bytes, new Uint32Array(0), 8 * bytes.length),
  }));
  const text = [...lines, ...structureLines(others, (name) => process.stderr.write(`${name}\n`))].join('\n');
  console.log(text);
  if (options.markdown !== undefined) {
    writeFileSync(options.markdown, options.structures ? partBefore(options.markdown) + text : text);
  }
}

/** The results of the arrays, which `--structures` keeps. */
function partBefore(path: string): string {
  const [arrays] = readFileSync(path, 'utf8').split(`${STRUCTURES_HEADING}\n`);
  return `${arrays.trimEnd()}\n\n`;
}

function arrayLines(): string[] {
  const lines: string[] = [
    '# The coder of bit arrays',
    '',
    `Made by \`npm run bench:coding${options.quick ? ' -- --quick' : ''}\`. Size over the entropy of the very array in per cent (and bytes), then`,
    'MB of plain bits a second, coding / decoding, median of the rounds. Not measured: –.',
    '',
  ];
  const verdicts = new Verdicts();
  for (const bits of SIZES) {
    lines.push(
      `## ${bits.toLocaleString('en')} bits`,
      '',
      `| ones | ${contenders.map((c) => c.name).join(' | ')} |`,
    );
    lines.push(`|---|${contenders.map(() => '---').join('|')}|`);
    for (const density of DENSITIES) {
      process.stderr.write(`${bits} bits at ${density}\n`);
      const row = measure(bits, density);
      verdicts.note(bits, density, row);
      lines.push(
        `| ${Number((100 * density).toPrecision(3))} % | ${contenders.map(({ name }) => show(row.get(name))).join(' | ')} |`,
      );
    }
    lines.push('');
  }
  lines.push(...verdicts.lines(), '');
  return lines;
}

function measure(bits: number, density: number): Map<string, Cell> {
  const words = randomBits(bits, density);
  const bytes = new Uint8Array(words.buffer, 0, Math.ceil(bits / 8));
  const entropy = entropyBytes(words, bits);
  const samples = new Map<string, { bytes: number; encode: number[]; decode: number[] }>();
  // The largest arrays take seconds a round, and are the least noisy.
  const most = bits >= 1e8 ? 3 : ROUNDS;
  for (let round = 0; round < most; round++) {
    for (const { name, encode, decode, rounds = ROUNDS, mostBits = Number.POSITIVE_INFINITY } of contenders) {
      if (round >= rounds || bits > mostBits) continue;
      const sample = samples.get(name) ?? { bytes: 0, encode: [], decode: [] };
      samples.set(name, sample);
      const repeats = Math.max(1, Math.round((rounds === 1 ? 1 : 4e6) / bits));
      let code = encode(bytes, words, bits); // warm, and for the size
      sample.bytes = code.length;
      sample.encode.push(speed(bytes.length, repeats, () => (code = encode(bytes, words, bits))));
      if (decode === undefined) continue;
      decode(code, bits);
      sample.decode.push(speed(bytes.length, repeats, () => decode(code, bits)));
    }
  }
  return new Map(
    [...samples].map(([name, sample]) => [
      name,
      {
        bytes: sample.bytes,
        overEntropy: sample.bytes - entropy,
        encode: median(sample.encode),
        decode: median(sample.decode),
      },
    ]),
  );
}

/** The demands on the coder, and whether every array shows that they are met. */
class Verdicts {
  readonly #failures: Record<string, string[]> = {
    'small: within 0.3 % of the entropy, plus 16 bytes': [],
    'fast: within 1.2 % of the entropy, plus 16 bytes': [],
    'both: no larger than gzip -9, brotli -11 and zstd -19': [],
    'fast: decodes at least as fast as gunzip': [],
    'fast: codes at least 4 times as fast as gzip -6': [],
  };
  #count = 0;

  note(bits: number, density: number, row: Map<string, Cell>): void {
    this.#count++;
    const [within, fastWithin, smaller, decodes, encodes] = Object.values(this.#failures);
    const where = `${bits.toExponential(0)} bits at ${Number((100 * density).toPrecision(3))} %`;
    const small = row.get('small')!;
    const fast = row.get('fast')!;
    const gzip = row.get('gzip -6')!;
    const entropy = small.bytes - small.overEntropy;
    if (small.overEntropy > 0.003 * entropy + 16) within.push(where);
    if (fast.overEntropy > 0.012 * entropy + 16) fastWithin.push(where);
    for (const name of ['gzip -9', 'brotli -11', 'zstd -19']) {
      const other = row.get(name);
      if (other !== undefined && small.bytes > other.bytes) smaller.push(`small against ${name}, ${where}`);
      if (other !== undefined && fast.bytes > other.bytes) smaller.push(`fast against ${name}, ${where}`);
    }
    if (fast.decode < gzip.decode) decodes.push(`${where} (${(fast.decode / gzip.decode).toFixed(2)})`);
    if (fast.encode < 4 * gzip.encode) encodes.push(`${where} (${(fast.encode / gzip.encode).toFixed(1)})`);
  }

  lines(): string[] {
    const rows = Object.entries(this.#failures).map(
      ([what, failed]) =>
        `| ${what} | ${this.#count - new Set(failed.map((text) => text.replace(/^.*, | \(.*$/g, ''))).size} of ${this.#count} | ${failed.join('; ') || 'none'} |`,
    );
    return [
      '## What was asked',
      '',
      '| asked | arrays that show it | those that do not |',
      '|---|---|---|',
      ...rows,
    ];
  }
}

function show(cell: Cell | undefined): string {
  if (cell === undefined) return '–';
  const { bytes, overEntropy, encode, decode } = cell;
  const over = `${((100 * overEntropy) / (bytes - overEntropy)).toFixed(2)} % (${Math.round(overEntropy)} B)`;
  const rate = (value: number) => (Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 1 : 0));
  return `${over} ${rate(encode)} / ${rate(decode)}`;
}

function speed(bytes: number, repeats: number, work: () => unknown): number {
  const start = process.hrtime.bigint();
  for (let i = 0; i < repeats; i++) work();
  return (1000 * bytes * repeats) / Number(process.hrtime.bigint() - start);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Independent bits from a fixed seed (xorshift32). */
function randomBits(bits: number, density: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(bits / 32));
  const limit = density * 2 ** 32;
  let state = 0x9e3779b9 ^ bits;
  for (let i = 0; i < bits; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    if (Math.imul(state, 0x85ebca6b) >>> 0 < limit) words[i >>> 5] |= 1 << (i & 31);
  }
  return words;
}

function entropyBytes(words: Uint32Array, bits: number): number {
  let ones = 0;
  for (let word of words) for (; word !== 0; word &= word - 1) ones++;
  const p = ones / bits;
  return (bits * -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p))) / 8;
}

/** Debian's command, where it is installed. */
function zstd(bytes: Uint8Array): Uint8Array {
  const file = join(scratch, 'array');
  writeFileSync(file, bytes);
  const { status, error } = spawnSync('zstd', ['-19', '-q', '-f', file, '-o', `${file}.zst`]);
  if (status !== 0) {
    throw new Error(`zstd -19 failed (install Debian's zstd): ${error?.message ?? `exit ${status}`}`);
  }
  return readFileSync(`${file}.zst`);
}

if (options.help) console.log(HELP);
else main();
