/**
 * The coders of bit arrays in WebAssembly, on a memory of their own that grows with the largest piece it has seen.
 *
 *     0       SYMBOLS  16384 bytes: the byte value of each slot of the model
 *     32768   TABLE    256 words: frequency and first slot of each byte value
 *     36864   SOURCE   what is coded or decoded, and 16 zero bytes
 *     …       TARGET   on the next 64-byte boundary
 */

import { ENTROPY_BASE64 } from './entropy-binary.ts';
import { platform, type WasmMemory } from './platform.ts';
import type { ByteModel } from './rans.ts';
import { linkModule } from './wasm-kernel.ts';

const SYMBOLS = 0;
const TABLE = 32768;
const SOURCE = 36864;
const PAGE = 65536;

export class EntropyKernel {
  readonly #memory: WasmMemory;
  readonly #call: EntropyExports;
  #model: ByteModel | undefined;

  constructor() {
    this.#memory = new platform.WebAssembly!.Memory({ initial: 4 });
    this.#call = linkModule(ENTROPY_BASE64, this.#memory);
  }

  rangeEncode(source: Uint32Array, bits: number, ones: number, room: number): Uint8Array<ArrayBuffer> {
    const target = this.#place(bytesOf(source), room);
    return this.#take(target, this.#call.rangeEncode(SOURCE, bits, ones, target));
  }

  rangeDecode(code: Uint8Array, bits: number, ones: number, into: Uint32Array): boolean {
    const target = this.#place(code, into.byteLength);
    const sound = this.#call.rangeDecode(SOURCE, code.length, bits, ones, target) !== 0;
    bytesOf(into).set(this.#bytes(target, into.byteLength));
    return sound;
  }

  ransEncode(source: Uint8Array, model: ByteModel, lanes: number, room: number): Uint8Array<ArrayBuffer> {
    const target = this.#place(source, room);
    this.#useModel(model, false);
    const start = this.#call.ransEncode(SOURCE, source.length, TABLE, lanes, target + room);
    return this.#take(start, target + room - start);
  }

  ransDecode(code: Uint8Array, model: ByteModel, lanes: number, into: Uint8Array): boolean {
    const target = this.#place(code, into.length);
    this.#useModel(model, true);
    const { length } = into;
    const sound = this.#call.ransDecode(SOURCE, code.length, TABLE, SYMBOLS, lanes, target, length) !== 0;
    into.set(this.#bytes(target, length));
    return sound;
  }

  golombEncode(
    source: Uint32Array,
    parameter: number,
    b: number,
    cut: number,
    room: number,
  ): Uint8Array<ArrayBuffer> {
    const target = this.#place(bytesOf(source), room);
    this.#bytes(target, room + 16).fill(0);
    return this.#take(target, this.#call.golombEncode(SOURCE, source.length, parameter, b, cut, target));
  }

  golombDecode(
    code: Uint8Array,
    bits: number,
    ones: number,
    parameter: number,
    b: number,
    cut: number,
    into: Uint32Array,
  ): boolean {
    const target = this.#place(code, into.byteLength);
    this.#bytes(target, into.byteLength).fill(0);
    const sound = this.#call.golombDecode(SOURCE, code.length, bits, ones, parameter, b, cut, target) !== 0;
    bytesOf(into).set(this.#bytes(target, into.byteLength));
    return sound;
  }

  /** Copies the source in, with zeros behind it, and says where the target is. */
  #place(source: Uint8Array, room: number): number {
    const target = (SOURCE + source.length + 16 + 63) & ~63;
    // Stores may be eight bytes wide.
    const missing = target + room + 16 - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE));
    const bytes = new Uint8Array(this.#memory.buffer);
    bytes.set(source, SOURCE);
    bytes.fill(0, SOURCE + source.length, target);
    return target;
  }

  #useModel(model: ByteModel, decoding: boolean): void {
    if (this.#model === model) return;
    const { frequencies, starts } = model;
    const table = new Uint16Array(this.#memory.buffer, TABLE, 512);
    for (let byte = 0; byte < 256; byte++) {
      table[2 * byte] = frequencies[byte];
      table[2 * byte + 1] = starts[byte];
    }
    if (decoding) this.#bytes(SYMBOLS, model.symbols.length).set(model.symbols);
    this.#model = decoding ? model : undefined;
  }

  #take(start: number, length: number): Uint8Array<ArrayBuffer> {
    return this.#bytes(start, length).slice();
  }

  #bytes(start: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory.buffer, start, length);
  }
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

interface EntropyExports {
  rangeEncode(source: number, bits: number, ones: number, target: number): number;
  rangeDecode(code: number, length: number, bits: number, ones: number, target: number): number;
  ransEncode(source: number, length: number, table: number, lanes: number, end: number): number;
  ransDecode(
    code: number,
    length: number,
    table: number,
    symbols: number,
    lanes: number,
    target: number,
    count: number,
  ): number;
  golombEncode(
    source: number,
    words: number,
    parameter: number,
    b: number,
    cut: number,
    target: number,
  ): number;
  golombDecode(
    code: number,
    length: number,
    bits: number,
    ones: number,
    parameter: number,
    b: number,
    cut: number,
    target: number,
  ): number;
}
