/**
 * Counters that keys share: the loops of the Count-Min sketch and of the spectral Bloom filter.
 * Twin: assembly/counters/sketches.ts.
 *
 * A key has k counters: counter i is `offset + i * stride + probeIndex(a, b, first + i, range)`.
 * With stride = range the k indices fall into k separate rows (Count-Min). With stride 0 they share
 * one array (spectral), and some of a key's indices may coincide. Such a counter counts once: all
 * values are read before any is written, so writing it twice writes the same number twice.
 *
 * A counter has 8, 16, 32 or 64 bits, little-endian, so counter j of 32 bits is word j. Those of 64
 * bits hold integers only up to 2^53 - 1, which are exact in a double. Counters saturate, and a
 * saturated one is never decremented: the additions that it missed are unknown, and any lower value
 * could be below the truth.
 *
 * Three rules of updating:
 *
 * - sum: each counter grows by the amount (Cormode and Muthukrishnan, LATIN 2004; "minimum
 *   selection" of Cohen and Matias, SIGMOD 2003). This can be undone.
 * - raise: with M the least of the k counters, each becomes at least M + amount ("conservative
 *   update" of Estan and Varghese, SIGCOMM 2002, survey 8.1; "minimal increase" of Cohen and
 *   Matias). This cannot be undone.
 * - recurring: sum, and a key whose least value occurs in only one of its counters is also counted
 *   in a second array ("recurring minimum" of Cohen and Matias).
 *   filters/spectral/spectral-bloom-filter.ts says why.
 *
 * The k positions and values of the current key lie in two small arrays of the module: a closure or
 * a new array for each key would cost more than the probes.
 */

import { probeIndex } from '../bits/classic.ts';

export type SketchCounterBits = 8 | 16 | 32 | 64;

/** The location of a key's counters. */
export interface SketchShape {
  readonly bits: SketchCounterBits;
  readonly range: number;
  /** 0 for a single array, otherwise the length of a row. */
  readonly stride: number;
  readonly k: number;
  /** The number of the first probe. Two arrays for one hash use probes with different numbers. */
  readonly first: number;
  /** The number of the first counter. */
  readonly offset: number;
}

/** The value at which a counter stops, which stands for "this or more". */
export function counterMaximum(bits: SketchCounterBits): number {
  // Not 2 ** bits - 1, because the power costs as much as the probes of a key.
  return bits === 32 ? 0xffffffff : bits === 64 ? Number.MAX_SAFE_INTEGER : bits === 16 ? 0xffff : 0xff;
}

/** The least of the key's counters. Stops at a 0. */
export function leastCounter(words: Uint32Array, shape: SketchShape, a: number, b: number): number {
  const { bits, range, stride, k, first } = shape;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0, start = shape.offset; i < k && least > 0; i++, start += stride) {
    const value = readCounter(words, bits, start + probeIndex(a, b, first + i, range));
    if (value < least) least = value;
  }
  return least;
}

/** Rule "sum". Returns the least counter before the addition. */
export function sumInto(
  words: Uint32Array,
  shape: SketchShape,
  a: number,
  b: number,
  amount: number,
): number {
  const { bits, k } = shape;
  const maximum = counterMaximum(bits);
  const least = find(words, shape, a, b);
  for (let i = 0; i < k; i++) {
    // The sum may exceed the exact integers, but only beyond the maximum.
    writeCounter(words, bits, positions[i], Math.min(values[i] + amount, maximum));
  }
  return least;
}

/** Rule "raise". Returns the least counter before the addition. */
export function raiseInto(
  words: Uint32Array,
  shape: SketchShape,
  a: number,
  b: number,
  amount: number,
): number {
  const { bits, k } = shape;
  const least = find(words, shape, a, b);
  const target = Math.min(least + amount, counterMaximum(bits));
  for (let i = 0; i < k; i++) if (values[i] < target) writeCounter(words, bits, positions[i], target);
  return least;
}

/**
 * Undoes `sumInto`. Returns false, and changes nothing, if a counter is too small, because the key
 * was not added that often.
 */
export function subtractFrom(
  words: Uint32Array,
  shape: SketchShape,
  a: number,
  b: number,
  amount: number,
): boolean {
  const { bits, k } = shape;
  const maximum = counterMaximum(bits);
  find(words, shape, a, b);
  for (let i = 0; i < k; i++) if (values[i] < amount && values[i] < maximum) return false;
  for (let i = 0; i < k; i++) {
    if (values[i] < maximum) writeCounter(words, bits, positions[i], values[i] - amount);
  }
  return true;
}

/** Rule "recurring": the count of a key. The second array is used only if the first is in doubt. */
export function recurringCount(
  words: Uint32Array,
  first: SketchShape,
  second: SketchShape,
  a: number,
  b: number,
): number {
  const least = find(words, first, a, b);
  if (least === 0 || recurs(first.k, least)) return least;
  const moved = leastCounter(words, second, a, b);
  return moved > 0 && moved < least ? moved : least;
}

/**
 * Rule "recurring": adds an amount. Returns the least counter of the first array before the
 * addition.
 */
export function recurringInto(
  words: Uint32Array,
  first: SketchShape,
  second: SketchShape,
  a: number,
  b: number,
  amount: number,
): number {
  const before = sumInto(words, first, a, b, amount);
  if (amount === 0) return before;
  const maximum = counterMaximum(first.bits);
  const least = Math.min(maximum, before + amount);
  // If the least counter is at its maximum, all of them are equal, whatever they were before.
  const single = least === maximum ? !distinct(first.k) : !recurs(first.k, before);
  const moved = leastCounter(words, second, a, b);
  if (moved > 0) sumInto(words, second, a, b, amount);
  else if (single) sumInto(words, second, a, b, least);
  return before;
}

/**
 * Rule "recurring": undoes an addition. Returns false, and changes nothing, if the key was not
 * added that often.
 */
export function recurringFrom(
  words: Uint32Array,
  first: SketchShape,
  second: SketchShape,
  a: number,
  b: number,
  amount: number,
): boolean {
  if (!subtractFrom(words, first, a, b, amount)) return false;
  // A key that is in the second array is there with all its additions. So if this fails, the key
  // was never there.
  if (leastCounter(words, second, a, b) > 0) subtractFrom(words, second, a, b, amount);
  return true;
}

export function readCounter(words: Uint32Array, bits: SketchCounterBits, at: number): number {
  if (bits === 32) return words[at];
  if (bits === 64) return words[2 * at] + words[2 * at + 1] * 4294967296;
  if (bits === 16) return (words[Math.floor(at / 2)] >>> ((at & 1) << 4)) & 0xffff;
  return (words[Math.floor(at / 4)] >>> ((at & 3) << 3)) & 0xff;
}

export function writeCounter(words: Uint32Array, bits: SketchCounterBits, at: number, value: number): void {
  if (bits === 32) {
    words[at] = value;
  } else if (bits === 64) {
    words[2 * at] = value; // typed arrays store modulo 2^32
    words[2 * at + 1] = value / 4294967296;
  } else {
    const word = Math.floor(bits === 16 ? at / 2 : at / 4);
    const shift = bits === 16 ? (at & 1) << 4 : (at & 3) << 3;
    words[word] = (words[word] & ~((bits === 16 ? 0xffff : 0xff) << shift)) | (value << shift);
  }
}

/** Positions and values of the current key's counters. k is at most 255. */
const positions = /* @__PURE__ */ new Float64Array(256);
const values = /* @__PURE__ */ new Float64Array(256);

/** Leaves the key's counters in `positions` and `values`, and returns the least value. */
function find(words: Uint32Array, shape: SketchShape, a: number, b: number): number {
  const { bits, range, stride, k, first } = shape;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0, start = shape.offset; i < k; i++, start += stride) {
    const at = start + probeIndex(a, b, first + i, range);
    const value = readCounter(words, bits, at);
    positions[i] = at;
    values[i] = value;
    if (value < least) least = value;
  }
  return least;
}

/** Whether two different counters among those found hold the least value. */
function recurs(k: number, least: number): boolean {
  let seen = -1;
  for (let i = 0; i < k; i++) {
    if (values[i] !== least || positions[i] === seen) continue;
    if (seen >= 0) return true;
    seen = positions[i];
  }
  return false;
}

/** Whether there are at least two different counters among those found. */
function distinct(k: number): boolean {
  for (let i = 1; i < k; i++) if (positions[i] !== positions[0]) return true;
  return false;
}
