/**
 * The WebAssembly loops of the counting filter. A chunk has its hashes in the kernel, and its
 * answers go to the kernel's results or values. A single key is given by the halves of its hash.
 * `address` is the address of the counters.
 */

import { HASH_CHUNK, RESULTS, VALUES, type WasmKernel } from '../wasm/wasm-kernel.ts';
import type { CountingShape } from './counting.ts';
import { COUNTING_BASE64 } from './counting-binary.ts';

/** Leaves one byte per key in `wasm.results`. */
export function countingHasChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CountingShape,
): void {
  chunk(call(wasm).countingHas, count, address, shape, RESULTS);
}

/** Leaves one number per key in `wasm.values`. */
export function countingCountChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CountingShape,
): void {
  chunk(call(wasm).countingCount, count, address, shape, VALUES);
}

/** Returns how many keys were certainly absent before. */
export function countingAddChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CountingShape,
): number {
  return chunk(call(wasm).countingAdd, count, address, shape, changesAddress(address, shape));
}

/** Returns how many keys were deleted. */
export function countingDeleteChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CountingShape,
): number {
  return chunk(call(wasm).countingDelete, count, address, shape, changesAddress(address, shape));
}

export function countingHasOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CountingShape,
): boolean {
  return one(call(wasm).countingHasOne, low, high, address, shape) !== 0;
}

export function countingCountOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CountingShape,
): number {
  return one(call(wasm).countingCountOne, low, high, address, shape);
}

export function countingAddOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CountingShape,
): boolean {
  return one(call(wasm).countingAddOne, low, high, address, shape) !== 0;
}

export function countingDeleteOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CountingShape,
): boolean {
  return one(call(wasm).countingDeleteOne, low, high, address, shape) !== 0;
}

function chunk<Result>(
  loop: Loop<Result>,
  count: number,
  address: number,
  { range, stride, hashes, counterBits }: CountingShape,
  last: number,
): Result {
  return loop(HASH_CHUNK, count, address, range, stride, hashes, counterBits, last);
}

function one(loop: Loop<number>, low: number, high: number, address: number, shape: CountingShape): number {
  const { range, stride, hashes, counterBits } = shape;
  return loop(low, high, address, range, stride, hashes, counterBits, changesAddress(address, shape));
}

/** The address of the change bits, or 0 if changes are not tracked. */
function changesAddress(address: number, { changes }: CountingShape): number {
  return changes === 0 ? 0 : address + 4 * changes;
}

/**
 * For a chunk, the first two arguments are the address of the hashes and their number; for one key,
 * the halves of its hash. The last is the address of the answers, or of the change bits; loops that
 * need neither ignore it.
 */
type Loop<Result> = (
  first: number,
  second: number,
  filter: number,
  range: number,
  stride: number,
  k: number,
  counterBits: number,
  last: number,
) => Result;

interface CountingExports {
  countingHas: Loop<void>;
  countingCount: Loop<void>;
  countingAdd: Loop<number>;
  countingDelete: Loop<number>;
  countingHasOne: Loop<number>;
  countingCountOne: Loop<number>;
  countingAddOne: Loop<number>;
  countingDeleteOne: Loop<number>;
}

let exports: CountingExports | undefined;

function call(wasm: WasmKernel): CountingExports {
  return (exports ??= wasm.link<CountingExports>(COUNTING_BASE64));
}
