/** The hot loops of the flow table in WebAssembly, on a memory of their own for each table. */

import { FLOW_TABLE_BASE64 } from './flow-table-binary.ts';
import { STAGE_BYTES, type StageFunction } from './packet-stager.ts';
import type { FlowKernel } from './script-kernel.ts';

/** The globals of the platform that this file uses; browsers, Node and workers have them. */
interface WebAssemblyLike {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer };
}

/** The kernel with the function of the stager, which has a twin of another form. */
export interface WasmKernel extends FlowKernel {
  readonly stage: StageFunction;
  /** Start of the memory behind that of the table. */
  readonly stageAt: number;
}

type FlowExports = Omit<WasmKernel, 'buffer' | 'stageAt'>;

const PAGE = 65536;
let compiled: object | null | undefined;

/** The compiled module, or null where WebAssembly is not allowed. */
function flowModule(): object | null {
  if (compiled === undefined) {
    try {
      compiled = new (webAssembly().Module)(Uint8Array.from(atob(FLOW_TABLE_BASE64), (c) => c.charCodeAt(0)));
    } catch {
      compiled = null;
    }
  }
  return compiled;
}

function webAssembly(): WebAssemblyLike {
  return (globalThis as unknown as { WebAssembly: WebAssemblyLike }).WebAssembly;
}

/**
 * Makes a kernel with this much memory for the table, and what a stager needs behind it. Null where
 * WebAssembly is not allowed.
 */
export function createWasmKernel(bytes: number): WasmKernel | null {
  const module = flowModule();
  if (module === null) return null;
  const { Instance, Memory } = webAssembly();
  const stageAt = Math.ceil(bytes / 64) * 64;
  const memory = new Memory({ initial: Math.ceil((stageAt + STAGE_BYTES) / PAGE) });
  const { absorb, rebuild, evict, stage } = new Instance(module, { env: { memory } }).exports as FlowExports;
  return { buffer: memory.buffer, absorb, rebuild, evict, stage, stageAt };
}
