/**
 * The port between a simulated fleet in groups (grouped-nodes.ts) and a way to get objects from
 * other groups.
 */

import type { FleetGround } from '../../fleet-ground.ts';
import type { FetchedFrom } from '../../fleet-policy.ts';
import type { BeyondGroup } from '../cooperating-node.ts';
import type { CooperatingNodes } from '../cooperating-nodes.ts';

/** The way between groups, with the parts that a simulation needs besides. */
export interface BetweenGroupsWay extends BeyondGroup {
  /** Memory of a leader, apart from that of an ordinary member. */
  readonly leaderBytes: number;
  /** A node has crashed. The questions that it was answering are lost. */
  crashed?(node: number): void;
  close(): void;
}

/** The groups as the way between them sees them. */
export interface GroupedFleet {
  readonly ground: FleetGround;
  /** The numbers of the nodes of each group. */
  readonly groups: readonly (readonly number[])[];
  groupOf(node: number): number;
  mesh(group: number): CooperatingNodes;
  isRunning(node: number): boolean;
  /** Lets a node answer as it answers a client. */
  serve(node: number, object: number, bytes: number, done: (from: FetchedFrom) => void): void;
}

/** The name of a group by its number. */
export function nameOfGroup(group: number): string {
  return `group-${group}`;
}
