/**
 * Probing of batches, which all filters share: chunks of hashes in, answers out. A chunk, or a
 * single key, is probed where the bits are: in WebAssembly if the filter is there or is worth
 * moving there, otherwise by the JavaScript twin.
 */

import type { HashScheme } from '../../hashing/hash-scheme.ts';
import { chunkHashes, countOf, eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import { hashInto, hashOut } from '../../kernel/batches/hash-key.ts';
import type { BitStore } from '../../kernel/bits/bit-store.ts';
import { CHUNK_KEYS } from '../../kernel/wasm/chunk.ts';
import { wasmKernel } from '../../kernel/wasm/kernel-choice.ts';
import type { WasmKernel } from '../../kernel/wasm/wasm-kernel.ts';
import { WASM_POSSIBLE } from '../../kernel/wasm/wasm-possible.ts';
import type { Key } from '../../keys/key.ts';
import type { FillGauge } from './fill-gauge.ts';

/** The probes of one layout, in both kernels. The halves of a hash are int32. */
export interface Prober {
  has(words: Uint32Array, low: number, high: number): boolean;
  add(words: Uint32Array, low: number, high: number): boolean;
  /**
   * The same for a chunk of hashes in the WebAssembly kernel. Null exactly if the program was
   * bundled without it.
   */
  readonly inWasm: WasmProber | null;
}

interface WasmProber {
  /** Looks up one key: 1 or 0, or -1 if it has to be hashed and looked up in JavaScript. */
  hasKey(wasm: WasmKernel, key: Key, address: number): number;
  /** Leaves one byte per key in the kernel's results. */
  has(wasm: WasmKernel, count: number, address: number): void;
  /** Returns how many keys changed a bit. */
  add(wasm: WasmKernel, count: number, address: number): number;
}

/**
 * Looks up one key, in WebAssembly if the filter lives there. This is a constant with two
 * alternatives and not a function with a condition: esbuild drops the branch of the condition, but
 * keeps a function that only this branch called.
 */
export const hasKey: (store: BitStore, prober: Prober, key: Key, scheme: HashScheme) => boolean =
  WASM_POSSIBLE
    ? (store, prober, key, scheme) => {
        const wasm = wasmKernel();
        if (wasm === null || prober.inWasm === null) return hasKeyOutside(store, prober, key, scheme);
        const address = wasm.admit(store, 1, 0);
        const answer = address === 0 ? -1 : prober.inWasm.hasKey(wasm, key, address);
        return answer < 0 ? hasKeyOutside(store, prober, key, scheme) : answer === 1;
      }
    : hasKeyOutside;

function hasKeyOutside({ words }: BitStore, prober: Prober, key: Key, scheme: HashScheme): boolean {
  hashInto(key, scheme);
  return prober.has(words, hashOut[0], hashOut[1]);
}

/**
 * The kernel, if the store is in its memory or has been used often enough to move there now;
 * otherwise null.
 */
export function residence(store: BitStore): WasmKernel | null {
  const wasm = wasmKernel();
  return wasm !== null && wasm.admit(store, 1, 0) !== 0 ? wasm : null;
}

/** Adds a key by the halves of its hash; returns whether a bit changed. The gauge may refuse it. */
export function addOne(
  { words }: BitStore,
  prober: Prober,
  low: number,
  high: number,
  gauge: FillGauge,
): boolean {
  if (!gauge.before(1) && !prober.has(words, low, high)) gauge.refuse();
  const fresh = prober.add(words, low, high);
  if (fresh) gauge.after(1);
  return fresh;
}

/**
 * Adds all keys; returns how many changed a bit. The gauge is told of each chunk before it is
 * added. If it might be too much, the keys are added one by one, and the gauge may refuse one.
 */
export function addBatch(
  store: BitStore,
  prober: Prober,
  keys: KeyBatch,
  scheme: HashScheme,
  gauge: FillGauge,
): number {
  let fresh = 0;
  probeBatch(store, keys, scheme, {
    before: (count) => gauge.before(count),
    inWasm: WASM_POSSIBLE
      ? (wasm, count, address) => {
          const added = prober.inWasm?.add(wasm, count, address) ?? 0;
          gauge.after(added);
          fresh += added;
        }
      : null,
    outside: (low, high) => (fresh += addOne(store, prober, low, high, gauge) ? 1 : 0),
  });
  return fresh;
}

/** One byte per key, in order: 1 maybe, 0 certainly not. */
export function hasBatch(store: BitStore, prober: Prober, keys: KeyBatch, scheme: HashScheme): Uint8Array {
  let answers = new Uint8Array(countOf(keys) || CHUNK_KEYS);
  const seen = probeBatch(store, keys, scheme, {
    before: (count, at) => (answers = withRoom(answers, at + count)),
    inWasm: WASM_POSSIBLE
      ? (wasm, count, address, at) => {
          prober.inWasm?.has(wasm, count, address);
          answers.set(count === wasm.results.length ? wasm.results : wasm.results.subarray(0, count), at);
        }
      : null,
    outside: (low, high, at) => (answers[at] = prober.has(store.words, low, high) ? 1 : 0),
  });
  return seen === answers.length ? answers : answers.slice(0, seen);
}

/** The operation on each part of a batch. `at` is the number of keys that came before. */
export interface BatchProbe {
  /** Called before each chunk. If it returns false, the chunk is probed key by key, `outside`. */
  before?(count: number, at: number): unknown;
  /**
   * Called for a chunk whose hashes are in the kernel and whose store is in its memory; null if
   * there is no kernel.
   */
  readonly inWasm: ((wasm: WasmKernel, count: number, address: number, at: number) => void) | null;
  /** Called for one key, in JavaScript. The halves of its hash are int32. */
  outside(low: number, high: number, at: number): void;
}

/** Probes a store for each key of a batch; returns the number of keys. */
export function probeBatch(store: BitStore, keys: KeyBatch, scheme: HashScheme, probe: BatchProbe): number {
  const total = countOf(keys);
  let seen = 0;
  eachChunk(keys, scheme, (count, wasm) => {
    const whole = probe.before?.(count, seen) !== false;
    const address =
      WASM_POSSIBLE && whole && wasm !== null && probe.inWasm !== null ? wasm.admit(store, count, total) : 0;
    if (WASM_POSSIBLE && wasm !== null && address !== 0) probe.inWasm?.(wasm, count, address, seen);
    else probeOutside(probe, chunkHashes(wasm), count, seen);
    seen += count;
  });
  return seen;
}

function probeOutside(probe: BatchProbe, hashes: Int32Array, count: number, at: number): void {
  for (let i = 0; i < count; i++) probe.outside(hashes[2 * i], hashes[2 * i + 1], at + i);
}

/**
 * One number per key, in order. `inWasm` leaves a chunk's numbers in the kernel's `values`; it is
 * null if there is no kernel.
 */
export function valueBatch(
  store: BitStore,
  keys: KeyBatch,
  scheme: HashScheme,
  inWasm: ((wasm: WasmKernel, count: number, address: number) => void) | null,
  outside: (low: number, high: number) => number,
): Float64Array {
  let values = new Float64Array(countOf(keys) || CHUNK_KEYS);
  const seen = probeBatch(store, keys, scheme, {
    before: (count, at) => (values = withRoom(values, at + count)),
    inWasm:
      WASM_POSSIBLE && inWasm !== null
        ? (wasm, count, address, at) => {
            inWasm(wasm, count, address);
            values.set(wasm.values.subarray(0, count), at);
          }
        : null,
    outside: (low, high, at) => (values[at] = outside(low, high)),
  });
  return seen === values.length ? values : values.slice(0, seen);
}

/** The array itself, or a larger copy if `length` elements do not fit. */
export function withRoom<T extends Uint8Array | Int16Array | Float64Array>(array: T, length: number): T {
  if (length <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(2 * array.length, length));
  larger.set(array);
  return larger;
}
