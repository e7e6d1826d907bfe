/**
 * Ranks by Zipf's law: rank r of n is drawn with a probability proportional to r^-s. Requests for
 * web objects follow it with s between 0.6 and 1 (Breslau, Cao, Fan, Phillips, Shenker, 1999).
 *
 * Draws by rejection-inversion (Hörmann and Derflinger, 1996): a continuous density above the
 * weights is inverted, and a draw above its weight is rejected. It is exact up to the rounding of
 * doubles, needs no memory, and rejects few draws. We refused a table of the distribution
 * function: it takes 8 bytes for each object and a search for each draw.
 */

import type { RandomStream } from '@bloomery/sim';

export class ZipfRanks {
  readonly #count: number;
  readonly #exponent: number;
  readonly #from: number;
  readonly #to: number;
  readonly #surelyBelow: number;

  /** `exponent` is s, from 0 (all ranks alike); `count` is n. */
  constructor(exponent: number, count: number) {
    if (!(exponent >= 0 && Number.isFinite(exponent)))
      throw new RangeError(`Cannot draw by Zipf's law: expected an exponent of at least 0, got ${exponent}`);
    if (!Number.isSafeInteger(count) || count < 1)
      throw new RangeError(`Cannot draw by Zipf's law: expected at least 1 rank, got ${count}`);
    this.#exponent = exponent;
    this.#count = count;
    this.#from = this.#area(1.5) - 1;
    this.#to = this.#area(count + 0.5);
    this.#surelyBelow = 2 - this.#inverseArea(this.#area(2.5) - this.#weight(2));
  }

  /** Draws a rank from 1 to n. */
  draw(random: RandomStream): number {
    for (;;) {
      const u = this.#to + random() * (this.#from - this.#to);
      const x = this.#inverseArea(u);
      const rank = Math.min(this.#count, Math.max(1, Math.round(x)));
      if (rank - x <= this.#surelyBelow || u >= this.#area(rank + 0.5) - this.#weight(rank)) return rank;
    }
  }

  /** x^-s. */
  #weight(x: number): number {
    return Math.exp(-this.#exponent * Math.log(x));
  }

  /** Integral of t^-s from 1 to x: (x^(1-s) - 1) / (1 - s), and ln x for s = 1. */
  #area(x: number): number {
    const logarithm = Math.log(x);
    const power = (1 - this.#exponent) * logarithm;
    return (Math.abs(power) > TINY ? Math.expm1(power) / power : 1 + power / 2) * logarithm;
  }

  #inverseArea(area: number): number {
    const power = Math.max(-1, (1 - this.#exponent) * area);
    return Math.exp((Math.abs(power) > TINY ? Math.log1p(power) / power : 1 - power / 2) * area);
  }
}

/** Below this, the first two terms of a series are exact to the last digit of a double. */
const TINY = 1e-8;
