/**
 * Counters of a set, a byte each, from which two sides estimate their difference. Each key adds 1
 * to one of the counters, or subtracts it, by bits of its hash. So the difference of the counters
 * of two sets depends on the differing keys alone, and with k counters each has the variance d/k.
 * That is the tug-of-war sketch (Alon, Matias, Szegedy) with one counter per key.
 *
 * We tried the numbers in the first symbols, which need no sketch of their own. They take four
 * steps of a sequence for each key instead of one addition, and tell less about small differences.
 */

/** The most counters: 64 bytes estimate a difference with a standard deviation of 18 %. */
export const MOST_COUNTERS = 64;

/** Adds (1) or takes out (-1) the key with the lower half `low` of its hash. */
export function countHash(counters: Uint8Array, low: number, by: 1 | -1): void {
  counters[low & (counters.length - 1)] += low & 256 ? by : -by;
}

/** The counters of all keys. `words` are the lower and the upper halves of the hashes in turn. */
export function hashCounters(words: Int32Array): Uint8Array<ArrayBuffer> {
  const counters = new Uint8Array(MOST_COUNTERS);
  for (let i = 0; i < words.length; i += 2) countHash(counters, words[i], 1);
  return counters;
}

/** The same counters, as if there were only `count` of them, a power of two. */
export function foldedCounters(counters: Uint8Array, count: number): Uint8Array<ArrayBuffer> {
  const folded = new Uint8Array(count);
  for (let i = 0; i < counters.length; i++) folded[i & (count - 1)] += counters[i];
  return folded;
}
