/** The hot loops of the flow table in WebAssembly, on a memory of their own for each table. */

import { FLOW_TABLE_BASE64 } from './flow-table-binary.ts';
import type { FlowKernel } from './script-kernel.ts';

/** The globals of the platform that this file uses; browsers, Node and workers have them. */
interface WebAssemblyLike {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer };
}

type FlowExports = Omit<FlowKernel, 'buffer'>;

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

/** Makes a kernel with this much memory, or null where WebAssembly is not allowed. */
export function createWasmKernel(bytes: number): FlowKernel | null {
  const module = flowModule();
  if (module === null) return null;
  const { Instance, Memory } = webAssembly();
  const memory = new Memory({ initial: Math.ceil(bytes / PAGE) });
  const { absorb, rebuild, evict } = new Instance(module, { env: { memory } }).exports as FlowExports;
  return { buffer: memory.buffer, absorb, rebuild, evict };
}
