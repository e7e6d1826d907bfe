/**
 * One way to test statistics: two-sided, at five standard deviations, with fixed seeds. A correct
 * program fails such a test once in 1.7 million seeds; a tolerance picked by eye would be a test
 * that cannot fail.
 */

import { expect } from 'vitest';

/**
 * Expects `observed` successes in `trials` independent trials of probability p to be within 5
 * sigma.
 */
export function expectBinomial(observed: number, trials: number, p: number, what: string): void {
  expectCount(observed, trials * p, Math.sqrt(trials * p * (1 - p)), what);
}

/**
 * `expectNormal` for a count of events. Rare events are Poisson: if fewer than five are expected,
 * the next integer is allowed as well. An event that must not happen at all gets no allowance.
 */
export function expectCount(observed: number, mean: number, deviation: number, what: string): void {
  expectWithin(observed, mean, deviation, mean > 0 && mean < 5 ? 1 / deviation : 0, what);
}

/** Expects `observed` to lie within five times `deviation` of `mean`. */
export function expectNormal(observed: number, mean: number, deviation: number, what: string): void {
  expectWithin(observed, mean, deviation, 0, what);
}

function expectWithin(observed: number, mean: number, deviation: number, slack: number, what: string): void {
  const sigmas = (observed - mean) / deviation;
  expect(
    Math.abs(sigmas) <= 5 + slack,
    `${what}: observed ${observed}, expected ${mean} ± ${deviation} (${sigmas.toFixed(2)} sigma)`,
  ).toBe(true);
}

/**
 * Expects the counts of equally likely cells to be uniform, by chi-square in its normal
 * approximation.
 */
export function expectUniform(counts: ArrayLike<number>, what: string): void {
  const cells = counts.length;
  let total = 0;
  for (let i = 0; i < cells; i++) total += counts[i];
  const expected = total / cells;
  let chi2 = 0;
  for (let i = 0; i < cells; i++) chi2 += (counts[i] - expected) ** 2 / expected;
  expectNormal(chi2, cells - 1, Math.sqrt(2 * (cells - 1)), `${what}: chi-square over ${cells} cells`);
}

/**
 * A small generator with a seed (xorshift128+ seeded by splitmix32): it gives the same numbers on
 * every machine.
 */
export class Random {
  readonly #state = new Uint32Array(4);

  constructor(seed: number) {
    let s = seed | 0;
    for (let i = 0; i < 4; i++) {
      s = (s + 0x9e3779b9) | 0;
      let z = s ^ (s >>> 16);
      z = Math.imul(z, 0x21f0aaad);
      z ^= z >>> 15;
      z = Math.imul(z, 0x735a2d97);
      this.#state[i] = z ^ (z >>> 15);
    }
  }

  /** 32 random bits. */
  bits(): number {
    const s = this.#state;
    let t = s[3];
    const first = s[0];
    s[3] = s[2];
    s[2] = s[1];
    s[1] = first;
    t ^= t << 11;
    t ^= t >>> 8;
    s[0] = t ^ first ^ (first >>> 19);
    return s[0];
  }

  /** An integer from 0 to below `end`. */
  below(end: number): number {
    return Math.floor((this.bits() / 2 ** 32) * end);
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.bits() & 255);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)];
  }
}
