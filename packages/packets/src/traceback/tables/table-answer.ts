/**
 * The answer of a set of tables about one digest, with the number of tables that would say yes by
 * chance.
 *
 * A yes means "maybe". A day in 1,030 tables of 0.97 % each has ten tables that say yes to a packet
 * that never came. So a question carries a time window, the answer is about the tables that touch
 * it, and `expectedByChance` is the sum of their rates: the yes of one table out of three that were
 * asked is evidence, the yes of ten out of a thousand is none.
 */

import type { TimeSpan } from './digest-table.ts';

/** A table's part in an answer. */
export interface TableVerdict extends TimeSpan {
  readonly seen: boolean;
  /** Probability of a yes without the packet. */
  readonly chanceRate: number;
}

export interface SeenAnswer {
  /** False if the packet certainly did not pass in the window, as far as the tables cover it. */
  readonly seen: boolean;
  /** Times of the tables that said yes; neighbours are joined. */
  readonly sightings: readonly TimeSpan[];
  /** Tables that said yes. */
  readonly yes: number;
  /** Tables of the window. */
  readonly tables: number;
  /** Tables that would say yes on average to a packet that did not pass. */
  readonly expectedByChance: number;
  /** Probability that at least one of them does. */
  readonly chanceOfAny: number;
}

export function answerOf(verdicts: readonly TableVerdict[]): SeenAnswer {
  let expected = 0;
  let noneByChance = 1;
  const sightings: { firstS: number; lastS: number }[] = [];
  let yes = 0;
  for (const { seen, chanceRate, firstS, lastS } of verdicts) {
    expected += chanceRate;
    noneByChance *= 1 - chanceRate;
    if (!seen) continue;
    yes++;
    const before = sightings.at(-1);
    if (before !== undefined && firstS <= before.lastS) before.lastS = Math.max(before.lastS, lastS);
    else sightings.push({ firstS, lastS });
  }
  return {
    seen: yes > 0,
    sightings,
    yes,
    tables: verdicts.length,
    expectedByChance: expected,
    chanceOfAny: 1 - noneByChance,
  };
}
