/**
 * Registers of 64 bits for the foreign hashes. `r` holds them as pairs of int32, low half first,
 * and a register is named by the index of its low half. With an array instead of local variables
 * the hashes read like their definitions.
 */

import { mulHigh } from '../../hashing/mul-high.ts';

export const r = /* @__PURE__ */ new Int32Array(4);

export function set(at: number, low: number, high: number): void {
  r[at] = low;
  r[at + 1] = high;
}

export function add(at: number, low: number, high: number): void {
  const sum = (r[at] + low) | 0;
  r[at + 1] += high + (sum >>> 0 < low >>> 0 ? 1 : 0);
  r[at] = sum;
}

export function xor(at: number, low: number, high: number): void {
  r[at] ^= low;
  r[at + 1] ^= high;
}

export function multiply(at: number, low: number, high: number): void {
  const a = r[at];
  r[at + 1] = mulHigh(a, low) + Math.imul(a, high) + Math.imul(r[at + 1], low);
  r[at] = Math.imul(a, low);
}

/** x ^= x >>> places, for 32 to 63 places. */
export function xorShift(at: number, places: number): void {
  r[at] ^= r[at + 1] >>> (places - 32);
}
