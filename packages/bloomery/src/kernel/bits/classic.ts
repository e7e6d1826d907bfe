/**
 * The probes of the classic filter (one array of m bits, k indices) and of its partitioned layout
 * (k slices of m/k bits, one index in each; survey 2.1). Twin: assembly/bits/classic.ts.
 *
 * From 64 bits of hash to k indices. The usual way, index i = h1 + i * h2 mod m, is an arithmetic
 * progression: when h2 is small, or shares a factor with m, the k probes collapse. That is
 * invisible at a million keys and ruins small filters (another library has 11 times the asked rate
 * at n = 20, p = 1e-5). Here the progression only feeds a mixing function, whose outputs are
 * independent as far as any test can see:
 *
 *     a, b = low and high half of the hash
 *     x(i) = mix(a + i * b)                  32 bits (mix: two rounds of xor-shift and multiply)
 *     y(i) = (b + 2 * i * a) >>> 16          16 bits below them
 *     index(i) = floor((x(i) + y(i) / 2^16) * range / 2^32)
 *
 * The map (a, b) -> (a + i * b, b + 2 * i * a) has the odd determinant 1 - 2 i^2, so it is a
 * bijection of 64 bits. Hence x and y are jointly uniform for every i, and the 48-bit fraction
 * reaches each of 2^36 bits, where 32 bits of hash would leave every second bit of a 2^33-bit
 * filter untouched.
 *
 * The multiplication replaces `% m` (exact, no bias beyond 2^-12 at the largest size, no division).
 * It also makes halving possible: floor(floor(u * m) / 2) = floor(u * m/2), so OR-ing neighbouring
 * bits 2j and 2j+1 gives exactly the filter of half the size, for every even m and not only for
 * powers of two (survey 2.4 masks the highest bit of an index modulo 2^j; with a multiplicative
 * range it is the lowest).
 *
 * All products below stay under 2^53 (a 16-bit piece times m <= 2^36), so they are exact in a
 * double. The obvious `hash * m / 2^32` is exact only up to m = 2^21, and the twins would disagree
 * beyond.
 */

const imul = Math.imul;
const SHIFT16 = 1 / 65536;

/**
 * The index of probe i in 0..range-1, range <= 2^36. `a` and `b` are the halves of the hash as
 * int32.
 */
export function probeIndex(a: number, b: number, i: number, range: number): number {
  let x = (a + imul(i, b)) | 0;
  x ^= x >>> 16;
  x = imul(x, 0x7feb352d);
  x ^= x >>> 15;
  x = imul(x, 0x846ca68b);
  const y = ((b + imul(2 * i, a)) >>> 16) * range;
  const low = (x & 0xffff) * range + Math.floor(y * SHIFT16);
  return Math.floor(((x >>> 16) * range + Math.floor(low * SHIFT16)) * SHIFT16);
}

/** `range` and `stride` are m and 0 for the classic layout, m/k and m/k for the partitioned one. */
export function classicHas(
  words: Uint32Array,
  a: number,
  b: number,
  range: number,
  stride: number,
  k: number,
): boolean {
  for (let i = 0, offset = 0; i < k; i++, offset += stride) {
    const bit = offset + probeIndex(a, b, i, range);
    // `&` and `>>>` take their operand modulo 2^32, which keeps the low bits of a larger index.
    if (((words[Math.floor(bit / 32)] >>> (bit & 31)) & 1) === 0) return false;
  }
  return true;
}

/**
 * Sets the key's bits. Returns true if at least one of them was 0, that is, if the key was
 * certainly absent. `set` is `setPlain`, or `setShared` for memory that other threads write as
 * well.
 */
export function classicAdd(
  words: Uint32Array,
  a: number,
  b: number,
  range: number,
  stride: number,
  k: number,
  set: SetBit,
): boolean {
  let changed = false;
  for (let i = 0, offset = 0; i < k; i++, offset += stride) {
    const bit = offset + probeIndex(a, b, i, range);
    if (set(words, Math.floor(bit / 32), 1 << (bit & 31))) changed = true;
  }
  return changed;
}

/** Sets a bit of a word; returns true if it was 0. */
export type SetBit = (words: Uint32Array, at: number, mask: number) => boolean;

export function setPlain(words: Uint32Array, at: number, mask: number): boolean {
  const old = words[at];
  words[at] = old | mask;
  return (old & mask) === 0;
}

/**
 * An atomic OR after a plain read. In a filter that is filling up, most bits are set already, and
 * then the cheap read is enough.
 */
export function setShared(words: Uint32Array, at: number, mask: number): boolean {
  return (words[at] & mask) === 0 && (Atomics.or(words, at, mask) & mask) === 0;
}
