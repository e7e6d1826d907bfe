/**
 * Eviction policies for the memory store: hit ratio and cost of a hit, on traces like
 * those of the web.
 *
 *     cd bench && node cache/eviction.mjs [--quick]
 *
 * The traces are made, with a seed. Popularity follows Zipf's law with the exponents 0.7 and 0.9
 * (Breslau et al., INFOCOM 1999, found 0.64 to 0.83 for web proxies; content networks lie higher);
 * to that come one-hit wonders, keys that are asked for once and never again (most objects of a
 * content network are: Maggs and Sitaraman, "Algorithmic nuggets in content delivery", CCR 2015);
 * and scans, 20,000 new keys in a row, five times over the trace. Popularity drifts: each 1,000
 * requests a popular key dies and another takes its place. Sizes follow a log-normal law with a
 * median of 8 KB, cut at 1 MB.
 *
 * Compared: FIFO, LRU, segmented LRU (80 % protected), W-TinyLFU (1 % window, segmented main part,
 * admission by the library's Count-Min sketch, halved by starting again each 10 times the entries),
 * S3-FIFO with an exact ghost and without the bound on work, and S3-FIFO as the store has it
 * (packages/cache/src/store/memory/s3-fifo.ts, compiled here). Bytes are the capacity for all of
 * them; the ratio is of requests.
 *
 * Then `find` and `bodyInMemory` of the store, from a thousand to a million entries.
 */

import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CountMinSketch } from 'bloomery';
import { build } from 'esbuild';

const here = (/** @type {string} */ relative) => fileURLToPath(new URL(relative, import.meta.url));
const quick = process.argv.includes('--quick');
const REQUESTS = quick ? 200_000 : 1_000_000;
const OBJECTS = 100_000;

mkdirSync(here('../build'), { recursive: true });
await build({
  stdin: {
    contents: `export * from './s3-fifo.ts'; export * from './memory-store.ts';`,
    resolveDir: here('../../packages/cache/src/store/memory'),
    loader: 'ts',
  },
  outfile: here('../build/memory-store.mjs'),
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
});
/** @typedef {typeof import('../../packages/cache/src/store/memory/s3-fifo.ts')} Fifo */
/** @typedef {typeof import('../../packages/cache/src/store/memory/memory-store.ts')} Memory */
const built = new URL('../build/memory-store.mjs', import.meta.url).href;
const { S3Fifo, markUsed, MemoryStore } = /** @type {Fifo & Memory} */ (await import(built));

// ---------------------------------------------------------------- traces

/** @param {number} seed */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Numbers of objects, one for each request.
 * @param {{ exponent: number, wonders: number, scans: boolean }} wish
 */
function makeTrace({ exponent, wonders, scans }) {
  const random = generator(42);
  const cumulative = new Float64Array(OBJECTS);
  let sum = 0;
  for (let i = 0; i < OBJECTS; i++) cumulative[i] = sum += 1 / (i + 1) ** exponent;
  const objectOfRank = Uint32Array.from({ length: OBJECTS }, (_, i) => i);
  let fresh = OBJECTS;
  const trace = new Uint32Array(REQUESTS);
  const scanAt = new Set(scans ? [1, 2, 3, 4, 5].map((i) => Math.floor((i * REQUESTS) / 6)) : []);
  for (let i = 0; i < REQUESTS; i++) {
    if (scanAt.has(i)) for (let j = 0; j < 20_000 && i < REQUESTS - 1; j++) trace[i++] = fresh++;
    if (i % 1000 === 0) objectOfRank[Math.floor(random() * 2000)] = fresh++;
    if (random() < wonders) {
      trace[i] = fresh++;
      continue;
    }
    const point = random() * sum;
    let low = 0;
    let high = OBJECTS - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cumulative[middle] < point) low = middle + 1;
      else high = middle;
    }
    trace[i] = objectOfRank[low];
  }
  const sizes = new Uint32Array(fresh);
  for (let i = 0; i < fresh; i++) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    sizes[i] = Math.min(1_000_000, Math.max(100, 8192 * Math.exp(1.2 * normal)));
  }
  const seen = new Uint8Array(fresh);
  let workingBytes = 0;
  for (const object of trace) {
    if (seen[object] === 0) workingBytes += sizes[object];
    seen[object] = 1;
  }
  return { trace, sizes, workingBytes };
}

// ---------------------------------------------------------------- policies:
// hit(key) → boolean, add(key, size)

/** @typedef {{ key: string, size: number, previous: QueueNode, next: QueueNode }} QueueNode */
/** @typedef {{ hit(key: string): boolean, add(key: string, size: number): void }} Policy */

/** A map and a list through its nodes, oldest first. */
class Queue {
  /** @type {Map<string, QueueNode>} */
  map = new Map();
  bytes = 0;
  #ends = /** @type {QueueNode} */ ({ key: '', size: 0 });
  constructor() {
    this.#ends.previous = this.#ends.next = this.#ends;
  }
  /**
   * @param {string} key
   * @param {number} size
   */
  push(key, size) {
    const node = { key, size, previous: this.#ends.previous, next: this.#ends };
    node.previous.next = this.#ends.previous = node;
    this.map.set(key, node);
    this.bytes += size;
  }
  /** @param {string} key */
  remove(key) {
    const node = this.map.get(key);
    if (node === undefined) return undefined;
    this.map.delete(key);
    node.previous.next = node.next;
    node.next.previous = node.previous;
    this.bytes -= node.size;
    return node.size;
  }
  get oldest() {
    return this.map.size === 0 ? undefined : this.#ends.next.key;
  }
  /** @returns {[key: string, size: number]} */
  shift() {
    const { key, size } = this.#ends.next;
    this.remove(key);
    return [key, size];
  }
  /** @param {string} key */
  touch(key) {
    const node = this.map.get(key);
    if (node === undefined) return false;
    node.previous.next = node.next;
    node.next.previous = node.previous;
    node.previous = this.#ends.previous;
    node.next = this.#ends;
    node.previous.next = this.#ends.previous = node;
    return true;
  }
}

/** @type {Record<string, (capacity: number) => Policy>} */
const policies = {
  FIFO: (capacity) => {
    const queue = new Queue();
    return {
      hit: (key) => queue.map.has(key),
      add(key, size) {
        queue.push(key, size);
        while (queue.bytes > capacity) queue.shift();
      },
    };
  },
  LRU: (capacity) => {
    const queue = new Queue();
    return {
      hit: (key) => queue.touch(key),
      add(key, size) {
        queue.push(key, size);
        while (queue.bytes > capacity) queue.shift();
      },
    };
  },
  'segmented LRU': (capacity) => {
    const { hit, probation, main } = segmented(capacity * 0.8);
    return {
      hit,
      add(key, size) {
        probation.push(key, size);
        while (probation.bytes + main.bytes > capacity) (probation.map.size > 0 ? probation : main).shift();
      },
    };
  },
  'W-TinyLFU': (capacity) => {
    const windowLimit = capacity * 0.01;
    const mainLimit = capacity - windowLimit;
    const window = new Queue();
    const { hit: hitMain, probation, main } = segmented(mainLimit * 0.8);
    const entries = capacity / 8192;
    const make = () =>
      new CountMinSketch({ width: Math.ceil(entries * 2), depth: 4, update: 'conservative' });
    let sketch = make();
    let older = make();
    let counted = 0;
    const count = (/** @type {string} */ key) => {
      sketch.add(key);
      if (++counted > 5 * entries) {
        [older, sketch] = [sketch, older];
        sketch.clear();
        counted = 0;
      }
    };
    const frequency = (/** @type {string} */ key) => sketch.count(key) + older.count(key) / 2;
    return {
      hit(key) {
        count(key);
        return window.touch(key) || hitMain(key);
      },
      add(key, size) {
        window.push(key, size);
        while (window.bytes > windowLimit) {
          const [candidate, candidateSize] = window.shift();
          let admitted = true;
          while (probation.bytes + main.bytes + candidateSize > mainLimit) {
            const queue = probation.map.size > 0 ? probation : main;
            const victim = queue.oldest;
            if (victim === undefined || frequency(candidate) <= frequency(victim)) {
              admitted = false;
              break;
            }
            queue.remove(victim);
          }
          if (admitted) probation.push(candidate, candidateSize);
        }
      },
    };
  },
  'S3-FIFO, exact': (capacity) => {
    const small = new Queue();
    const main = new Queue();
    const ghost = new Queue();
    /** @type {Map<string, number>} */
    const uses = new Map();
    function evictOne() {
      if (small.bytes > capacity * 0.1 || main.map.size === 0) {
        const [key, size] = small.shift();
        if ((uses.get(key) ?? 0) >= 1) {
          uses.set(key, 0);
          main.push(key, size);
        } else {
          uses.delete(key);
          ghost.push(key, 1);
          while (ghost.map.size > uses.size) ghost.shift();
        }
        return;
      }
      const [key, size] = main.shift();
      const used = uses.get(key) ?? 0;
      if (used > 0) {
        uses.set(key, used - 1);
        main.push(key, size);
      } else {
        uses.delete(key);
      }
    }
    return {
      hit(key) {
        const n = uses.get(key);
        if (n === undefined) return false;
        if (n < 3) uses.set(key, n + 1);
        return true;
      },
      add(key, size) {
        uses.set(key, 0);
        (ghost.remove(key) !== undefined ? main : small).push(key, size);
        while (small.bytes + main.bytes > capacity) evictOne();
      },
    };
  },
  'S3-FIFO, ours': (capacity) => {
    const policy = new S3Fifo({ expectedEntries: capacity / 4096 });
    /** @type {Map<string, import('../../packages/cache/src/store/memory/s3-fifo.ts').QueueEntry>} */
    const entries = new Map();
    return {
      hit(key) {
        const entry = entries.get(key);
        if (entry === undefined) return false;
        markUsed(entry);
        return true;
      },
      add(key, cost) {
        const entry = { key, cost, uses: 0, queue: undefined, previous: undefined, next: undefined };
        while (policy.bytes + cost > capacity - policy.ghostBytes) entries.delete(policy.evict()?.key ?? '');
        entries.set(key, entry);
        policy.add(entry);
      },
    };
  },
};

/** @param {number} protectedLimit */
function segmented(protectedLimit) {
  const probation = new Queue();
  const main = new Queue();
  /** @param {string} key */
  function hit(key) {
    if (main.touch(key)) return true;
    const size = probation.remove(key);
    if (size === undefined) return false;
    main.push(key, size);
    while (main.bytes > protectedLimit) probation.push(...main.shift());
    return true;
  }
  return { hit, probation, main };
}

// ---------------------------------------------------------------- runs

const traces = {
  'Zipf 0.7': { exponent: 0.7, wonders: 0, scans: false },
  'Zipf 0.9': { exponent: 0.9, wonders: 0, scans: false },
  'Zipf 0.9, 20 % one-hit wonders': { exponent: 0.9, wonders: 0.2, scans: false },
  'Zipf 0.9, 20 % one-hit wonders, scans': { exponent: 0.9, wonders: 0.2, scans: true },
};
const names = Object.keys(policies);
console.log(`Hit ratio in %, ${REQUESTS} requests; capacity as a share of all distinct bytes asked for\n`);
console.log(`| trace | capacity | ${names.join(' | ')} |\n|---|---|${names.map(() => '---:|').join('')}`);
for (const [label, wish] of Object.entries(traces)) {
  const { trace, sizes, workingBytes } = makeTrace(wish);
  const keys = Array.from(sizes, (_, i) => `http://example.org/objects/${i}`);
  for (const share of [0.01, 0.05, 0.2]) {
    const capacity = Math.floor(workingBytes * share);
    const row = names.map((name) => {
      const policy = policies[name](capacity);
      let hits = 0;
      for (const object of trace) {
        if (policy.hit(keys[object])) hits++;
        else policy.add(keys[object], sizes[object]);
      }
      return ((100 * hits) / REQUESTS).toFixed(2);
    });
    console.log(`| ${label} | ${share * 100} % | ${row.join(' | ')} |`);
  }
}
console.log('\nA use of one of 10,000 entries, ns (least of 7 rounds):');
{
  const keys = Array.from({ length: 10_000 }, (_, i) => `http://example.org/objects/${i}`);
  for (const name of names) {
    const policy = policies[name](1e9);
    for (const key of keys) policy.add(key, 8192);
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 7; round++) {
      const begin = process.hrtime.bigint();
      let hits = 0;
      for (let i = 0; i < 200_000; i++) if (policy.hit(keys[(i * 7919) % 10_000])) hits++;
      if (hits !== 200_000) throw new Error(`${name} lost some`);
      least = Math.min(least, Number(process.hrtime.bigint() - begin) / 200_000);
    }
    console.log(`  ${name}: ${least.toFixed(0)}`);
  }
}

console.log('\nThe store: ns for find + bodyInMemory at random keys, and for a key that is not there');
for (const count of quick ? [1_000, 100_000] : [1_000, 10_000, 100_000, 1_000_000]) {
  const store = new MemoryStore({ capacityBytes: count * 4096 });
  const keys = Array.from({ length: count }, (_, i) => `http://example.org/objects/${i}`);
  for (const [i, key] of keys.entries()) store.put(response(key, i), new Uint8Array(64));
  const random = generator(1);
  const order = Uint32Array.from({ length: 1 << 20 }, () => random() * count);
  const absent = Array.from({ length: 1 << 16 }, (_, i) => `http://example.org/absent/${i}`);
  const ns = { hit: Number.POSITIVE_INFINITY, miss: Number.POSITIVE_INFINITY };
  let bytes = 0;
  for (let round = 0; round < 7; round++) {
    let begin = process.hrtime.bigint();
    for (const i of order) bytes += store.bodyInMemory(store.find(keys[i])[0])?.length ?? 0;
    ns.hit = Math.min(ns.hit, Number(process.hrtime.bigint() - begin) / order.length);
    begin = process.hrtime.bigint();
    for (let i = 0; i < order.length; i++) bytes += store.find(absent[i & 0xffff]).length;
    ns.miss = Math.min(ns.miss, Number(process.hrtime.bigint() - begin) / order.length);
  }
  if (bytes !== 7 * order.length * 64) throw new Error('Not all were found');
  console.log(`${String(count).padStart(9)} entries: hit ${ns.hit.toFixed(0)}, miss ${ns.miss.toFixed(0)}`);
}

/**
 * @param {string} key
 * @param {number} time
 */
function response(key, time) {
  return {
    key,
    status: 200,
    statusText: 'OK',
    headers: ['Content-Type', 'text/plain'],
    varied: [],
    requestTime: time,
    responseTime: time,
    initialAgeMs: 0,
    lifetimeMs: 60_000,
    flags: 0,
    staleWhileRevalidateMs: 0,
    staleIfErrorMs: 0,
    etag: null,
    lastModified: null,
    bodyLength: 64,
    range: null,
  };
}
