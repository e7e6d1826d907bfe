/** Pairs of sets with a known difference, and fresh randomness from a seed. */

/** A generator of 32 random bits (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return (x ^ (x >>> 14)) >>> 0;
  };
}

export interface Pair {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly onlyA: readonly string[];
  readonly onlyB: readonly string[];
}

/** Two sets of n keys each, which differ in d keys, half of them on each side. */
export function pairOf(n: number, d: number, tag: number): Pair {
  const half = d >> 1;
  const key = (i: number) => `${tag.toString(36)}/${i}`;
  const range = (from: number, end: number) => Array.from({ length: end - from }, (_, i) => key(from + i));
  const common = range(0, n - half);
  const onlyA = range(n, n + half);
  const onlyB = range(n + half, n + d);
  return { a: [...onlyA, ...common], b: [...common, ...onlyB], onlyA, onlyB };
}

export function sameKeys(found: readonly unknown[], expected: readonly string[]): boolean {
  return found.length === expected.length && found.every((key, i) => key === expected[i]);
}

export function quantile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))];
}
