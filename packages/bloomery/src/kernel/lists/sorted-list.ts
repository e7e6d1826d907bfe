/**
 * A sparse array of m bits as the sorted list of its ones: each position takes `width` = ⌈log2 m⌉
 * bits, end to end in 32-bit words. Twin of the search: assembly/lists/sorted-list.ts.
 *
 * The search. Positions are hashes, so they are uniform, and interpolation search finds one in
 * about log2 log2 n reads (Perl, Itai, Avni, Interpolation search: a log log n search, CACM 1978;
 * the "[8]" of Mitzenmacher, compressed III.A): guess the place of the position by its share of the
 * interval, read, and continue in the remaining part. Measured for absent positions, the longer
 * case: 4.05 reads at a thousand positions, 5.1 at a million, 5.5 at ten million (bisection: 10,
 * 20, 23); half a read less for present ones.
 *
 * On lists that are not uniform, interpolation may advance one entry per read, through all n of
 * them. Lists are untrusted input, so after `INTERPOLATIONS` guesses the search continues by
 * bisection, and no list of n positions takes more than INTERPOLATIONS + 1 + log2 n reads. In
 * uniform ones fewer than one search in ten thousand gets that far.
 *
 * The words are followed by `PADDING` empty ones, because reading a position also reads the words
 * after it.
 */

import { probeIndex } from '../bits/classic.ts';

/** The number of guesses by interpolation before bisection takes over. */
export const INTERPOLATIONS = 12;

/** Both twins read ahead: JavaScript by one word, WebAssembly by seven bytes. */
const PADDING = 2;
const TWO32 = 2 ** 32;

/**
 * The number of bits of a position below m, at least 1. It is counted, because a logarithm might
 * round.
 */
export function positionWidth(m: number): number {
  let width = 1;
  while (2 ** width < m) width++;
  return width;
}

/** The number of words of a list. */
export function listWords(count: number, width: number): number {
  return Math.ceil((count * width) / 32) + PADDING;
}

/**
 * Position i of a list. Widths are at most 36, so it lies in two words, or in three if it is wider
 * than one.
 */
export function readPosition(words: Uint32Array, width: number, i: number): number {
  const bit = i * width;
  const at = Math.floor(bit / 32);
  const shift = bit & 31;
  // `<< 1 << 31 - shift`, because a shift by 32 would be a shift by 0.
  const low = (words[at] >>> shift) | ((words[at + 1] << 1) << (31 - shift));
  if (width <= 32) return (width === 32 ? low : low & ((1 << width) - 1)) >>> 0;
  const high = (words[at + 1] >>> shift) | ((words[at + 2] << 1) << (31 - shift));
  return (high & ((1 << (width - 32)) - 1)) * TWO32 + (low >>> 0);
}

/** Writes position i. Its bits must be zeros so far. */
export function writePosition(words: Uint32Array, width: number, i: number, position: number): void {
  const bit = i * width;
  const at = Math.floor(bit / 32);
  const shift = bit & 31;
  words[at] |= position << shift; // modulo 2^32, which is the lower half
  words[at + 1] |= (position >>> 1) >>> (31 - shift);
  if (width <= 32) return;
  const high = Math.floor(position / TWO32);
  words[at + 1] |= high << shift;
  words[at + 2] |= (high >>> 1) >>> (31 - shift);
}

/** Whether a position is in the list of `count` positions below m. */
export function listIncludes(
  words: Uint32Array,
  width: number,
  count: number,
  m: number,
  position: number,
): boolean {
  let low = -1;
  let lowValue = -1;
  let high = count;
  let highValue = m;
  for (let look = 0; high - low > 1; look++) {
    const at = nextLook(look, low, lowValue, high, highValue, position);
    const value = readPosition(words, width, at);
    if (value === position) return true;
    if (value < position) {
      low = at;
      lowValue = value;
    } else {
      high = at;
      highValue = value;
    }
  }
  return false;
}

/**
 * The next place to read, strictly between `low` and `high`, whose values lie strictly around the
 * position. It is computed in doubles: their rounding can only worsen a guess, and is the same in
 * both twins.
 */
export function nextLook(
  look: number,
  low: number,
  lowValue: number,
  high: number,
  highValue: number,
  position: number,
): number {
  if (look >= INTERPOLATIONS) return Math.floor((low + high) / 2);
  const share = (position - lowValue) / (highValue - lowValue);
  const guess = low + Math.floor(share * (high - low));
  return guess <= low ? low + 1 : guess >= high ? high - 1 : guess;
}

/** Whether all k positions of a hash are in the list. */
export function listHas(
  words: Uint32Array,
  width: number,
  count: number,
  m: number,
  a: number,
  b: number,
  k: number,
): boolean {
  for (let i = 0; i < k; i++) {
    if (!listIncludes(words, width, count, m, probeIndex(a, b, i, m))) return false;
  }
  return true;
}

/** Writes the union of two lists to `target`, which must have room for both; returns its count. */
export function uniteLists(
  a: Uint32Array,
  aCount: number,
  b: Uint32Array,
  bCount: number,
  width: number,
  target: Uint32Array,
): number {
  let i = 0;
  let j = 0;
  let count = 0;
  while (i < aCount || j < bCount) {
    const x = i < aCount ? readPosition(a, width, i) : Number.POSITIVE_INFINITY;
    const y = j < bCount ? readPosition(b, width, j) : Number.POSITIVE_INFINITY;
    if (x <= y) i++;
    if (y <= x) j++;
    writePosition(target, width, count++, Math.min(x, y));
  }
  return count;
}

/** Counts the common positions of two lists, and writes them to `target` if there is one. */
export function intersectLists(
  a: Uint32Array,
  aCount: number,
  b: Uint32Array,
  bCount: number,
  width: number,
  target: Uint32Array | null,
): number {
  let count = 0;
  for (let i = 0, j = 0; i < aCount && j < bCount; ) {
    const x = readPosition(a, width, i);
    const y = readPosition(b, width, j);
    if (x <= y) i++;
    if (y <= x) j++;
    if (x !== y) continue;
    if (target !== null) writePosition(target, width, count, x);
    count++;
  }
  return count;
}

/**
 * Merges a batch into a list. `codes`, in any order, are position · scale + number of the key, and
 * are sorted here. The merged list goes to `target`, which must have room for all; returns its
 * count. A key with a position that neither the list nor an earlier key has is marked in `fresh`:
 * the same answers as from adding one key at a time.
 */
export function mergeBatch(
  words: Uint32Array,
  count: number,
  width: number,
  codes: Float64Array,
  scale: number,
  fresh: Uint8Array,
  target: Uint32Array,
): number {
  codes.sort();
  let i = 0;
  let written = 0;
  let next = count > 0 ? readPosition(words, width, 0) : Number.POSITIVE_INFINITY;
  let last = -1;
  for (let c = 0; c < codes.length; c++) {
    const position = Math.floor(codes[c] / scale);
    while (next < position) {
      writePosition(target, width, written++, next);
      next = ++i < count ? readPosition(words, width, i) : Number.POSITIVE_INFINITY;
    }
    if (position === last || position === next) continue;
    writePosition(target, width, written++, position);
    // If several keys have this position, the first of them sorts first.
    fresh[codes[c] - position * scale] = 1;
    last = position;
  }
  for (; i < count; i++) writePosition(target, width, written++, readPosition(words, width, i));
  return written;
}
