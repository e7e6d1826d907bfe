/**
 * The stages of a filter that grows: each has room for twice as many keys as the one before, at
 * half its rate. The rates of all stages add up to at most the one asked for, however many there
 * are. Every member computes the same sizes, so stages with the same number can be merged.
 *
 * The price: the first stage has half the rate asked for, which is 1.44 bits per key more than a
 * filter that never grows. A stage takes at most 256 MiB, because a value in Redis takes at most
 * 512 MiB; from there on the stages stop doubling.
 */

/** Keys of one stage, so that it stays below 2^31 bits at any rate down to 1e-9. */
const MOST_KEYS = 40_000_000;

export interface StageSize {
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

export function stageSize({ capacity, falsePositiveRate }: StageSize, stage: number): StageSize {
  return {
    capacity: Math.max(capacity, Math.min(capacity * 2 ** stage, MOST_KEYS)),
    falsePositiveRate: falsePositiveRate * 2 ** -(stage + 1),
  };
}
