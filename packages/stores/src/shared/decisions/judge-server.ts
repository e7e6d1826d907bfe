/**
 * Compares what a reader believes with what the server says, and decides what the reader does.
 *
 * - A server without the filter, or with one that has no log: the reader restores it from its own
 *   memory.
 * - The same epoch of the same filter on the same server: it follows the log.
 * - Another server, a smaller epoch, another filter of this name, a log that ends before the
 *   reader's place, a later epoch that continues this one (a restoration), or a new doubt whether
 *   the log is complete: it adopts. It loads the filter, keeps its own keys, and sends those that
 *   are missing.
 * - A later epoch that was rebuilt: it replaces its filter.
 *
 * Keeping its own keys is always safe within an epoch: they were added, so "maybe" is right.
 */

import { compareIds, type StreamId } from './add-id.ts';
import type { ServerFacts } from './server-facts.ts';

export interface ReaderBelief {
  readonly lineage: string;
  readonly epoch: number;
  readonly server: string;
  readonly position: StreamId;
  /**
   * The doubt under which this reader loaded the filter, by its time. Null if the doubt was not
   * noted down yet.
   */
  readonly doubtMs: number | null;
}

export type ServerVerdict = 'restore' | 'load' | 'follow' | 'adopt' | 'replace';

/** `belief` is null if this reader has loaded nothing yet. */
export function judgeServer(belief: ReaderBelief | null, { meta, log, server }: ServerFacts): ServerVerdict {
  if (meta === null || log === null) return 'restore';
  if (belief === null) return 'load';
  if (meta.lineage !== belief.lineage || meta.epoch < belief.epoch) return 'adopt';
  if (meta.epoch > belief.epoch) return meta.base <= belief.epoch ? 'adopt' : 'replace';
  if (server !== belief.server || compareIds(log.last, belief.position) < 0) return 'adopt';
  const isDoubted = meta.settled !== server && meta.pending === server;
  return isDoubted && belief.doubtMs !== null && belief.doubtMs !== meta.sinceMs ? 'adopt' : 'follow';
}
