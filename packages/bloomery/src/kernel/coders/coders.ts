/**
 * The three coders of bit arrays, in the kernel that is in use. Both kernels give the same bytes.
 */

import { countOnes } from '../bits/bit-operations.ts';
import { wasmKernel } from '../wasm/kernel-choice.ts';
import { WASM_POSSIBLE } from '../wasm/wasm-possible.ts';
import { EntropyKernel } from './entropy-wasm.ts';
import { golombBound, golombDecode, golombEncode, remainderBits } from './golomb.ts';
import { rangeDecode, rangeEncode } from './range-coder.ts';
import { type ByteModel, ransDecode, ransEncode } from './rans.ts';

/** The number of ones. */
export function onesIn(words: Uint32Array): number {
  const wasm = entropyKernel();
  return WASM_POSSIBLE && wasm !== null ? wasm.countOnes(words) : countOnes(words);
}

/** The exact coding; see range-coder.ts. `bits` is at most 2^31. */
export function encodeRange(words: Uint32Array, bits: number, ones: number): Uint8Array {
  // A bit costs at most 16 bits, and only as often as the count is wrong. With the true count the
  // code is never longer than the array.
  const room = Math.ceil(bits / 8) + 64;
  const wasm = entropyKernel();
  if (WASM_POSSIBLE && wasm !== null) return wasm.rangeEncode(words, bits, ones, room);
  const target = new Uint8Array(room);
  return target.slice(0, rangeEncode(words, bits, ones, target));
}

/**
 * Returns false if the code does not have `ones` ones, or ends with a zero, which is never written.
 * `into` is overwritten.
 */
export function decodeRange(code: Uint8Array, bits: number, ones: number, into: Uint32Array): boolean {
  if (code.length > 0 && code[code.length - 1] === 0) return false;
  const wasm = entropyKernel();
  if (WASM_POSSIBLE && wasm !== null) return wasm.rangeDecode(code, bits, ones, into);
  return rangeDecode(code, bits, ones, into);
}

/** The fast coding for arrays that are not sparse; see rans.ts. */
export function encodeRans(bytes: Uint8Array, model: ByteModel, lanes: number): Uint8Array {
  // A byte of frequency 1 takes 15 bits.
  const room = 2 * bytes.length + 4 * lanes + 2;
  const wasm = entropyKernel();
  if (WASM_POSSIBLE && wasm !== null) return wasm.ransEncode(bytes, model, lanes, room);
  const target = new Uint8Array(room);
  return target.slice(ransEncode(bytes, model, lanes, target));
}

/** Returns false if the code does not end as required. `into` is overwritten. */
export function decodeRans(code: Uint8Array, model: ByteModel, lanes: number, into: Uint8Array): boolean {
  const wasm = entropyKernel();
  if (code.length < 4 * lanes) return false;
  if (WASM_POSSIBLE && wasm !== null) return wasm.ransDecode(code, model, lanes, into);
  return ransDecode(code, model, lanes, into);
}

/** The fast coding for sparse arrays; see golomb.ts. */
export function encodeGolomb(words: Uint32Array, bits: number, ones: number, parameter: number): Uint8Array {
  const room = Math.ceil(golombBound(ones, bits, parameter) / 8) + 16;
  const wasm = entropyKernel();
  if (WASM_POSSIBLE && wasm !== null) {
    const b = remainderBits(parameter);
    return wasm.golombEncode(words, parameter, b, 2 ** b - parameter, room);
  }
  const target = new Uint8Array(room);
  return target.slice(0, golombEncode(words, parameter, target));
}

/**
 * Returns false if the code does not give exactly `ones` positions below `bits`. `into` is
 * overwritten.
 */
export function decodeGolomb(
  code: Uint8Array,
  bits: number,
  ones: number,
  parameter: number,
  into: Uint32Array,
): boolean {
  const wasm = entropyKernel();
  if (WASM_POSSIBLE && wasm !== null) {
    const b = remainderBits(parameter);
    return wasm.golombDecode(code, bits, ones, parameter, b, 2 ** b - parameter, into);
  }
  into.fill(0);
  return golombDecode(code, bits, ones, parameter, into);
}

let instance: EntropyKernel | undefined;

function entropyKernel(): EntropyKernel | null {
  if (!WASM_POSSIBLE || wasmKernel() === null) return null;
  return (instance ??= new EntropyKernel());
}
