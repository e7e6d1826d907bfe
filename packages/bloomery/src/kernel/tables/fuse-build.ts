/**
 * Solving a binary fuse table: choosing its slots so that the four slots of each key XOR to the
 * value that the key needs. fuse.ts explains the table. Twin of the solver:
 * assembly/tables/fuse-build.ts.
 *
 * These are n equations in more than n unknowns, solved by peeling. A slot that only one key uses
 * can be given any value, so that key can be satisfied last, whatever the values of the others. It
 * is taken out, and other slots then have a single key. When all keys are out, they are processed
 * in the opposite order, and each key's own slot gets the value that its other three slots lack. So
 * each key gets a slot of its own, which `BloomierFilter` needs.
 *
 * Peeling gets stuck when some keys are left and each of their slots has at least two keys. Then
 * another attempt is made with other slots for all keys, and from the fourth on with a larger table
 * (math/fuse-size.ts has the measured probabilities): fewer than one in a hundred sets needs a
 * second one. The loop is bounded. Only keys that an attacker who knows the seed has chosen can
 * exhaust it, and keyed hashing prevents that.
 *
 * The same set gives the same table, whatever the order of its keys: a slot's state is the XOR and
 * the number of its keys, and slots are taken in the order of the table. Equal hashes are dropped
 * first, by sorting, because two of them would never be alone in a slot.
 *
 * The WebAssembly solver works in a memory of its own (about 31 bytes per key), which is dropped
 * afterwards.
 */

import { checkSameScheme, type HashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../batches/batch.ts';
import { hashKeys, type KeyHashes } from '../batches/hash-keys.ts';
import { wasmKernel } from '../wasm/kernel-choice.ts';
import { WASM_POSSIBLE } from '../wasm/wasm-possible.ts';
import {
  type FuseFields,
  FuseLayout,
  type FuseShape,
  locate,
  located,
  MOST_ATTEMPTS,
  readField,
  writeField,
} from './fuse.ts';
import { openWasmSolver } from './fuse-wasm.ts';

export interface FusePlan extends FuseFields {
  /** True if the answer of a key is the number of its own slot (0 to 3), false if it is 0. */
  readonly ownIndex: boolean;
  /** The size of the table for n different hashes in attempt 0, 1, … */
  shapeOf(n: number, attempt: number): FuseShape;
}

export interface FuseTable {
  readonly layout: FuseLayout;
  readonly words: Uint32Array;
  /** The number of different hashes. */
  readonly size: number;
}

/** A set of hashes, with which several attempts can be made. */
export interface FuseSolver {
  /** The number of different hashes. */
  readonly size: number;
  /**
   * The words of the table, null if these slots have no solution, undefined if there is not enough
   * memory.
   */
  solve(layout: FuseLayout, ownIndex: boolean): Uint32Array | null | undefined;
}

/**
 * Builds a table. `hashes` holds low and high halves in turn, in any order; a hash may occur any
 * number of times.
 */
export function buildFuse(hashes: Int32Array, plan: FusePlan): FuseTable {
  const inWasm = WASM_POSSIBLE && wasmKernel() !== null ? openWasmSolver(hashes) : null;
  let solver = inWasm ?? openSolver(hashes);
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const layout = new FuseLayout(plan.shapeOf(solver.size, attempt), attempt, plan);
    let words = solver.solve(layout, plan.ownIndex);
    if (words === undefined) {
      solver = openSolver(hashes);
      words = solver.solve(layout, plan.ownIndex);
    }
    if (words) return { layout, words, size: solver.size };
  }
  throw new RangeError(
    `Cannot build a table for these ${solver.size} keys: ${MOST_ATTEMPTS} attempts failed, so their hashes were chosen to collide; use another seed or a key`,
  );
}

/** The hashes of a batch, low and high halves in turn. A batch of hashes is not copied. */
export function hashesOf(keys: KeyBatch, scheme: HashScheme): Int32Array {
  const { words: given, scheme: by } = (keys ?? {}) as Partial<KeyHashes>;
  if (given !== undefined && by !== undefined) {
    checkSameScheme(by, scheme);
    return given;
  }
  return hashKeys(keys, scheme).words;
}

/** The solver in JavaScript. */
export function openSolver(hashes: Int32Array): FuseSolver {
  const keys = distinct(hashes);
  return { size: keys.length / 2, solve: (layout, ownIndex) => solve(keys, layout, ownIndex) };
}

/** The distinct hashes in ascending order. */
export function distinct(hashes: Int32Array): Int32Array {
  const sorted = hashes.slice();
  new BigUint64Array(sorted.buffer).sort();
  let end = Math.min(2, sorted.length);
  for (let i = 2; i < sorted.length; i += 2) {
    if (sorted[i] === sorted[end - 2] && sorted[i + 1] === sorted[end - 1]) continue;
    sorted[end++] = sorted[i];
    sorted[end++] = sorted[i + 1];
  }
  return sorted.subarray(0, end);
}

/** 32 keys in a slot: the attempt cannot succeed, and the count is still far from overflowing. */
const CROWDED = 0x80;

function solve(hashes: Int32Array, layout: FuseLayout, ownIndex: boolean): Uint32Array | null {
  const { slots, stride, width } = layout;
  const keys = new Int32Array(2 * slots);
  // Four times the number of keys in a slot; the lower two bits are the XOR of the numbers (0 to 3)
  // that the slot has for its keys.
  const counts = new Uint8Array(slots);
  for (let i = 0; i < hashes.length; i += 2) {
    locate(layout, hashes[i], hashes[i + 1]);
    for (let j = 0; j < 4; j++) {
      const slot = located[j];
      keys[2 * slot] ^= hashes[i];
      keys[2 * slot + 1] ^= hashes[i + 1];
      counts[slot] = (counts[slot] + 4) ^ j;
      if (counts[slot] >= CROWDED) return null;
    }
  }
  const waiting = new Int32Array(slots);
  let top = 0;
  for (let slot = 0; slot < slots; slot++) if (counts[slot] >> 2 === 1) waiting[top++] = slot;
  const order = new Int32Array(hashes.length / 2);
  let done = 0;
  while (top > 0) {
    const slot = waiting[--top];
    if (counts[slot] >> 2 !== 1) continue;
    const own = counts[slot] & 3;
    const low = keys[2 * slot];
    const high = keys[2 * slot + 1];
    order[done++] = slot;
    locate(layout, low, high);
    for (let j = 0; j < 4; j++) {
      if (j === own) continue;
      const other = located[j];
      keys[2 * other] ^= low;
      keys[2 * other + 1] ^= high;
      if (counts[other] >> 2 === 2) waiting[top++] = other;
      counts[other] = (counts[other] - 4) ^ j;
    }
    // The own slot of the key keeps the key and the number of the slot (0 to 3). The loop below, in
    // the opposite order, reads both.
    counts[slot] = own;
  }
  if (done !== order.length) return null;
  const words = new Uint32Array(layout.wordCount);
  for (let i = done - 1; i >= 0; i--) {
    const slot = order[i];
    locate(layout, keys[2 * slot], keys[2 * slot + 1]);
    let value = located[4] ^ (ownIndex ? counts[slot] : 0);
    for (let j = 0; j < 4; j++) value ^= readField(words, located[j], stride, 0, width);
    writeField(words, slot, stride, 0, width, value);
  }
  return words;
}
