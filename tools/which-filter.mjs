// Measures the figures of docs/guide/which-filter.md that do not depend on the machine. Every
// structure is filled with the same 100,000 keys, its memory is divided by their number, and
// 300,000 other keys are asked for. Without arguments it compares the page with the measurements;
// `--write` writes the page.

import { fileURLToPath } from 'node:url';
import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  hashKeys,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';
import { atLeastOne } from 'bloomery/math';
import { keepPart } from './written-part.mjs';

const page = fileURLToPath(new URL('../docs/guide/which-filter.md', import.meta.url));
const BEGIN = '<!-- measured: written by tools/which-filter.mjs -->';
const END = '<!-- end of measured -->';
const KEYS = 100_000;
const STRANGERS = 300_000;
const RATE = 0.01;

const keys = hashKeys(numbered('key', KEYS));
const strangers = hashKeys(numbered('stranger', STRANGERS));
const asked = { capacity: KEYS, falsePositiveRate: RATE };

/** @typedef {ReturnType<typeof hashKeys>} Hashes */

/**
 * A structure as far as the table asks about it.
 * @typedef {object} Structure
 * @property {Hashes['scheme']} scheme
 * @property {number} byteLength
 * @property {(batch: Hashes) => Uint8Array} hasMany
 * @property {() => Uint8Array} encode
 */

/**
 * Rows: a name, the requested rate, and a function that fills its structure.
 * @type {[name: string, rate: number, make: () => Structure][]}
 */
const ROWS = [
  ['`BloomFilter`', RATE, () => filled(BloomFilter.forCapacity(asked))],
  ['`BlockedBloomFilter`', RATE, () => filled(BlockedBloomFilter.forCapacity(asked))],
  [
    '`BlockedBloomFilter`, split-block',
    RATE,
    () => filled(BlockedBloomFilter.forCapacity({ ...asked, layout: 'split-block' }), rehash),
  ],
  ['`StaticFilter`, 8 bits', 1 / 256, () => StaticFilter.from(keys)],
  ['`StaticFilter`, 16 bits', 1 / 65536, () => StaticFilter.from(keys, { fingerprintBits: 16 })],
  ['`CountingBloomFilter`', RATE, () => filled(CountingBloomFilter.forCapacity(asked))],
  [
    '`CountingBloomFilter`, changes tracked',
    RATE,
    () => filled(CountingBloomFilter.forCapacity({ ...asked, trackChanges: true })),
  ],
  ['`SpectralBloomFilter`', RATE, () => filled(SpectralBloomFilter.forCapacity(asked))],
  [
    '`BloomierFilter`, values of 8 bits',
    1 / 128,
    () => BloomierFilter.fromColumns(keys, byteValues(), { valueBits: 8, falsePositiveRate: RATE }),
  ],
  [
    '`ScalableBloomFilter`, begun at 1000 keys',
    RATE,
    () => filled(new ScalableBloomFilter({ falsePositiveRate: RATE, initialCapacity: 1000 })),
  ],
  [
    '`RotatingBloomFilter`, 4 generations',
    RATE,
    () => rotated(new RotatingBloomFilter({ capacity: KEYS / 4, falsePositiveRate: RATE, generations: 4 })),
  ],
  ['`HashList`', RATE, () => filled(HashList.forCapacity(asked))],
  [
    '`AttenuatedBloomFilter`, 3 levels, each full',
    atLeastOne(RATE, 3),
    () => levelled(AttenuatedBloomFilter.forCapacity({ ...asked, levels: 3 })),
  ],
];

const table = [
  '| structure | bits per key | rate asked | rate measured | bytes of its frame |',
  '|---|---|---|---|---|',
  ...ROWS.map(([name, rate, make]) => {
    const structure = make();
    if (!structure.hasMany(own(structure, keys)).every((answer) => answer === 1)) {
      throw new Error(`${name} has lost a key`);
    }
    const found = structure.hasMany(own(structure, strangers)).reduce((sum, answer) => sum + answer, 0);
    const bits = ((8 * structure.byteLength) / KEYS).toFixed(2);
    return `| ${name} | ${bits} | ${percent(rate)} | ${percent(found / STRANGERS)} | ${structure.encode().length.toLocaleString('en')} |`;
  }),
  '',
  ...sketches(),
].join('\n');

if (keepPart({ page, begin: BEGIN, end: END, text: table, tool: 'tools/which-filter.mjs' }))
  console.log(`which-filter: ${ROWS.length} structures measured as the page says`);
else process.exitCode = 1;

/** Structures whose size does not follow the number of keys. */
function sketches() {
  const stream = zipf(200_000, 20_000);
  const sketch = CountMinSketch.forError({ epsilon: 0.001, delta: 0.01 });
  const careful = CountMinSketch.forError({ epsilon: 0.001, delta: 0.01, update: 'conservative' });
  sketch.addMany(stream);
  careful.addMany(stream);
  /** @type {Map<string, number>} */
  const truth = new Map();
  for (const key of stream) truth.set(key, (truth.get(key) ?? 0) + 1);
  const exact = [...truth.values()];
  const meanError = (/** @type {ArrayLike<number>} */ counts) =>
    Array.from(counts).reduce((sum, count, i) => sum + count - exact[i], 0) / truth.size;
  const heavy = HeavyHitters.forThreshold({ threshold: 0.01 });
  heavy.addMany(stream);
  const trulyHeavy = [...truth.values()].filter((count) => count >= 0.01 * stream.length).length;
  return [
    `On a Zipf stream of ${stream.length.toLocaleString('en')} additions to ${truth.size.toLocaleString('en')} keys:`,
    '',
    '| sketch | bytes | measured |',
    '|---|---|---|',
    `| \`CountMinSketch\`, ε = 0.001, δ = 0.01, plain | ${sketch.byteLength.toLocaleString('en')} | mean error ${meanError(sketch.countMany([...truth.keys()])).toFixed(2)} |`,
    `| the same, conservative | ${careful.byteLength.toLocaleString('en')} | mean error ${meanError(careful.countMany([...truth.keys()])).toFixed(2)} |`,
    `| \`HeavyHitters\`, threshold 1 % | ${heavy.byteLength.toLocaleString('en')} | ${trulyHeavy} keys are heavy, ${heavy.list().length} listed |`,
  ];
}

/**
 * Adds the keys, in the form that the structure takes.
 * @template {Structure & { addMany(batch: Hashes): unknown }} T
 * @param {T} structure
 * @param {(batch: Hashes, structure: Structure) => Hashes} [form]
 */
function filled(structure, form = (batch) => batch) {
  structure.addMany(form(keys, structure));
  return structure;
}

/**
 * Fills each generation with a quarter of the keys.
 * @param {RotatingBloomFilter} structure
 */
function rotated(structure) {
  for (let part = 0; part < 4; part++) {
    if (part > 0) structure.rotate();
    const words = keys.words.subarray((part * keys.words.length) / 4, ((part + 1) * keys.words.length) / 4);
    structure.addMany({ scheme: keys.scheme, words, length: words.length / 2 });
  }
  return structure;
}

/**
 * Adds the keys at distance 0, and as many others at each greater distance.
 * @param {AttenuatedBloomFilter} structure
 */
function levelled(structure) {
  structure.addMany(keys);
  for (let distance = 1; distance < 3; distance++)
    structure.addMany(numbered(`far ${distance}`, KEYS), distance);
  return structure;
}

/**
 * The hashes in the scheme of the structure: Parquet's layout has its own hash.
 * @param {Structure} structure
 * @param {Hashes} batch
 */
function own(structure, batch) {
  return structure.scheme.id === batch.scheme.id ? batch : rehash(batch, structure);
}

/**
 * @param {Hashes} batch
 * @param {Structure} structure
 */
function rehash(batch, structure) {
  return hashKeys(numbered(batch === keys ? 'key' : 'stranger', batch.length), structure.scheme);
}

function byteValues() {
  return Uint8Array.from({ length: KEYS }, (_, i) => i);
}

/**
 * @param {string} name
 * @param {number} count
 */
function numbered(name, count) {
  return Array.from({ length: count }, (_, i) => `${name} ${i}`);
}

/**
 * A fixed sequence of keys, in which key r comes with a probability proportional to 1/r.
 * @param {number} length
 * @param {number} distinct
 */
function zipf(length, distinct) {
  const sums = new Float64Array(distinct);
  for (let r = 0, sum = 0; r < distinct; r++) sums[r] = sum += 1 / (r + 1);
  let state = 1;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const point = (state / 2 ** 32) * sums[distinct - 1];
    let [low, high] = [0, distinct - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < point) low = middle + 1;
      else high = middle;
    }
    return `flow ${low}`;
  });
}

/** @param {number} rate */
function percent(rate) {
  return `${(100 * rate).toPrecision(3)} %`;
}
