/**
 * A static byte-wise rANS coder (Duda 2009) for arrays whose share of ones is known: the fast
 * coding for filters that are not sparse. Twin: assembly/coders/rans.ts.
 *
 * The bits of a filter are practically independent, so the probability of a byte depends only on
 * how many ones it has. These are nine numbers. Both sides compute them from the number of ones in
 * the whole array (`classFrequencies`), with integers only, because engines may differ in the last
 * digit of a power. No table is sent.
 *
 * A state x below 2^32 takes up a byte s of frequency f that begins at b among 2^14 slots:
 *
 *     encode:  while x >= f * 2^18: write the lower 16 bits of x, x >>>= 16
 *              x = floor(x / f) * 2^14 + x mod f + b
 *     decode:  slot = x mod 2^14, s = symbol[slot], x = f * (x >>> 14) + slot - b
 *              if x < 2^16: x = x * 2^16 + the next 16 bits
 *
 * Encoding goes from the last byte to the first and writes backwards, so that decoding reads
 * forwards. Several states take turns (byte i belongs to state i mod lanes), which lets the
 * processor work on all of them at once: a single state is bound by the latency of its own chain.
 * Most of the cost of the states is recovered. An encoder has to begin with states from 2^16 on,
 * and the lower half of a state may hold anything. So each state starts with two of the last bytes
 * of the piece there. The states come first in the code, 4 bytes each, little-endian.
 */

import { onesOf } from '../bits/bit-operations.ts';

const SCALE_BITS = 14;
const SCALE = 1 << SCALE_BITS;
const LOWER = 2 ** 16;

/**
 * The model of an array: the share of ones, out of 2^16, and for this kernel the tables that follow
 * from it.
 */
export class ByteModel {
  readonly share: number;
  #tables: ByteTables | undefined;

  /** `ones` of the `bits` bits are ones, neither none nor all. */
  constructor(ones: number, bits: number) {
    this.share = Math.max(1, Math.min(65535, Math.floor((65536 * ones) / bits)));
  }

  get tables(): ByteTables {
    return (this.#tables ??= byteTables(classFrequencies(this.share)));
  }
}

interface ByteTables {
  /** The frequency of each byte value. */
  readonly frequencies: Uint16Array;
  readonly starts: Uint16Array;
  /** The byte value of each slot. */
  readonly symbols: Uint8Array;
}

function byteTables(classes: readonly number[]): ByteTables {
  const frequencies = Uint16Array.from({ length: 256 }, (_, byte) => classes[onesOf(byte)]);
  const starts = new Uint16Array(256);
  const symbols = new Uint8Array(SCALE);
  for (let byte = 0, at = 0; byte < 256; byte++) {
    starts[byte] = at;
    symbols.fill(byte, at, at + frequencies[byte]);
    at += frequencies[byte];
  }
  return { frequencies, starts, symbols };
}

/**
 * The frequency, out of 2^14, of a byte with j ones: p^j * (1 - p)^(8 - j), at least 1. The slots
 * left over from rounding down go to whole classes of bytes, those that lost most first, and the
 * rest to the most frequent byte.
 *
 * With P = floor(2^16 * ones / bits), at least 1 and at most 2^16 - 1:
 *
 *     power(x, 0) = 2^26,  power(x, j) = floor(power(x, j - 1) * x / 2^16)
 *     share(j) = power(P, j) * power(2^16 - P, 8 - j)        below 2^52, exact in a double
 *     frequency(j) = max(1, floor(share(j) / 2^38))
 */
function classFrequencies(share: number): number[] {
  const ofOnes = powers(share);
  const ofZeros = powers(65536 - share);
  const wanted = Array.from({ length: 9 }, (_, j) => (ofOnes[j] * ofZeros[8 - j]) / 2 ** 38);
  const frequencies = wanted.map((value) => Math.max(1, Math.floor(value)));
  let left = SCALE;
  for (let j = 0; j < 9; j++) left -= CLASS_SIZES[j] * frequencies[j];
  const loss = (j: number) => wanted[j] - frequencies[j];
  const byLoss = [0, 1, 2, 3, 4, 5, 6, 7, 8].sort((a, b) => loss(b) - loss(a) || a - b);
  for (const j of byLoss) {
    if (loss(j) <= 0 || left < CLASS_SIZES[j]) continue;
    frequencies[j]++;
    left -= CLASS_SIZES[j];
  }
  // If raising rare bytes to 1 has taken too many slots, the most frequent byte gives them back.
  frequencies[share > 32768 ? 8 : 0] += left;
  return frequencies;
}

function powers(x: number): number[] {
  const result = [2 ** 26];
  for (let j = 1; j <= 8; j++) result.push(Math.floor((result[j - 1] * x) / 65536));
  return result;
}

/**
 * Codes `source`. Returns where in `target` the code begins; it ends with `target`, which must be
 * long enough.
 */
export function ransEncode(source: Uint8Array, model: ByteModel, lanes: number, target: Uint8Array): number {
  const { frequencies, starts } = model.tables;
  const coded = Math.max(0, source.length - 2 * lanes);
  // A short source is extended by zeros.
  const tail = (i: number) => (coded + i < source.length ? source[coded + i] : 0);
  const states = Float64Array.from({ length: lanes }, (_, i) => LOWER + tail(2 * i) + 256 * tail(2 * i + 1));
  let at = target.length;
  for (let i = coded - 1; i >= 0; i--) {
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

/** Decodes. Returns false if the code does not end where and how the encoder began. */
export function ransDecode(code: Uint8Array, model: ByteModel, lanes: number, target: Uint8Array): boolean {
  const { frequencies, starts, symbols } = model.tables;
  const words = new DataView(code.buffer, code.byteOffset, code.length);
  const states = Float64Array.from({ length: lanes }, (_, i) => words.getUint32(4 * i, true));
  const coded = Math.max(0, target.length - 2 * lanes);
  let at = 4 * lanes;
  for (let i = 0; i < coded; i++) {
    const lane = i % lanes;
    const slot = states[lane] % SCALE;
    const byte = symbols[slot];
    let x = frequencies[byte] * Math.floor(states[lane] / SCALE) + slot - starts[byte];
    if (x < LOWER) {
      if (at + 2 > code.length) return false;
      x = x * 65536 + words.getUint16(at, true);
      at += 2;
    }
    target[i] = byte;
    states[lane] = x;
  }
  for (let i = 0; i < 2 * lanes; i++) {
    const byte = (states[i >> 1] >>> (i % 2 === 0 ? 0 : 8)) & 255;
    if (coded + i < target.length) target[coded + i] = byte;
    else if (byte !== 0) return false;
  }
  return at === code.length && states.every((x) => x >= LOWER && x < 2 * LOWER);
}

const CLASS_SIZES = [1, 8, 28, 56, 70, 56, 28, 8, 1] as const;
