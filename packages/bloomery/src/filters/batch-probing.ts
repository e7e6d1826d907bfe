/**
 * From chunks of hashes to answers: the part of every batch operation that all filters share. A chunk, or a single
 * key, is probed where the bits are: in WebAssembly if the filter is there or is worth moving there, else by
 * the JavaScript twin.
 */

import { chunkHashes, eachKeyChunk, eachPackedChunk, type VisitChunk } from '../kernel/batch.ts';
import type { BitStore } from '../kernel/bit-store.ts';
import type { HashScheme } from '../kernel/hash-scheme.ts';
import { wasmKernel } from '../kernel/kernel-choice.ts';
import type { Key } from '../kernel/key.ts';
import { isPackedKeys, type PackedKeys } from '../kernel/packed-keys.ts';
import type { WasmKernel } from '../kernel/wasm-kernel.ts';
import { WASM_POSSIBLE } from '../kernel/wasm-possible.ts';

/** One layout's probes, in both kernels. Hash halves are int32. */
export interface Prober {
  has(words: Uint32Array, low: number, high: number): boolean;
  add(words: Uint32Array, low: number, high: number): boolean;
  /** The same for a chunk of hashes in the kernel; null where there is none. */
  readonly inWasm: WasmProber | null;
}

export interface WasmProber {
  /** Asks for one key: 1 or 0, or -1 if it has to be hashed and asked outside. */
  hasKey(wasm: WasmKernel, key: Key, address: number): number;
  /** Leaves one byte a key in the kernel's results. */
  has(wasm: WasmKernel, count: number, address: number): void;
  /** Returns how many keys changed a bit. */
  add(wasm: WasmKernel, count: number, address: number): number;
}

/** Asks for one key in WebAssembly, if the filter lives there: 1 or 0; -1 if it does not. */
export function hasKeyInWasm(store: BitStore, { inWasm }: Prober, key: Key): number {
  const wasm = wasmKernel();
  if (wasm === null || inWasm === null) return -1;
  const address = wasm.admit(store, 1, 0);
  return address === 0 ? -1 : inWasm.hasKey(wasm, key, address);
}

/** Feeds chunks to the visitor. */
export type ChunkSource = (visit: VisitChunk) => void;

/**
 * Adds all keys; returns how many changed a bit. `total` is the number of keys if it is known, else 0;
 * `before` is called ahead of each chunk and may refuse it.
 */
export function addBatch(
  store: BitStore,
  prober: Prober,
  total: number,
  source: ChunkSource,
  before: (count: number) => void,
): number {
  let fresh = 0;
  source((count, wasm) => {
    before(count);
    if (WASM_POSSIBLE && wasm !== null && prober.inWasm !== null) {
      const address = wasm.admit(store, count, total);
      if (address !== 0) {
        fresh += prober.inWasm.add(wasm, count, address);
        return;
      }
    }
    const hashes = chunkHashes(wasm);
    const { words } = store;
    for (let i = 0; i < count; i++) if (prober.add(words, hashes[2 * i], hashes[2 * i + 1])) fresh++;
  });
  return fresh;
}

/** One byte a key, in order: 1 maybe, 0 certainly not. */
export function hasBatch(store: BitStore, prober: Prober, total: number, source: ChunkSource): Uint8Array {
  let answers = new Uint8Array(total || 1024);
  let seen = 0;
  source((count, wasm) => {
    if (seen + count > answers.length) {
      const larger = new Uint8Array(Math.max(2 * answers.length, seen + count));
      larger.set(answers);
      answers = larger;
    }
    const address = WASM_POSSIBLE && wasm !== null ? wasm.admit(store, count, total) : 0;
    if (WASM_POSSIBLE && wasm !== null && prober.inWasm !== null && address !== 0) {
      prober.inWasm.has(wasm, count, address);
      answers.set(count === wasm.results.length ? wasm.results : wasm.results.subarray(0, count), seen);
    } else {
      const hashes = chunkHashes(wasm);
      const { words } = store;
      for (let i = 0; i < count; i++) {
        answers[seen + i] = prober.has(words, hashes[2 * i], hashes[2 * i + 1]) ? 1 : 0;
      }
    }
    seen += count;
  });
  return seen === answers.length ? answers : answers.slice(0, seen);
}

/** The chunks of an iterable or of packed keys. */
export function keySource(keys: Iterable<Key> | PackedKeys, scheme: HashScheme): ChunkSource {
  return isPackedKeys(keys)
    ? (visit) => eachPackedChunk(keys, scheme, visit)
    : (visit) => eachKeyChunk(keys, scheme, visit);
}

/** The number of keys where it is known beforehand, else 0. */
export function countOf(keys: Iterable<Key> | PackedKeys): number {
  if (isPackedKeys(keys)) return Math.max(0, keys.offsets.length - 1);
  return Array.isArray(keys) ? keys.length : 0;
}
