/** The WebAssembly loops of the counting filter. Hashes come in the kernel's chunk, answers go to its results or values. */

import type { CounterShape } from './counting.ts';
import { COUNTING_BASE64 } from './counting-binary.ts';
import { HASH_CHUNK, RESULTS, VALUES, type WasmKernel } from './wasm-kernel.ts';

/** One byte a key in `wasm.results`. */
export function countingHasChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CounterShape,
): void {
  const { range, stride, hashes, counterBits } = shape;
  call(wasm).countingHas(HASH_CHUNK, count, address, range, stride, hashes, counterBits, RESULTS);
}

/** One number a key in `wasm.values`. */
export function countingCountChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CounterShape,
): void {
  const { range, stride, hashes, counterBits } = shape;
  call(wasm).countingCount(HASH_CHUNK, count, address, range, stride, hashes, counterBits, VALUES);
}

/** How many keys were certainly not in before. */
export function countingAddChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CounterShape,
): number {
  const { range, stride, hashes, counterBits } = shape;
  const changes = changesAddress(address, shape);
  return call(wasm).countingAdd(HASH_CHUNK, count, address, range, stride, hashes, counterBits, changes);
}

/** How many keys were removed. */
export function countingDeleteChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: CounterShape,
): number {
  const { range, stride, hashes, counterBits } = shape;
  const changes = changesAddress(address, shape);
  return call(wasm).countingDelete(HASH_CHUNK, count, address, range, stride, hashes, counterBits, changes);
}

// The same for one key, by the halves of its hash.

export function countingHasOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CounterShape,
): boolean {
  const { range, stride, hashes, counterBits } = shape;
  return call(wasm).countingHasOne(low, high, address, range, stride, hashes, counterBits) !== 0;
}

export function countingCountOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CounterShape,
): number {
  const { range, stride, hashes, counterBits } = shape;
  return call(wasm).countingCountOne(low, high, address, range, stride, hashes, counterBits);
}

export function countingAddOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CounterShape,
): boolean {
  const { range, stride, hashes, counterBits } = shape;
  const changes = changesAddress(address, shape);
  return call(wasm).countingAddOne(low, high, address, range, stride, hashes, counterBits, changes) !== 0;
}

export function countingDeleteOne(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  shape: CounterShape,
): boolean {
  const { range, stride, hashes, counterBits } = shape;
  const changes = changesAddress(address, shape);
  return call(wasm).countingDeleteOne(low, high, address, range, stride, hashes, counterBits, changes) !== 0;
}

function changesAddress(address: number, { changes }: CounterShape): number {
  return changes === 0 ? 0 : address + 4 * changes;
}

interface CountingExports {
  countingHas: Loop<void>;
  countingCount: Loop<void>;
  countingAdd: Loop<number>;
  countingDelete: Loop<number>;
  countingHasOne: One;
  countingCountOne: One;
  countingAddOne: One;
  countingDeleteOne: One;
}

/** The last argument: where the answers go, or the change bits. */
type Loop<Result> = (
  hashes: number,
  count: number,
  filter: number,
  range: number,
  stride: number,
  k: number,
  counterBits: number,
  last: number,
) => Result;

type One = (
  low: number,
  high: number,
  filter: number,
  range: number,
  stride: number,
  k: number,
  counterBits: number,
  changes?: number,
) => number;

let exports: CountingExports | undefined;

function call(wasm: WasmKernel): CountingExports {
  return (exports ??= wasm.link<CountingExports>(COUNTING_BASE64));
}
