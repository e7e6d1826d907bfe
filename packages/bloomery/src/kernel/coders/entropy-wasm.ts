/**
 * The coders of bit arrays in WebAssembly, on a memory of their own that grows with the largest
 * piece so far.
 *
 *     0       SYMBOLS  16384 bytes: the byte value of each slot of the rANS model
 *     16640   SPREADS  256 bytes: how words are distributed to states
 *     16896   CLASSES  frequencies of the bytes with 0 to 8 ones, and their inputs
 *     17024   STATES   16 words
 *     17408   TABLE    256 words: frequency and first slot of each byte value, for decoding
 *     18432   STEPS    4096 bytes: the same for encoding, and the reciprocal of the frequency
 *     22528   SOURCE   the input, and at least 64 zero bytes
 *     …       TARGET   on the next 64-byte boundary, and 64 bytes that may be overwritten
 */

import { platform, type WasmMemory } from '../../keys/platform.ts';
import { linkModule } from '../wasm/wasm-kernel.ts';
import { ENTROPY_BASE64 } from './entropy-binary.ts';
import type { ByteModel } from './rans.ts';

const SOURCE = 22528;
const PAGE = 65536;
/**
 * The number of bytes counted at once. Copying is cheapest into a range that stays in the
 * processor's cache.
 */
const COUNTED = 131072;

export class EntropyKernel {
  readonly #memory: WasmMemory;
  readonly #call: EntropyExports;
  /** A view of the whole memory, replaced when the memory grows. */
  #bytes: Uint8Array<ArrayBuffer>;
  /** The model whose tables are in the memory, and whether they are the tables for decoding. */
  #model: ByteModel | undefined;
  #decoding = false;

  constructor() {
    this.#memory = new platform.WebAssembly!.Memory({ initial: 4 });
    this.#call = linkModule(ENTROPY_BASE64, this.#memory);
    this.#bytes = new Uint8Array(this.#memory.buffer);
  }

  countOnes(words: Uint32Array): number {
    const bytes = bytesOf(words);
    let total = 0;
    for (let at = 0; at < bytes.length; at += COUNTED) {
      const part = bytes.subarray(at, at + COUNTED);
      this.#place(part, 0);
      total += this.#call.countOnes(SOURCE, part.length);
    }
    return total;
  }

  rangeEncode(source: Uint32Array, bits: number, ones: number, room: number): Uint8Array<ArrayBuffer> {
    const target = this.#place(bytesOf(source), room);
    return this.#take(target, this.#call.rangeEncode(SOURCE, bits, ones, target));
  }

  rangeDecode(code: Uint8Array, bits: number, ones: number, into: Uint32Array): boolean {
    const target = this.#place(code, into.byteLength);
    const sound = this.#call.rangeDecode(SOURCE, code.length, bits, ones, target) !== 0;
    this.#copyOut(target, bytesOf(into));
    return sound;
  }

  ransEncode(source: Uint8Array, model: ByteModel, lanes: number, room: number): Uint8Array<ArrayBuffer> {
    const target = this.#place(source, room);
    this.#useModel(model, false);
    const start = this.#call.ransEncode(SOURCE, source.length, lanes, target + room);
    return this.#take(start, target + room - start);
  }

  ransDecode(code: Uint8Array, model: ByteModel, lanes: number, into: Uint8Array): boolean {
    const target = this.#place(code, into.length);
    this.#useModel(model, true);
    const sound = this.#call.ransDecode(SOURCE, code.length, lanes, target, into.length) !== 0;
    this.#copyOut(target, into);
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
    this.#bytes.fill(0, target, target + room + 16);
    return this.#take(target, this.#call.golombEncode(SOURCE, source.byteLength, parameter, b, cut, target));
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
    this.#bytes.fill(0, target, target + into.byteLength);
    const sound = this.#call.golombDecode(SOURCE, code.length, bits, ones, parameter, b, cut, target) !== 0;
    this.#copyOut(target, bytesOf(into));
    return sound;
  }

  /** Copies the source in, followed by zeros, and returns the address of the target. */
  #place(source: Uint8Array, room: number): number {
    const target = (SOURCE + source.length + 64 + 63) & ~63;
    const missing = target + room + 64 - this.#bytes.length;
    if (missing > 0) {
      this.#memory.grow(Math.ceil(missing / PAGE));
      this.#bytes = new Uint8Array(this.#memory.buffer);
    }
    this.#bytes.set(source, SOURCE);
    this.#bytes.fill(0, SOURCE + source.length, target);
    return target;
  }

  #useModel(model: ByteModel, decoding: boolean): void {
    if (this.#model === model && this.#decoding === decoding) return;
    this.#call.ransModel(model.share, decoding ? 1 : 0);
    this.#model = model;
    this.#decoding = decoding;
  }

  #take(start: number, length: number): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(start, start + length);
  }

  #copyOut(start: number, into: Uint8Array): void {
    into.set(this.#bytes.subarray(start, start + into.length));
  }
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

interface EntropyExports {
  countOnes(source: number, length: number): number;
  rangeEncode(source: number, bits: number, ones: number, target: number): number;
  rangeDecode(code: number, length: number, bits: number, ones: number, target: number): number;
  ransModel(share: number, decoding: number): void;
  ransEncode(source: number, length: number, lanes: number, end: number): number;
  ransDecode(code: number, length: number, lanes: number, target: number, count: number): number;
  golombEncode(
    source: number,
    length: number,
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
