/**
 * The random pause before a node does something that all its neighbours do for the same reason:
 * asking for a lost datagram, greeting a new node. It is drawn between 0 and a bound of 4 ms per
 * neighbour, which is at least 20 ms and at most 1 s, so that a node with up to 250 neighbours is
 * asked about once in 4 ms on average.
 */

import type { Clock } from '../clock.ts';

const PER_NEIGHBOUR_MS = 4;
const LEAST_MS = 20;
const MOST_MS = 1000;

export function spreadMs(clock: Clock, neighbours: number): number {
  return clock.random() * Math.min(MOST_MS, Math.max(LEAST_MS, PER_NEIGHBOUR_MS * neighbours));
}
