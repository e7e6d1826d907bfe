/**
 * The choice of symbols for a recoded one. The sender holds some symbols and knows roughly how many
 * of them the receiver has, from a min-wise sketch. With a filter of the receiver's ids it takes
 * only symbols that are certainly new, and sends them as they are: a sum of two new symbols would
 * be worth less than either.
 */

import { bestRecodingDegree, MOST_RECODED } from '../math/recoding.ts';

export interface RecodeOptions {
  /** Share of the sender's symbols that the receiver has; 0 sends single symbols. */
  readonly containment?: number;
  /** The most symbols in a sum, 50 by default. */
  readonly mostDegree?: number;
  /** Random numbers from 0 to below 1. */
  readonly random: () => number;
}

/**
 * Picks the ids of the next recoded symbol among those held, in an array that it reorders. Returns
 * none if nothing is held.
 */
export function chooseRecoded(held: number[], options: RecodeOptions): number[] {
  const { containment = 0, mostDegree = MOST_RECODED, random } = options;
  const degree = Math.min(held.length, bestRecodingDegree(containment, mostDegree));
  for (let place = 0; place < degree; place++) {
    const other = place + Math.floor(random() * (held.length - place));
    const id = held[other];
    held[other] = held[place];
    held[place] = id;
  }
  return held.slice(0, degree);
}

/** Ids that the receiver certainly lacks, by a filter of those that it has. */
export function surelyNew(held: Iterable<number>, receiver: { has(id: number): boolean }): number[] {
  return Array.from(held).filter((id) => !receiver.has(id));
}
