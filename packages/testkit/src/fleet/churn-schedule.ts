/**
 * A random schedule of nodes that leave, are killed and come back, and a trace that follows it. It
 * is drawn from a seed before anything runs, so that real processes and a simulation play the same.
 *
 * All nodes are up at first. Every second end is a goodbye, the others are kills. A node that joins
 * is asked only after `readyMs`: a process needs about a second to start, and more on a busy
 * machine. Clients leave a node shortly before its goodbye, as a load balancer does whose check
 * fails; they do not know of a kill.
 */

import { randomStream } from '@bloomery/sim';
import type { PlayedRequest } from './play-trace.ts';

export interface PlannedChange {
  readonly timeMs: number;
  readonly node: number;
  readonly kind: 'join' | 'leave' | 'kill';
}

export interface ChurnOptions {
  readonly nodes: number;
  readonly durationMs: number;
  /** Time between two changes, on average. */
  readonly everyMs: number;
  /** The most nodes that are down at a time. */
  readonly mostDown: number;
  /** Time after a join before clients ask the node, and before it can leave again. */
  readonly readyMs: number;
  readonly seed: number;
}

/** Time before a goodbye in which clients go elsewhere. */
const LEAD_MS = 500;

export function churnSchedule(options: ChurnOptions): PlannedChange[] {
  const { nodes, durationMs, everyMs, mostDown, readyMs, seed } = options;
  const random = randomStream(seed, 'churn');
  const pick = (among: readonly number[]) => among[Math.floor(random() * among.length)]!;
  const changes: PlannedChange[] = [];
  const down = new Set<number>();
  const settledAt = new Array<number>(nodes).fill(0);
  let ends = 0;
  for (let timeMs = everyMs; timeMs < durationMs - readyMs; timeMs += everyMs * (0.5 + random())) {
    const settled = settledAt.flatMap((at, node) => (!down.has(node) && at <= timeMs ? [node] : []));
    const joins = down.size >= mostDown || settled.length < 2 || (down.size > 0 && random() < 0.5);
    if (joins) {
      if (down.size === 0) continue;
      const node = pick([...down]);
      down.delete(node);
      // Twice: it is asked for a while before it can leave.
      settledAt[node] = timeMs + 2 * readyMs;
      changes.push({ timeMs, node, kind: 'join' });
    } else {
      const node = pick(settled);
      down.add(node);
      changes.push({ timeMs, node, kind: ends++ % 2 === 0 ? 'leave' : 'kill' });
    }
  }
  return changes;
}

/** The trace with each request for a node that is not asked then given to one that is. */
export function traceUnderChurn<T extends PlayedRequest>(
  trace: Iterable<T>,
  changes: readonly PlannedChange[],
  { nodes, readyMs }: Pick<ChurnOptions, 'nodes' | 'readyMs'>,
): T[] {
  const turns = changes
    .map(({ timeMs, node, kind }) => {
      const shiftMs = kind === 'join' ? readyMs : kind === 'leave' ? -LEAD_MS : 0;
      return { timeMs: timeMs + shiftMs, node, isAsked: kind === 'join' };
    })
    .sort((a, b) => a.timeMs - b.timeMs);
  const asked = new Set(Array.from({ length: nodes }, (_, node) => node));
  let next = 0;
  return [...trace].map((request) => {
    for (; next < turns.length && turns[next]!.timeMs <= request.timeMs; next++) {
      const { node, isAsked } = turns[next]!;
      if (isAsked) asked.add(node);
      else asked.delete(node);
    }
    if (asked.has(request.node)) return request;
    const others = [...asked];
    return { ...request, node: others[(request.node + request.object) % others.length]! };
  });
}
