/**
 * The port between a simulated fleet and a way to cooperate. The fleet plays the requests of
 * clients (fleet-front.ts), and a policy says where an object comes from that a node does not have.
 */

import type { SummaryMemory } from './fleet-result.ts';

/** The source of a fetched object. */
export type FetchedFrom = 'neighbour' | 'origin';

export interface FleetPolicy {
  /** Counts a use if the node holds the object. Returns false if it does not. */
  lookUp(node: number, object: number): boolean;
  /**
   * Gets an object that the node neither holds nor is getting. Calls `landed` once, when the object
   * is there and stored as far as the policy stores it.
   */
  fetch(node: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void;
  /** Puts an empty node with the same name in the place of one. */
  replace(node: number): void;
  /** Memory for summaries of other nodes. Policies without summaries leave it out. */
  summaryMemory?(): SummaryMemory | null;
  /** Ends a node, with a goodbye or without one. Its running requests still get their answers. */
  end?(node: number, how: 'leave' | 'kill'): void;
  /** Starts a node that has ended, with an empty cache. */
  begin?(node: number): void;
  /** Ends all timers, after the last request. */
  close(): void;
}
