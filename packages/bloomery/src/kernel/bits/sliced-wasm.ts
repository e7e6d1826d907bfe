/**
 * Bit-sliced tables in the WebAssembly kernel: a separate module, loaded with the first table that
 * is used there. `address` is the result of `admit`.
 */

import { HASH_CHUNK, VALUES, type WasmKernel } from '../wasm/wasm-kernel.ts';
import { onesOf } from './bit-operations.ts';
import type { SlicedShape } from './sliced.ts';
import { SLICED_BASE64 } from './sliced-binary.ts';

/**
 * Sets the bits of a chunk of hashes in one column. Returns how many keys changed a bit, and leaves
 * the number of changed bits in `wasm.values[0]`.
 */
export function slicedAddChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  { rows, hashes, rowBits }: SlicedShape,
  column: number,
): number {
  return call(wasm).slicedAdd(HASH_CHUNK, count, address, rows, hashes, rowBits, column, VALUES);
}

/** `slicedCandidates` of sliced.ts; `words` are the table's, which lie at the address. */
export function slicedCandidatesIn(
  wasm: WasmKernel,
  words: Uint32Array,
  a: number,
  b: number,
  address: number,
  { rows, hashes, rowBits }: SlicedShape,
  out: Uint32Array,
): number {
  if (rowBits < 32) {
    out[0] = call(wasm).slicedNarrow(a, b, address, rows, hashes, rowBits);
    return onesOf(out[0]);
  }
  const found = call(wasm).slicedWide(a, b, address, rows, hashes, rowBits);
  const width = rowBits / 32;
  const result = (rows + 1) * width;
  for (let w = 0; w < width; w++) out[w] = words[result + w];
  return found;
}

interface SlicedExports {
  slicedAdd(
    hashes: number,
    count: number,
    table: number,
    rows: number,
    k: number,
    rowBits: number,
    column: number,
    changed: number,
  ): number;
  slicedNarrow(a: number, b: number, table: number, rows: number, k: number, rowBits: number): number;
  slicedWide(a: number, b: number, table: number, rows: number, k: number, rowBits: number): number;
}

let exports: SlicedExports | undefined;

function call(wasm: WasmKernel): SlicedExports {
  return (exports ??= wasm.link<SlicedExports>(SLICED_BASE64));
}
