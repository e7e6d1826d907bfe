/**
 * Sample and hold (Estan and Varghese 2002): each byte is sampled with probability p; once a byte
 * of a flow was sampled, all later packets of the flow are counted.
 *
 * What it promises: it never over-counts. A flow of s bytes is missed with probability (1 - p)^s,
 * and on average (1 - p)/p bytes pass before its first sample. With p = O/T that is e^-O for a flow
 * of T: 2.1e-9 for O = 20. It needs no filter, and about p·C entries for C bytes of traffic, of
 * which most are small flows.
 *
 * The multistage filter gives bounds that hold always and a list without omissions, so `FlowTable`
 * uses that one. This is the other algorithm of the paper, to compare.
 */

export interface SampleAndHoldOptions {
  /** p: the probability with which each byte is sampled. */
  readonly sampling: number;
  /** Uniform random numbers from 0 to 1. */
  readonly random: () => number;
}

export class SampleAndHold {
  readonly #logMiss: number;
  readonly #random: () => number;

  constructor({ sampling, random }: SampleAndHoldOptions) {
    if (!(sampling > 0 && sampling < 1)) {
      throw new RangeError(`Cannot use sampling: expected between 0 and 1, got ${sampling}`);
    }
    this.#logMiss = Math.log1p(-sampling);
    this.#random = random;
  }

  /** Whether a byte of a packet is sampled: with probability 1 - (1 - p)^bytes. */
  offer(_key: Int32Array, bytes: number): boolean {
    return this.#random() < -Math.expm1(bytes * this.#logMiss);
  }

  /** Begins a new interval. */
  clear(): void {}
}
