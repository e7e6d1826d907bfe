/**
 * Which kernel does the work. WebAssembly wherever it compiles; where that is forbidden (a
 * Content-Security-Policy without 'wasm-unsafe-eval', an edge runtime that refuses run-time compilation, no
 * SIMD) the JavaScript twins do, with the same results. The module is compiled on first use.
 */

import { platform } from '../../keys/platform.ts';
import { WasmKernel } from './wasm-kernel.ts';

export type KernelChoice = 'auto' | 'javascript' | 'wasm';

let choice: KernelChoice = 'auto';
let loaded: WasmKernel | null | undefined;

/** The kernel in use, null where JavaScript does the work. */
export function wasmKernel(): WasmKernel | null {
  // Not WASM_POSSIBLE: bundlers decide what to keep before they inline constants.
  return typeof __BLOOMERY_WASM__ === 'undefined' || __BLOOMERY_WASM__ ? chosenKernel() : null;
}

function chosenKernel(): WasmKernel | null {
  if (loaded === undefined) loaded = choice === 'javascript' ? null : compile();
  return loaded;
}

/** Which kernel answers now: 'wasm' wherever it can be compiled, unless told otherwise. */
export function kernelInUse(): 'wasm' | 'javascript' {
  return wasmKernel() === null ? 'javascript' : 'wasm';
}

/**
 * Chooses the kernel for everything that follows. Both give identical results, so this is for tests, for
 * measurements and for those who want no WebAssembly at all; 'wasm' throws where it cannot run.
 */
export function useKernel(wanted: KernelChoice): void {
  if (wanted !== 'auto' && wanted !== 'javascript' && wanted !== 'wasm') {
    throw new TypeError(`kernel must be 'auto', 'javascript' or 'wasm', got ${String(wanted)}`);
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
    throw new Error('WebAssembly cannot be compiled here (a Content-Security-Policy, or no SIMD)');
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
