/** The parts measured by kernel.ts: `node kernel-parts.mjs PART` prints one table as JSON. */

import { parquetHash } from '../../packages/bloomery/dist/hashing/xxh64-scheme.js';
import {
  BlockedBloomFilter,
  BloomFilter,
  hashKey,
  hashKeys,
  type KeyHashes,
  type PackedKeys,
  packKeys,
  useKernel,
} from '../../packages/bloomery/dist/index.js';
import { writeKey } from '../../packages/bloomery/dist/keys/key.js';
import type { Table } from '../shared/report.ts';
import { median } from '../shared/statistics.ts';

interface Variant {
  /** Row and column of the result. */
  readonly row: string;
  readonly column: string;
  readonly keys: number;
  readonly run: () => unknown;
}

const ROUNDS = 41;

/** Medians of interleaved rounds, after a warm-up in which V8 and the WebAssembly tiers settle. */
function table(title: string, first: string, variants: readonly Variant[], notes: string[]): Table {
  const times = variants.map(() => [] as number[]);
  for (let round = -10; round < ROUNDS; round++) {
    variants.forEach(({ keys, run }, i) => {
      run(); // the variants before this one have used the caches
      const start = performance.now();
      const result = run();
      const ns = ((performance.now() - start) * 1e6) / keys;
      if (round >= 0) times[i].push(ns);
      keep(result);
    });
  }
  const columns = [...new Set(variants.map(({ column }) => column))];
  const rows = [...new Set(variants.map(({ row }) => row))].map((row) => [
    row,
    ...columns.map((column) => {
      const at = variants.findIndex((variant) => variant.row === row && variant.column === column);
      return at < 0 ? '' : `${median(times[at]).toFixed(1)} (${Math.min(...times[at]).toFixed(1)})`;
    }),
  ]);
  return {
    title,
    head: [first, ...columns],
    rows,
    notes: ['ns per key: median of the rounds (fastest round)', ...notes],
  };
}

/** Results end here, so that nothing is optimised away. */
function keep(result: unknown): void {
  if (result === keep) throw new Error('never');
}

const KEYS = 4096;

function text(length: number, i: number): string {
  const digits = (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
  const long = digits.repeat(Math.ceil(length / 8)).slice(0, length);
  return Buffer.from(long, 'latin1').toString('latin1'); // flat, see keys.ts
}

function texts(length: number): string[] {
  return Array.from({ length: KEYS }, (_, i) => text(length, i));
}

function textsBetween(shortest: number, longest: number): string[] {
  const span = longest - shortest + 1;
  return Array.from({ length: KEYS }, (_, i) =>
    text(shortest + ((Math.imul(i, 0x85ebca6b) >>> 16) % span), i),
  );
}

/**
 * How a short string gets into memory: a loop over charCodeAt, which costs by the character, or
 * encodeInto, which costs a call out of V8. Where the lines cross is where SHORT_TEXT in
 * keys/key.ts belongs.
 */
function textPart(): Table {
  const words = new Int32Array(1024);
  const bytes = new Uint8Array(words.buffer);
  const encoder = new TextEncoder();
  const variants = [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48].flatMap((length): Variant[] => {
    const keys = texts(length);
    const each = (write: (key: string) => number) => () => {
      let sum = 0;
      for (let i = 0; i < keys.length; i++) sum += write(keys[i]) + words[0];
      return sum;
    };
    const row = `${length} characters`;
    return [
      { row, column: 'charCodeAt loop', keys: KEYS, run: each((key) => writeByLoop(key, words)) },
      { row, column: 'encodeInto', keys: KEYS, run: each((key) => encoder.encodeInto(key, bytes).written) },
      {
        row,
        column: 'writeKey of the library',
        keys: KEYS,
        run: each((key) => writeKey(key, { bytes, words })),
      },
    ];
  });
  return table('From a string to bytes', 'string', variants, []);
}

/** The loop of keys/key.ts, without its limit. */
function writeByLoop(key: string, words: Int32Array): number {
  const length = key.length;
  let i = 0;
  let seen = 0;
  for (; i + 4 <= length; i += 4) {
    const a = key.charCodeAt(i);
    const b = key.charCodeAt(i + 1);
    const c = key.charCodeAt(i + 2);
    const d = key.charCodeAt(i + 3);
    seen |= a | b | c | d;
    words[i >> 2] = a | (b << 8) | (c << 16) | (d << 24);
  }
  return seen < 128 ? length : -1;
}

function hashPart(kernel: 'wasm' | 'javascript'): Table {
  useKernel(kernel);
  // Fixed lengths, and lengths that vary from key to key, which make a hash guess wrong where it
  // branches on them.
  const lengths = [5, 12, 20, 24, 32, 50, 100, 1000, [8, 16], [44, 56], [5, 60]] as const;
  const variants = lengths.flatMap((length): Variant[] => {
    const strings = typeof length === 'number' ? texts(length) : textsBetween(length[0], length[1]);
    const packed = packKeys(strings);
    const lines = new TextEncoder().encode(`${strings.join('\n')}\n`);
    const row = typeof length === 'number' ? `${length} bytes` : `${length[0]} to ${length[1]} bytes`;
    const tiny = BloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.5, maxHashes: 1 });
    return [
      { row, column: 'hashKey, one string a call', keys: KEYS, run: () => hashEach(strings) },
      { row, column: 'hashKeys, array of strings', keys: KEYS, run: () => hashKeys(strings) },
      { row, column: 'hashKeys, packed', keys: KEYS, run: () => hashKeys(packed) },
      { row, column: 'the same, XXH64', keys: KEYS, run: () => hashKeys(packed, parquetHash()) },
      { row, column: 'hasLines of a tiny filter', keys: KEYS, run: () => tiny.hasMany({ lines: lines }) },
    ];
  });
  return table(`Hash only, ${kernel} kernel`, 'key', variants, []);
}

function hashEach(strings: readonly string[]): number {
  let sum = 0;
  for (let i = 0; i < strings.length; i++) sum ^= hashKey(strings[i]).low;
  return sum;
}

/** Probes only: the hashes are random numbers. */
function probePart(kernel: 'wasm' | 'javascript'): Table {
  useKernel(kernel);
  const variants: Variant[] = [];
  for (const layout of ['classic', 'partitioned', 'blocked', 'split-block'] as const) {
    for (const capacity of [1e3, 1e4, 1e5, 1e6, 1e7]) {
      const options = { capacity, falsePositiveRate: 0.01 };
      const filter =
        layout === 'classic' || layout === 'partitioned'
          ? BloomFilter.forCapacity({ ...options, layout })
          : BlockedBloomFilter.forCapacity({ ...options, layout });
      const stored = randomHashes(filter, capacity, 1);
      filter.addMany(stored);
      const asked = 8192;
      const chunks = Array.from({ length: 16 }, (_, i) => {
        const start = Math.floor((i * Math.max(0, capacity - asked)) / 15);
        const words = stored.words.slice(2 * start, 2 * (start + asked));
        return {
          hit: { ...stored, words, length: words.length / 2 },
          miss: randomHashes(filter, words.length / 2, 1000 + i),
        };
      });
      for (const kind of ['hit', 'miss'] as const) {
        let next = 0;
        const run = () => filter.hasMany(chunks[next++ % chunks.length][kind]);
        variants.push({ row: layout, column: `${kind} ${capacity}`, keys: chunks[0].hit.length, run });
      }
    }
  }
  return table(`Probe only, ${kernel} kernel, hashes computed before`, 'layout', variants, []);
}

function randomHashes(filter: BloomFilter | BlockedBloomFilter, length: number, seed: number): KeyHashes {
  const words = new Int32Array(2 * length);
  let state = seed;
  for (let i = 0; i < words.length; i++) {
    // xorshift32, and a multiplication so that neighbours have nothing in common
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = Math.imul(state, 0x9e3779b1);
  }
  return { scheme: filter.scheme, words, length };
}

/**
 * The cost and the gain of moving into WebAssembly memory. A filter that was read from bytes is
 * asked with batches of several sizes: the first call may move it, the later ones profit, unless
 * the batch is too small to pay.
 */
function residencyPart(): Table {
  useKernel('wasm');
  residencyRows(); // twice: the first time, V8 compiles while the clock runs
  return {
    title: 'Residency: batches on a filter that was just read (blocked, packed keys of 16 bytes)',
    head: ['keys in the filter', 'batch', 'first call', 'second', 'third', 'later (median)'],
    rows: residencyRows(),
    notes: ['ns per key. Where later calls stay slow, no batch was large enough to pay for the move.'],
  };
}

function residencyRows(): string[][] {
  const rows: string[][] = [];
  for (const capacity of [1e4, 1e6, 1e7]) {
    const source = BlockedBloomFilter.forCapacity({ capacity, falsePositiveRate: 0.01 });
    source.addMany(randomHashes(source as BlockedBloomFilter, capacity, 1));
    const frame = source.encode();
    for (const batch of [1024, 8192, 65536, 524288]) {
      const keys: PackedKeys = packKeys(Array.from({ length: batch }, (_, i) => text(16, i)));
      const filter = BlockedBloomFilter.decode(frame);
      const calls = Array.from({ length: 9 }, () => {
        const start = performance.now();
        keep(filter.hasMany(keys));
        return ((performance.now() - start) * 1e6) / batch;
      });
      rows.push([
        String(capacity),
        String(batch),
        ...calls.slice(0, 3).map((ns) => ns.toFixed(1)),
        median(calls.slice(3)).toFixed(1),
      ]);
    }
  }
  return rows;
}

const parts: Record<string, () => Table> = {
  text: textPart,
  'hash wasm': () => hashPart('wasm'),
  'hash javascript': () => hashPart('javascript'),
  'probe wasm': () => probePart('wasm'),
  'probe javascript': () => probePart('javascript'),
  residency: residencyPart,
};

console.log(JSON.stringify(parts[process.argv[2]]()));
