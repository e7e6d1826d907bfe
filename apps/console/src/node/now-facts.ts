/** Numbers of the view Now from the counts of a node. Pure. */

import type { Counts } from './node-api.ts';

export interface Shares {
  readonly local: number;
  readonly peer: number;
  readonly origin: number;
  /** The share that no origin was asked for, as in `status`; null before the first request. */
  readonly hitRatio: number | null;
}

export function sharesOf({ requests }: Counts, before?: Counts): Shares {
  const count = (name: keyof Counts['requests']) => requests[name] - (before?.requests[name] ?? 0);
  const local = count('hit') + count('stale') + count('collapsed');
  const peer = count('neighbour');
  const origin = count('miss') + count('validated');
  const all = local + peer + origin;
  return { local, peer, origin, hitRatio: all === 0 ? null : (local + peer) / all };
}

export function totalRequests({ requests }: Counts): number {
  return Object.values(requests).reduce((sum, count) => sum + count, 0);
}

export function bytesSaved({ bytesSent, bytesFromOrigins }: Counts): number {
  return Math.max(0, bytesSent - bytesFromOrigins);
}

/**
 * A percentile of all answers but tunnels: the upper bound of its bucket. Infinity is the last
 * bucket, null means that there were no answers.
 */
export function percentile(counts: Counts, share: number, before?: Counts): number | null {
  const { boundsMs, cache, other } = counts.latency;
  const buckets = cache.map(
    (count, i) =>
      count + other[i] - (before === undefined ? 0 : before.latency.cache[i] + before.latency.other[i]),
  );
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return null;
  let below = 0;
  for (const [i, count] of buckets.entries()) {
    below += count;
    if (below >= share * total) return boundsMs[i] ?? Number.POSITIVE_INFINITY;
  }
  return Number.POSITIVE_INFINITY;
}

/** At most 2.5 ms; more than 10 s. */
export function percentileText(ms: number | null, boundsMs: readonly number[]): string {
  if (ms === null) return '–';
  const text = (value: number) => (value < 1000 ? `${value} ms` : `${value / 1000} s`);
  return ms === Number.POSITIVE_INFINITY ? `> ${text(boundsMs.at(-1) ?? 0)}` : `≤ ${text(ms)}`;
}
