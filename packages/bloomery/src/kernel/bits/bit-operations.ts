/**
 * Operations on whole arrays: counting, combining, folding. They are linear passes that run at
 * memory speed in JavaScript.
 */

/** The number of ones. */
export function countOnes(words: Uint32Array): number {
  let total = 0;
  for (let i = 0; i < words.length; i++) total += onesOf(words[i]);
  return total;
}

/**
 * The number of ones that two arrays of the same length share: their inner product (survey 2.4).
 */
export function countSharedOnes(a: Uint32Array, b: Uint32Array): number {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += onesOf(a[i] & b[i]);
  return total;
}

/** target |= source. `shared` makes each step atomic. */
export function orInto(target: Uint32Array, source: Uint32Array, shared: boolean): void {
  if (shared) for (let i = 0; i < target.length; i++) Atomics.or(target, i, source[i]);
  else for (let i = 0; i < target.length; i++) target[i] |= source[i];
}

/** target &= source. */
export function andInto(target: Uint32Array, source: Uint32Array): void {
  for (let i = 0; i < target.length; i++) target[i] &= source[i];
}

/** Whether every one of `a` is a one of `b`. */
export function isSubset(a: Uint32Array, b: Uint32Array): boolean {
  for (let i = 0; i < a.length; i++) if ((a[i] & ~b[i]) !== 0) return false;
  return true;
}

/**
 * Halves the first `bits` bits (an even number): bit j of the result is bit 2j OR bit 2j+1.
 * classic.ts explains why neighbours are combined and not the two halves of the array.
 */
export function foldNeighbours(words: Uint32Array, bits: number, target: Uint32Array): void {
  const wordCount = Math.ceil(bits / 32);
  for (let i = 0; i < wordCount; i += 2) {
    const upper = i + 1 < wordCount ? evenBits(words[i + 1] | (words[i + 1] >>> 1)) : 0;
    target[i >>> 1] = evenBits(words[i] | (words[i] >>> 1)) | (upper << 16);
  }
}

/** The number of ones in a word. */
export function onesOf(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Gathers the even bits of a word in its lower half. */
export function evenBits(word: number): number {
  let x = word & 0x55555555;
  x = (x | (x >>> 1)) & 0x33333333;
  x = (x | (x >>> 2)) & 0x0f0f0f0f;
  x = (x | (x >>> 4)) & 0x00ff00ff;
  return (x | (x >>> 8)) & 0xffff;
}
