/** The choice of the kernel. Both leave the same bytes. */

import type { BlockMemory } from './block-memory.ts';
import { ScriptBlocks } from './script-blocks.ts';
import { WasmBlocks } from './wasm-blocks.ts';

/** The kernel that a caller wants: 'auto' is WebAssembly wherever it compiles. */
export type BlockKernel = 'auto' | 'javascript' | 'wasm';

export function makeBlocks(bytes: number, slots: number, kernel: BlockKernel = 'auto'): BlockMemory {
  if (kernel !== 'auto' && kernel !== 'javascript' && kernel !== 'wasm')
    throw new TypeError(
      `Cannot choose a kernel: expected 'auto', 'javascript' or 'wasm', got ${String(kernel)}`,
    );
  const wasm = kernel === 'javascript' ? null : WasmBlocks.create(bytes, slots);
  if (wasm === null && kernel === 'wasm')
    throw new Error('Cannot compile WebAssembly: a Content-Security-Policy, or no SIMD');
  return wasm ?? new ScriptBlocks(bytes, slots);
}
