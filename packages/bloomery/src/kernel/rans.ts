/**
 * A static byte-wise rANS coder (Duda 2009) for arrays whose share of ones is known: the fast form for filters that are
 * not sparse. Twin: assembly/modules/entropy.ts.
 *
 * The bits of a filter are independent for all that matters here, so the probability of a byte depends on how many ones
 * it has and on nothing else: nine numbers, computed by both sides from the number of ones in the whole array
 * (`classFrequencies`), with integers only, because engines may differ in the last digit of a power. No table is sent.
 *
 * A state x below 2^32 takes up a byte s of frequency f that begins at b among 2^14 slots:
 *
 *     encode:  while x >= f * 2^18: put out the lower 16 bits of x, x >>>= 16
 *              x = floor(x / f) * 2^14 + x mod f + b
 *     decode:  slot = x mod 2^14, s = symbol[slot], x = f * (x >>> 14) + slot - b
 *              if x < 2^16: x = x * 2^16 + the next 16 bits
 *
 * Encoding goes from the last byte to the first and writes backwards, so that decoding reads forwards. One state, or
 * four in turn (byte i belongs to state i mod 4), which lets the processor work on four at once; the states
 * stand at the beginning, 4 bytes each, little-endian.
 */

import { onesOf } from './bit-operations.ts';

export const SCALE_BITS = 14;
const SCALE = 1 << SCALE_BITS;
const LOWER = 2 ** 16;

/** The model of an array: frequency and first slot of each byte value, and the byte value of each slot. */
export class ByteModel {
  readonly frequencies = new Uint16Array(256);
  readonly starts = new Uint16Array(256);
  #symbols: Uint8Array | undefined;

  /** From the number of ones among `bits` bits, neither none nor all. Every frequency is at least 1. */
  constructor(ones: number, bits: number) {
    const classes = classFrequencies(ones, bits);
    let at = 0;
    for (let byte = 0; byte < 256; byte++) {
      this.frequencies[byte] = classes[onesOf(byte)];
      this.starts[byte] = at;
      at += this.frequencies[byte];
    }
  }

  /** Made when a decoder asks for it: an encoder does not. */
  get symbols(): Uint8Array {
    if (this.#symbols === undefined) {
      this.#symbols = new Uint8Array(SCALE);
      for (let byte = 0; byte < 256; byte++) {
        this.#symbols.fill(byte, this.starts[byte], this.starts[byte] + this.frequencies[byte]);
      }
    }
    return this.#symbols;
  }
}

/**
 * The frequency, out of 2^14, of a byte with j ones: p^j * (1 - p)^(8 - j), at least 1. What rounding down leaves
 * over goes to whole classes of bytes, those that lost most first, and the rest to the most frequent byte.
 *
 * With P = floor(2^16 * ones / bits), at least 1 and at most 2^16 - 1:
 *
 *     power(x, 0) = 2^26,  power(x, j) = floor(power(x, j - 1) * x / 2^16)
 *     share(j) = power(P, j) * power(2^16 - P, 8 - j)        below 2^52, exact in a double
 *     frequency(j) = max(1, floor(share(j) / 2^38))
 */
function classFrequencies(ones: number, bits: number): number[] {
  const one = Math.max(1, Math.min(65535, Math.floor((65536 * ones) / bits)));
  const ofOnes = powers(one);
  const ofZeros = powers(65536 - one);
  const shares = Array.from({ length: 9 }, (_, j) => (ofOnes[j] * ofZeros[8 - j]) / 2 ** 38);
  const frequencies = shares.map((share) => Math.max(1, Math.floor(share)));
  let left = SCALE;
  for (let j = 0; j < 9; j++) left -= CLASS_SIZES[j] * frequencies[j];
  const loss = (j: number) => shares[j] - frequencies[j];
  const byLoss = [0, 1, 2, 3, 4, 5, 6, 7, 8].sort((a, b) => loss(b) - loss(a) || a - b);
  for (const j of byLoss) {
    if (loss(j) <= 0 || left < CLASS_SIZES[j]) continue;
    frequencies[j]++;
    left -= CLASS_SIZES[j];
  }
  // Where raising rare bytes to 1 has taken too much, the most frequent byte gives it back.
  frequencies[one > 32768 ? 8 : 0] += left;
  return frequencies;
}

function powers(x: number): number[] {
  const result = [2 ** 26];
  for (let j = 1; j <= 8; j++) result.push(Math.floor((result[j - 1] * x) / 65536));
  return result;
}

/** Codes `source`; returns where in `target` the code begins: it ends with `target`, which must be long enough. */
export function ransEncode(source: Uint8Array, model: ByteModel, lanes: number, target: Uint8Array): number {
  const { frequencies, starts } = model;
  const states = new Float64Array(lanes).fill(LOWER);
  let at = target.length;
  for (let i = source.length - 1; i >= 0; i--) {
    const lane = i % lanes;
    const byte = source[i];
    const frequency = frequencies[byte];
    let x = states[lane];
    if (x >= frequency * 2 ** 18) {
      target[--at] = (x >>> 8) & 255;
      target[--at] = x & 255;
      x = x >>> 16;
    }
    const quotient = Math.floor(x / frequency);
    states[lane] = quotient * SCALE + (x - quotient * frequency) + starts[byte];
  }
  for (let lane = lanes - 1; lane >= 0; lane--) {
    for (let shift = 24; shift >= 0; shift -= 8) target[--at] = states[lane] >>> shift;
  }
  return at;
}

/** The inverse. False if the code does not end where and how the encoder began. */
export function ransDecode(code: Uint8Array, model: ByteModel, lanes: number, target: Uint8Array): boolean {
  const { frequencies, starts, symbols } = model;
  const states = new Float64Array(lanes);
  let at = 0;
  for (let lane = 0; lane < lanes; lane++, at += 4) {
    states[lane] = (code[at] | (code[at + 1] << 8) | (code[at + 2] << 16) | (code[at + 3] << 24)) >>> 0;
  }
  for (let i = 0; i < target.length; i++) {
    const lane = i % lanes;
    let x = states[lane];
    const slot = x & (SCALE - 1);
    const byte = symbols[slot];
    x = frequencies[byte] * (x >>> SCALE_BITS) + slot - starts[byte];
    if (x < LOWER) {
      // Beyond the end there are zeros, and the check at the end fails.
      x = x * 65536 + (at + 1 < code.length ? code[at] | (code[at + 1] << 8) : 0);
      at += 2;
    }
    target[i] = byte;
    states[lane] = x;
  }
  return at === code.length && states.every((x) => x === LOWER);
}

const CLASS_SIZES = [1, 8, 28, 56, 70, 56, 28, 8, 1] as const;
