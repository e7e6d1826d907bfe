/**
 * The group of a node, for fleets that are too large for a link between each two nodes. A label of
 * the operator decides, such as a rack or a zone. Nodes without one are dealt to the groups by
 * rendezvous hashing of their ids, so each node knows the group of every other without talking, and
 * a group that is added takes its share from all others and moves no further node.
 *
 * The names of the groups are given, and not derived from the number of nodes: a group keeps its
 * name when nodes come and go, and when its leader changes.
 */

import { hashKey } from 'bloomery';
import { rendezvousOrder } from '../../rendezvous.ts';

export interface GroupMember {
  readonly id: string;
  /** The group that the operator chose, or null. */
  readonly label: string | null;
}

/** The name of the group of a node. `groups` are the names for nodes without a label. */
export function groupOf({ id, label }: GroupMember, groups: readonly string[]): string {
  if (label !== null) return label;
  const [first] = rendezvousOrder(hashKey(id), groups);
  if (first === undefined)
    throw new RangeError(`Cannot find the group of ${id}: expected a label or names of groups, got neither`);
  return first;
}
