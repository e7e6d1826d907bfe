/**
 * Sorted lists in the WebAssembly kernel: a separate module, loaded with the first list that is
 * looked up there.
 */

import { HASH_CHUNK, RESULTS, type WasmKernel } from '../wasm/wasm-kernel.ts';
import { SORTED_LIST_BASE64 } from './sorted-list-binary.ts';

/**
 * Looks up a chunk of hashes; leaves one byte per key in the kernel's results. `address` is the
 * result of `admit`.
 */
export function listHasChunk(
  wasm: WasmKernel,
  count: number,
  address: number,
  width: number,
  length: number,
  m: number,
  k: number,
): void {
  call(wasm).listHas(HASH_CHUNK, count, address, width, length, m, k, RESULTS);
}

interface ListExports {
  listHas(
    hashes: number,
    count: number,
    list: number,
    width: number,
    length: number,
    range: number,
    k: number,
    results: number,
  ): void;
}

let exports: ListExports | undefined;

function call(wasm: WasmKernel): ListExports {
  return (exports ??= wasm.link<ListExports>(SORTED_LIST_BASE64));
}
