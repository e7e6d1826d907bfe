/**
 * Decides which of the objects that a neighbour offers are fetched, and in which order. The
 * neighbour does not tell how often an object was used, because its store does not know it over
 * restarts. So the objects that stay fresh for the longest time come first, and of equal ones the
 * smaller. Objects that become stale within a minute are not worth a transfer, and a warm-up never
 * evicts what is stored: objects that do not fit into the free room are left out.
 */

import type { WarmObject } from './warm-message.ts';

/** Freshness below which an object is not fetched. */
const LEAST_FRESH_MS = 60_000;

export interface WarmPlan {
  readonly wanted: readonly WarmObject[];
  readonly bytes: number;
  /** Objects that become stale too soon. */
  readonly stale: number;
  /** Objects for which there is no room. */
  readonly tooMany: number;
}

export function planWarmUp(offered: readonly WarmObject[], roomBytes: number): WarmPlan {
  const fresh = offered.filter(({ freshMs }) => freshMs >= LEAST_FRESH_MS);
  const ordered = fresh.toSorted((a, b) => b.freshMs - a.freshMs || a.bytes - b.bytes);
  const wanted: WarmObject[] = [];
  let bytes = 0;
  for (const object of ordered) {
    const needed = object.bytes + OVERHEAD_BYTES;
    if (bytes + needed > roomBytes) continue;
    wanted.push(object);
    bytes += needed;
  }
  return {
    wanted,
    bytes,
    stale: offered.length - fresh.length,
    tooMany: fresh.length - wanted.length,
  };
}

/** Memory or disk that a stored response takes beside its body, about. */
const OVERHEAD_BYTES = 1024;
