/**
 * The frames of structures that hold a total and counters: SpectralBloomFilter, CountMinSketch,
 * HeavyHitters, RangeSketch. They are separate from the classes that write them, so that a
 * program can check and parse such a frame without those classes.
 */

import { MAX_BITS } from '../math/checks.ts';
import { MAX_EXACT_BITS, MAX_UNIVERSE_BITS } from '../math/sketches/range-sketch.ts';
import { viewOf } from './envelope.ts';
import { checkParameters, type FrameKind } from './frame.ts';

export const SPECTRAL_METHODS = ['minimum-selection', 'minimal-increase', 'recurring-minimum'] as const;
export const COUNT_MIN_UPDATES = ['plain', 'conservative'] as const;

/** Number of bits of the total, which precedes the counters. */
const TOTAL_BITS = 64;
/** The same in bytes. */
export const TOTAL_BYTES = TOTAL_BITS / 8;

/**
 * Parameters: counters, counters of the second array, hashes, bits of a counter, capacity (0 if
 * there is none). The variant is the method.
 */
export const SPECTRAL_FRAME: FrameKind = {
  code: 4,
  name: 'SpectralBloomFilter',
  widths: [5, 5, 1, 1, 6],
  payloadBits: (variant, [counters, secondary, hashes, counterBits]) => {
    const bits = (counters + secondary) * counterBits;
    const sound =
      variant < SPECTRAL_METHODS.length &&
      [8, 16, 32].includes(counterBits) &&
      counters > 0 &&
      secondary > 0 === (SPECTRAL_METHODS[variant] === 'recurring-minimum') &&
      hashes > 0 &&
      bits <= MAX_BITS;
    checkParameters(
      sound,
      `method ${variant}, ${counters} + ${secondary} counters of ${counterBits} bits and ${hashes} hashes`,
    );
    return TOTAL_BITS + bits;
  },
};

/** Parameters: width, depth, bits of a counter. The variant is the update. */
export const COUNT_MIN_FRAME: FrameKind = {
  code: 5,
  name: 'CountMinSketch',
  widths: [5, 1, 1],
  payloadBits: sketchBits,
};

/**
 * Parameters: width, depth, bits of a counter, threshold (as halves of a double), bytes of the
 * candidates. The variant is the update.
 */
export const HEAVY_FRAME: FrameKind = {
  code: 12,
  name: 'HeavyHitters',
  widths: [5, 1, 1, 4, 4, 5],
  payloadBits: (variant, parameters) => {
    const threshold = doublesOf(parameters.slice(3, 5))[0];
    checkParameters(threshold > 0 && threshold < 1, `threshold ${threshold}`);
    return sketchBits(variant, parameters) + 8 * parameters[5];
  },
};

/**
 * Parameters: bits of a key, bits of an exact interval, width, depth, bits of a counter. The
 * variant is the update. The exact counts precede the sketch, which is missing where all are exact.
 */
export const RANGE_FRAME: FrameKind = {
  code: 13,
  name: 'RangeSketch',
  widths: [1, 1, 5, 1, 1],
  payloadBits: (variant, [universeBits, exactBits, width, depth, counterBits]) => {
    const exact = exactBits === universeBits;
    checkParameters(
      universeBits >= 1 &&
        universeBits <= MAX_UNIVERSE_BITS &&
        exactBits <= Math.min(universeBits, MAX_EXACT_BITS) &&
        (!exact || (width === 0 && depth === 0)),
      `keys of ${universeBits} bits, ${exactBits} of them exact, and ${depth} rows of ${width} counters`,
    );
    const shape = exact ? [1, 1, counterBits] : [width, depth, counterBits];
    const bits = sketchBits(variant, shape);
    return exactCountBits(exactBits) + (exact ? 0 : bits);
  },
};

/** Number of bits of the exact counts of a RangeSketch. */
export function exactCountBits(exactBits: number): number {
  return 64 * 2 ** exactBits;
}

/** Doubles from their halves of 32 bits in a frame, the lower half first. */
export function doublesOf(halves: readonly number[]): Float64Array {
  return new Float64Array(Uint32Array.from(halves).buffer);
}

/** The halves of a double, the lower half first. */
export function halvesOf(double: number): Uint32Array {
  return new Uint32Array(Float64Array.of(double).buffer);
}

/**
 * Number of bytes of a candidate of HeavyHitters before its key: type (1), count (8), at least (8),
 * length of the key (4).
 */
export const CANDIDATE_BYTES = 21;

/** A candidate of HeavyHitters as written in a frame. */
export interface CandidateRecord {
  /** Offset of its first byte. */
  readonly at: number;
  /** The number of the key's type. */
  readonly type: number;
  readonly count: number;
  readonly atLeast: number;
  readonly key: Uint8Array;
}

/**
 * Reads the candidates at the end of a payload. `fail` throws if one is cut off, and gets the
 * offset in `bytes`.
 */
export function* candidateRecords(
  bytes: Uint8Array,
  fail: (at: number, what: string) => never,
): Generator<CandidateRecord> {
  const view = viewOf(bytes);
  for (let at = 0; at < bytes.length; ) {
    const start = at + CANDIDATE_BYTES;
    if (start > bytes.length) fail(at, 'a candidate that is cut off');
    const length = view.getUint32(at + 17, true);
    const left = bytes.length - start;
    if (length > left) fail(at + 17, `a key of ${length} bytes where ${left} are left`);
    yield {
      at,
      type: bytes[at],
      count: Number(view.getBigUint64(at + 1, true)),
      atLeast: Number(view.getBigUint64(at + 9, true)),
      key: bytes.subarray(start, start + length),
    };
    at = start + length;
  }
}

/** Checks the parameters of a sketch. Returns the number of bits of its total and its counters. */
function sketchBits(variant: number, [width, depth, counterBits]: readonly number[]): number {
  const bits = width * depth * counterBits;
  const sound =
    variant < COUNT_MIN_UPDATES.length &&
    (counterBits === 32 || counterBits === 64) &&
    bits > 0 &&
    bits <= MAX_BITS;
  checkParameters(sound, `update ${variant}, ${depth} rows of ${width} counters of ${counterBits} bits`);
  return TOTAL_BITS + bits;
}
