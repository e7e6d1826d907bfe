/**
 * Counters of a set, from which two sides estimate their difference. Each key adds 1 to one of 256
 * counters, or subtracts it, by bits of its hash. So the difference of the counters of two sets
 * depends on the differing keys alone, and each has the variance d/256. That is the tug-of-war
 * sketch (Alon, Matias, Szegedy) with one counter per key.
 *
 * A hello has a *sketch* of them. Its first 8 bytes are coarse: the counters added up to 8 of them,
 * modulo 256, which tell any difference within a factor of two or so. In a session that saves round
 * trips, 64 bytes follow: all 256 counters modulo 4, which tell up to 220 differences within 9 %.
 *
 * We tried the numbers of ids in the first symbols instead, which would make the sketch
 * superfluous. They take four steps of a sequence for each key instead of one addition, and tell
 * less about small differences.
 */

export const COUNTERS = 256;
/** Bytes of the coarse part of a sketch, and of a whole one. */
export const COARSE = 8;
const FINE = 64;
export const WHOLE: number = COARSE + FINE;

/** Adds (1) or takes out (-1) the key with the lower half `low` of its hash. */
export function countHash(counters: Uint8Array, low: number, by: 1 | -1): void {
  counters[low & (COUNTERS - 1)] += low & COUNTERS ? by : -by;
}

/** The counters of all keys. `words` are the lower and the upper halves of the hashes in turn. */
export function hashCounters(words: Int32Array): Uint8Array<ArrayBuffer> {
  const counters = new Uint8Array(COUNTERS);
  for (let i = 0; i < words.length; i += 2) countHash(counters, words[i], 1);
  return counters;
}

/** The sketch of counters, of `bytes` bytes: coarse or whole. */
export function sketchOf(counters: Uint8Array, bytes: number): Uint8Array<ArrayBuffer> {
  const sketch = new Uint8Array(bytes);
  for (let i = 0; i < COUNTERS; i++) {
    sketch[i % COARSE] += counters[i];
    // Four counters share a byte: i, i + 64, i + 128 and i + 192. Writes beyond the end are lost.
    sketch[COARSE + (i % FINE)] |= (counters[i] & 3) << (2 * Math.floor(i / FINE));
  }
  return sketch;
}
