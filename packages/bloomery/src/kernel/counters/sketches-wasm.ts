/**
 * The WebAssembly loops over shared counters (sketches.ts). The hashes are in the kernel's chunk.
 * The amounts are in its `values`, one per key, and are replaced by the answers.
 */

import { HASH_CHUNK, RESULTS, VALUES, type WasmKernel } from '../wasm/wasm-kernel.ts';
import type { SketchShape } from './sketches.ts';
import { SKETCHES_BASE64 } from './sketches-binary.ts';

/** Leaves the least counter of each key in `values`, and whether it is above 0 in `results`. */
export function countChunk(wasm: WasmKernel, count: number, address: number, shape: SketchShape): void {
  const { bits, range, stride, k } = shape;
  call(wasm).sketchCount(HASH_CHUNK, count, address, bits, range, stride, k, VALUES, RESULTS);
}

/**
 * Rule "sum": leaves the least counter before the addition in `values`, and returns how many of
 * them were 0.
 */
export function sumChunk(wasm: WasmKernel, count: number, address: number, shape: SketchShape): number {
  const { bits, range, stride, k } = shape;
  return call(wasm).sketchSum(HASH_CHUNK, count, address, bits, range, stride, k, VALUES);
}

/** Rule "raise", with the same outputs. */
export function raiseChunk(wasm: WasmKernel, count: number, address: number, shape: SketchShape): number {
  const { bits, range, stride, k } = shape;
  return call(wasm).sketchRaise(HASH_CHUNK, count, address, bits, range, stride, k, VALUES);
}

/**
 * Subtracts. Leaves in `results` whether it succeeded, and returns how often. `total` is the sum
 * that must not become negative.
 */
export function subtractChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: SketchShape,
  total: number,
): number {
  const { bits, range, stride, k } = shape;
  return call(wasm).sketchSubtract(
    HASH_CHUNK,
    count,
    address,
    bits,
    range,
    stride,
    k,
    VALUES,
    RESULTS,
    total,
  );
}

// Rule "recurring". The second array has `range2` counters and follows the first.

export function recurringCountChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: SketchShape,
  range2: number,
): void {
  const { bits, range, k } = shape;
  call(wasm).recurringCount(HASH_CHUNK, count, address, bits, range, range2, k, VALUES);
}

export function recurringSumChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: SketchShape,
  range2: number,
): number {
  const { bits, range, k } = shape;
  return call(wasm).recurringSum(HASH_CHUNK, count, address, bits, range, range2, k, VALUES);
}

export function recurringSubtractChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: SketchShape,
  range2: number,
  total: number,
): number {
  const { bits, range, k } = shape;
  return call(wasm).recurringSubtract(
    HASH_CHUNK,
    count,
    address,
    bits,
    range,
    range2,
    k,
    VALUES,
    RESULTS,
    total,
  );
}

/** The sixth argument is the stride of the rows, or the length of the second array. */
type Loop<More extends number[], Result> = (
  hashes: number,
  count: number,
  filter: number,
  bits: number,
  range: number,
  other: number,
  k: number,
  values: number,
  ...more: More
) => Result;

interface SketchExports {
  sketchCount: Loop<[results: number], void>;
  sketchSum: Loop<[], number>;
  sketchRaise: Loop<[], number>;
  sketchSubtract: Loop<[results: number, total: number], number>;
  recurringCount: Loop<[], void>;
  recurringSum: Loop<[], number>;
  recurringSubtract: Loop<[results: number, total: number], number>;
}

let exports: SketchExports | undefined;

function call(wasm: WasmKernel): SketchExports {
  return (exports ??= wasm.link<SketchExports>(SKETCHES_BASE64));
}
