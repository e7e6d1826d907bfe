/**
 * `npm run bench:hashes`: which rate and which coded size filters have under six families of hash
 * functions, on the families of structured keys (packages/bloomery/test/structured-families.ts).
 *
 * "It is an open question to determine what sort of performance guarantees are possible using
 * practical hash function families" (Mitzenmacher, Compressed Bloom Filters, VI). Section III of
 * that paper expects that universal families and MD5 suffice, that under a weak hash the standard
 * filter suffers more than the compressed one, which has fewer hash functions, and that its array
 * may not compress as expected. These tables show what happens; docs/notes/hash.md says what we
 * conclude.
 *
 * The two filters are those of the paper's Table I for 8 bits per key. Half of each key family is
 * stored, and the other half is asked for.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Key, packKeys } from 'bloomery';
import { rateTrue, rateTrueVariance } from 'bloomery/math';
import { encodeBits } from 'bloomery/wire';
import { STRUCTURED_FAMILIES } from '../../packages/bloomery/test/structured-families.ts';
import { HASH_FAMILIES, multiplyShift, type Places } from './hash-families.ts';
import { randomWords } from './random-words.ts';

const { values: options } = parseArgs({
  options: { keys: { type: 'string', default: '100000' }, markdown: { type: 'string' } },
});
const n = Number(options.keys);
const SHAPES = [
  { name: 'standard', bitsPerKey: 8, k: 6 },
  { name: 'compressed', bitsPerKey: 14, k: 2 },
] as const;
/** Arrays of random bits that show how much coded sizes vary. */
const RANDOM_ARRAYS = 50;
const SIGMAS = 5;
/** Draws of the coefficients of multiply-shift, each on a tenth of the keys. */
const DRAWS = 50;

interface Measure {
  readonly mean: number;
  readonly deviation: number;
}

interface Cell {
  readonly rate: number;
  readonly bitsPerKey: number;
}

const text = [
  '# Hash families on structured keys',
  `Written by \`npm run bench:hashes -- --markdown results/hashes.md\`; the head of [main.ts](../hashes/main.ts) says why. ${n} keys are stored, ${n} others of the same family are asked for. ▲ and ▼ mark values that lie more than ${SIGMAS} standard deviations above and below the theory of random functions: for rates the exact rate with its variance over filters, for sizes the mean of ${RANDOM_ARRAYS} arrays of random places, coded by the same coder.`,
  ...SHAPES.flatMap(tablesOf),
  ...drawsOfMultiplyShift(),
].join('\n\n');
console.log(text);
if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);

function tablesOf({ name, bitsPerKey, k }: (typeof SHAPES)[number]): string[] {
  const m = bitsPerKey * n;
  const rate = rateTrue(m, k, n);
  const deviation = Math.sqrt((rate * (1 - rate)) / n + rateTrueVariance(m, k, n));
  const size = randomSize(m, k);
  const rows = Object.entries(STRUCTURED_FAMILIES).map(([family, keyAt]) => {
    const keys = keysOf(keyAt, 2 * n);
    const cells = Object.entries(HASH_FAMILIES).map(([hash, places]) => {
      process.stderr.write(`${name}, ${family}, ${hash}\n`);
      return measure(keys, places, k, m);
    });
    return { family, cells };
  });
  const hashes = Object.keys(HASH_FAMILIES);
  const rateRows = rows.map(({ family, cells }) => [
    family,
    ...cells.map((cell) => `${percent(cell.rate)}${mark(cell.rate, { mean: rate, deviation })}`),
  ]);
  const sizeRows = rows.map(({ family, cells }) => [
    family,
    ...cells.map((cell) => `${cell.bitsPerKey.toFixed(3)}${mark(cell.bitsPerKey, size)}`),
  ]);
  const shape = `${bitsPerKey} bits per key, ${k} hashes`;
  return [
    `## The ${name} filter: ${shape}`,
    `False positive rate. Theory: ${percent(rate)}.`,
    table(['keys', ...hashes], rateRows),
    `Coded size in bits per key. Random arrays: ${size.mean.toFixed(3)}.`,
    table(['keys', ...hashes], sizeRows),
  ];
}

/** How much the rate under multiply-shift depends on the coefficients that were drawn. */
function drawsOfMultiplyShift(): string[] {
  const few = Math.ceil(n / 10);
  const rows = Object.entries(STRUCTURED_FAMILIES).map(([family, keyAt]) => {
    process.stderr.write(`${DRAWS} draws of multiply-shift, ${family}\n`);
    const keys = keysOf(keyAt, 2 * few);
    const cells = SHAPES.flatMap(({ bitsPerKey, k }) => {
      const rates = Array.from(
        { length: DRAWS },
        (_, draw) => measure(keys, multiplyShift(draw), k, bitsPerKey * few).rate,
      ).sort((a, b) => a - b);
      return [rates[0], rates[DRAWS / 2], rates[DRAWS - 1]].map(percent);
    });
    return [family, ...cells];
  });
  const head = SHAPES.flatMap(({ name }) =>
    ['lowest', 'median', 'highest'].map((which) => `${name}, ${which}`),
  );
  return [
    `## Multiply-shift: ${DRAWS} draws of its coefficients, ${few} keys`,
    'False positive rate.',
    table(['keys', ...head], rows),
  ];
}

/** The bytes of the first keys of a family. */
function keysOf(keyAt: (i: number) => Key, count: number): Uint8Array[] {
  const { bytes, offsets } = packKeys(Array.from({ length: count }, (_, i) => keyAt(i)));
  return Array.from({ length: count }, (_, i) => bytes.subarray(offsets[i], offsets[i + 1]));
}

/** Stores the even keys, asks for the odd ones, and codes the array. */
function measure(keys: readonly Uint8Array[], placesOf: Places, k: number, m: number): Cell {
  const words = new Uint32Array(Math.ceil(m / 32));
  const places = new Float64Array(k);
  for (let i = 0; i < keys.length; i += 2) {
    placesOf(keys[i], k, m, places);
    for (const place of places) words[place >>> 5] |= 1 << (place & 31);
  }
  const has = (key: Uint8Array) => {
    placesOf(key, k, m, places);
    return places.every((place) => ((words[place >>> 5] >>> (place & 31)) & 1) === 1);
  };
  if (!has(keys[0])) throw new Error('Cannot go on: expected a stored key to be found, got a false negative');
  let wrong = 0;
  for (let i = 1; i < keys.length; i += 2) if (has(keys[i])) wrong++;
  const asked = keys.length / 2;
  return { rate: wrong / asked, bitsPerKey: (8 * encodeBits(words, m, 'small').length) / asked };
}

function randomSize(m: number, k: number): Measure {
  const sizes = Array.from({ length: RANDOM_ARRAYS }, (_, array) => {
    const words = new Uint32Array(Math.ceil(m / 32));
    for (const random of randomWords(1000 + array, k * n)) {
      const place = Math.floor((random * m) / 2 ** 32);
      words[place >>> 5] |= 1 << (place & 31);
    }
    return (8 * encodeBits(words, m, 'small').length) / n;
  });
  const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  const variance = sizes.reduce((sum, size) => sum + (size - mean) ** 2, 0) / (sizes.length - 1);
  return { mean, deviation: Math.sqrt(variance) };
}

function mark(value: number, { mean, deviation }: Measure): string {
  if (Math.abs(value - mean) <= SIGMAS * deviation) return '';
  return value > mean ? ' ▲' : ' ▼';
}

function percent(rate: number): string {
  return `${(100 * rate).toFixed(2)} %`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
