/**
 * The choice of the kernel. WebAssembly is used wherever it compiles. Where that is forbidden (a
 * Content-Security-Policy without 'wasm-unsafe-eval', an edge runtime that refuses run-time
 * compilation, no SIMD) the JavaScript twins are used, with the same results. The module is
 * compiled on first use.
 */

import { platform } from '../../keys/platform.ts';
import { WasmKernel } from './wasm-kernel.ts';

export type KernelChoice = 'auto' | 'javascript' | 'wasm';

let choice: KernelChoice = 'auto';
let loaded: WasmKernel | null | undefined;

/** The kernel in use, or null if JavaScript does the work. */
export function wasmKernel(): WasmKernel | null {
  // This does not use WASM_POSSIBLE, because bundlers decide what to keep before they inline
  // constants.
  return typeof __BLOOMERY_WASM__ === 'undefined' || __BLOOMERY_WASM__ ? chosenKernel() : null;
}

function chosenKernel(): WasmKernel | null {
  if (loaded === undefined) loaded = choice === 'javascript' ? null : compile();
  return loaded;
}

/**
 * The kernel in use now: 'wasm' wherever it can be compiled, unless `useKernel` chose otherwise.
 */
export function kernelInUse(): 'wasm' | 'javascript' {
  return wasmKernel() === null ? 'javascript' : 'wasm';
}

/**
 * Chooses the kernel for all later operations. Both give identical results, so this is for tests,
 * for measurements and for callers that want no WebAssembly at all. 'wasm' throws if it cannot run.
 */
export function useKernel(wanted: KernelChoice): void {
  if (wanted !== 'auto' && wanted !== 'javascript' && wanted !== 'wasm') {
    throw new TypeError(
      `Cannot choose a kernel: expected 'auto', 'javascript' or 'wasm', got ${String(wanted)}`,
    );
  }
  const before = choice;
  choice = wanted;
  if (wanted === 'javascript') {
    loaded = null;
    return;
  }
  loaded = instance ?? undefined;
  if (wanted === 'wasm' && wasmKernel() === null) {
    choice = before;
    throw new Error('Cannot compile WebAssembly: a Content-Security-Policy, or no SIMD');
  }
}

let instance: WasmKernel | undefined;

function compile(): WasmKernel | null {
  if (platform.WebAssembly === undefined) return null;
  try {
    instance ??= new WasmKernel();
    return instance;
  } catch {
    return null;
  }
}

declare const __BLOOMERY_WASM__: boolean | undefined;
