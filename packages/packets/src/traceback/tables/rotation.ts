/**
 * Decides when a table is closed, and which closed tables are discarded. The store in
 * `store/table-store.ts` carries it out.
 *
 * Times are those of the packets and not those of a clock, so a capture of last week is collected
 * like one of now, and two runs over the same packets keep the same tables.
 */

import type { TimeSpan } from './digest-table.ts';

export interface Budget {
  /** Bytes of all tables together. */
  readonly bytes: number;
  /** Seconds after which a table is discarded, counted from the latest packet. */
  readonly seconds: number;
}

/** A closed table, as far as the decisions need it. */
export interface KeptTable extends TimeSpan {
  readonly bytes: number;
}

/** Whether the open table ends before a packet of `timeS`, because it spans enough time. */
export function isOver({ firstS, lastS }: TimeSpan, timeS: number, spanS: number): boolean {
  if (firstS > lastS) return false;
  // Time can go back in merged captures, so both directions count.
  return timeS - firstS >= spanS || lastS - timeS >= spanS;
}

/**
 * The number of tables to discard, from the oldest on, so that `incoming` further bytes fit into
 * the budget. The tables are in the order of their closing. A table from the future, because one of
 * its packets had a wrong time, goes with the tables after it.
 */
export function countToDiscard(
  tables: readonly KeptTable[],
  budget: Budget,
  incoming: number,
  nowS: number,
): number {
  let total = incoming;
  for (const { bytes } of tables) total += bytes;
  let count = 0;
  while (count < tables.length && total > budget.bytes) total -= tables[count++].bytes;
  for (let i = count; i < tables.length; i++) {
    const ageS = nowS - tables[i].lastS;
    if (ageS > budget.seconds) count = i + 1;
    else if (ageS >= 0) break;
  }
  return count;
}
