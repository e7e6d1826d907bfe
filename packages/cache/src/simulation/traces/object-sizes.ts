/**
 * Lengths of simulated objects: lognormal with sigma 1.5, so half of the objects are shorter than a
 * third of the average, and a few are a thousand times as long. Bodies of web objects are
 * heavy-tailed in this way. The length depends on the seed and the object alone, so no table is
 * needed, and an object has the same length in every run with the same seed.
 *
 * We refused a Pareto tail with an exponent below 2: its variance is infinite, so the average of a
 * run would follow from its few largest objects. Even so the average over *requests* differs by
 * some per cent from that over objects, because the most popular objects have any length.
 */

import { hashKey } from 'bloomery';

/** Average length of objects. */
export const MEAN_OBJECT_BYTES = 30_000;

/** Standard deviation of the logarithm. */
export const SIZE_SIGMA = 1.5;

export class ObjectSizes {
  readonly #seed: number;
  readonly #mu: number;

  constructor(seed: number, meanBytes = MEAN_OBJECT_BYTES) {
    this.#seed = seed;
    // The mean of a lognormal variable is exp(mu + sigma^2 / 2).
    this.#mu = Math.log(meanBytes) - SIZE_SIGMA ** 2 / 2;
  }

  /** Length of an object's body, at least 1 byte. */
  bytesOf(object: number): number {
    const { low, high } = hashKey(object, { seed: this.#seed });
    // Box and Muller, 1958: a normal variable from two uniform ones.
    const radius = Math.sqrt(-2 * Math.log((low + 0.5) / 2 ** 32));
    const normal = radius * Math.cos((2 * Math.PI * (high + 0.5)) / 2 ** 32);
    return Math.max(1, Math.round(Math.exp(this.#mu + SIZE_SIGMA * normal)));
  }
}
