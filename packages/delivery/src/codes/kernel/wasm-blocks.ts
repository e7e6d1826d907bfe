/** Blocks and their sums in WebAssembly, with a memory of their own for each coder. */

import { type BlockMemory, PROGRAM_WORDS } from './block-memory.ts';
import { BLOCKS_BASE64 } from './blocks-binary.ts';

/** The globals of the platform that this file uses; browsers, Node and workers have them. */
interface WebAssemblyLike {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly Memory: new (size: { initial: number }) => WasmMemory;
}

interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface BlockExports {
  run(program: number, words: number, slots: number, bytes: number): void;
}

const PAGE = 65536;
const PROGRAM_AT = 1024;
const SLOTS_AT = 2 * PAGE;
let compiled: object | null | undefined;

function webAssembly(): WebAssemblyLike {
  return (globalThis as unknown as { WebAssembly: WebAssemblyLike }).WebAssembly;
}

/** The compiled module, or null where WebAssembly is not allowed. */
function blockModule(): object | null {
  if (compiled === undefined) {
    try {
      compiled = new (webAssembly().Module)(Uint8Array.from(atob(BLOCKS_BASE64), (c) => c.charCodeAt(0)));
    } catch {
      compiled = null;
    }
  }
  return compiled;
}

export class WasmBlocks implements BlockMemory {
  readonly kernel = 'wasm';
  readonly #memory: WasmMemory;
  readonly #exports: BlockExports;
  readonly #bytes: number;

  private constructor(memory: WasmMemory, exports: BlockExports, bytes: number) {
    this.#memory = memory;
    this.#exports = exports;
    this.#bytes = bytes;
  }

  /** Makes a memory, or null where WebAssembly is not allowed. */
  static create(bytes: number, slots: number): WasmBlocks | null {
    const module = blockModule();
    if (module === null) return null;
    const { Instance, Memory } = webAssembly();
    const memory = new Memory({ initial: Math.ceil((SLOTS_AT + bytes * slots) / PAGE) });
    const exports = new Instance(module, { env: { memory } }).exports as BlockExports;
    return new WasmBlocks(memory, exports, bytes);
  }

  reserve(slots: number): void {
    const lacking = SLOTS_AT + this.#bytes * slots - this.#memory.buffer.byteLength;
    if (lacking > 0) this.#memory.grow(Math.ceil(lacking / PAGE));
  }

  slot(index: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory.buffer, SLOTS_AT + this.#bytes * index, this.#bytes);
  }

  run(words: Uint32Array, length: number): void {
    if (length > PROGRAM_WORDS) throw new RangeError('Cannot add blocks: the program is too long');
    new Uint32Array(this.#memory.buffer, PROGRAM_AT, length).set(words.subarray(0, length));
    this.#exports.run(PROGRAM_AT, length, SLOTS_AT, this.#bytes);
  }
}
