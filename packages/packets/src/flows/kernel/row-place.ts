/**
 * The counters of a key in the rows of a filter, from one 64-bit hash: the upper half of hash ·
 * factor, scaled to the width, with an odd factor for each row.
 *
 * Double hashing (a + i·b) was refused: two keys that collide in two rows collide in all of them,
 * so four rows would filter as two do.
 */

/** Hexadecimal digits of π, each made odd. */
export const ROW_FACTORS: readonly bigint[] = [
  0x243f6a8885a308d3n,
  0x13198a2e03707345n,
  0xa4093822299f31d1n,
  0x082efa98ec4e6c89n,
  0x452821e638d01377n,
  0xbe5466cf34e90c6dn,
  0xc0ac29b7c97c50ddn,
  0x3f84d5b5b5470917n,
];

const LOW = Int32Array.from(ROW_FACTORS, (factor) => Number(BigInt.asIntN(32, factor)));
const HIGH = Int32Array.from(ROW_FACTORS, (factor) => Number(BigInt.asIntN(32, factor >> 32n)));

/** The place from 0 to width - 1 in a row. `width` is at most 2^21, so the product is exact. */
export function rowPlace(hash: Int32Array, row: number, width: number): number {
  const product =
    (upperProduct(hash[0], LOW[row]) + Math.imul(hash[1], LOW[row]) + Math.imul(hash[0], HIGH[row])) >>> 0;
  return Math.floor((product * width) / 2 ** 32);
}

/** The upper 32 bits of the product of two unsigned 32-bit numbers. */
function upperProduct(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + (Math.imul(aLow, bLow) >>> 16);
  const carry = (middle % 65536) + aLow * bHigh;
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(carry / 65536)) | 0;
}
