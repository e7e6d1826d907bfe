/** Symbols of content that is whole: any id gives one, and any receiver can use any of them. */

import { type BlockMemory, BlockProgram } from './kernel/block-memory.ts';
import { type BlockKernel, makeBlocks } from './kernel/make-blocks.ts';
import type { SymbolCode } from './symbol-code.ts';

export interface SymbolEncoderOptions {
  /** 'auto' by default: WebAssembly wherever it compiles. */
  readonly kernel?: BlockKernel;
}

export class SymbolEncoder {
  readonly code: SymbolCode;
  readonly #memory: BlockMemory;
  readonly #program: BlockProgram;

  /** Copies the content, which has `code.bytes` bytes. */
  constructor(code: SymbolCode, content: Uint8Array, { kernel = 'auto' }: SymbolEncoderOptions = {}) {
    if (content.length !== code.bytes)
      throw new RangeError(`Cannot encode: expected ${code.bytes} bytes, got ${content.length}`);
    this.code = code;
    this.#memory = makeBlocks(code.blockBytes, code.blocks + 1, kernel);
    for (let block = 0; block < code.blocks; block++) {
      const from = block * code.blockBytes;
      this.#memory.slot(block).set(content.subarray(from, from + code.blockBytes));
    }
    this.#program = new BlockProgram(this.#memory);
  }

  get kernel(): 'wasm' | 'javascript' {
    return this.#memory.kernel;
  }

  /** The bytes of a symbol. Those of `into`, if it is given, are overwritten and returned. */
  symbol(id: number, into: Uint8Array = new Uint8Array(this.code.blockBytes)): Uint8Array {
    const { blocks } = this.code;
    this.#program.target(blocks, true);
    for (const block of this.code.blocksOf(id)) this.#program.source(block);
    this.#program.finish();
    into.set(this.#memory.slot(blocks));
    return into;
  }
}
