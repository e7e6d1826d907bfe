/**
 * DCSO's sequence of hashes: the first is h mod P, each next one is h · g mod 2^64, mod P, with P =
 * 2^64 - 59 and g = 18446744073709550147. It is computed in register 0 of int64.ts.
 */

import { multiply, r, set } from '../shared/int64.ts';

export function beginSequence(low: number, high: number): void {
  set(0, low, high);
  reduce();
}

export function nextInSequence(): void {
  multiply(0, GENERATOR_LOW, -1);
  reduce();
}

/** The lower halves of P and g. The upper halves are all ones. */
const PRIME_LOW = 0xffffffc5;
const GENERATOR_LOW = 0xfffffa43 | 0;

/** Reduces mod P by at most one subtraction, since 2 P > 2^64. One hash in 3 · 10^17 needs it. */
function reduce(): void {
  if (r[1] === -1 && r[0] >>> 0 >= PRIME_LOW) set(0, r[0] - PRIME_LOW, 0);
}
