/**
 * The simplest trace for tests of simulated fleets: requests by Zipf's law at equal distances of
 * time, for nodes by chance. It is a generator, so a test can ask for a million of them.
 */

import type { TraceRequest } from '../../src/simulation/index.ts';

export interface SmallZipf {
  readonly seed: number;
  readonly objects: number;
  readonly requests: number;
  readonly nodes: number;
  readonly exponent?: number;
  /** Requests per second of each node. */
  readonly rate?: number;
  /** Bytes of an object, by its number. Default 1000 for all. */
  readonly bytesOf?: (object: number) => number;
}

export function smallZipf(options: SmallZipf): Iterable<TraceRequest> {
  return { [Symbol.iterator]: () => zipfRequests(options) };
}

function* zipfRequests(options: SmallZipf): Generator<TraceRequest> {
  const { seed, objects, requests, nodes, exponent = 0.8, rate = 100, bytesOf = () => 1000 } = options;
  const sums = new Float64Array(objects);
  for (let i = 0, sum = 0; i < objects; i++) sums[i] = sum += (i + 1) ** -exponent;
  const random = mulberry32(seed);
  // A bijection of the ranks, so that neither the number nor its parity says how popular one is.
  const step = stepFor(objects);
  for (let i = 0; i < requests; i++) {
    const rank = firstAtLeast(sums, random() * sums[objects - 1]!);
    const object = (rank * step + seed) % objects;
    const node = Math.floor(random() * nodes);
    yield { timeMs: (1000 * i) / (rate * nodes), node, object, bytes: bytesOf(object) };
  }
}

function firstAtLeast(sums: Float64Array, wanted: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A factor near 0.618 of the number that has no divisor in common with it. */
function stepFor(objects: number): number {
  let step = Math.max(1, Math.round(0.618 * objects));
  while (divisor(step, objects) !== 1) step++;
  return step;
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}
