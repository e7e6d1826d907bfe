/**
 * One step of a search: the key is here, or the query goes to a neighbour, or it goes back. The
 * decision depends on the node's table and on the query alone, so it is the same in a process, in a
 * simulation and in a test.
 *
 * The rule (survey 6.2, Rhea and Kubiatowicz): follow the nearest lead. A lead at distance j means
 * that the neighbour is to find the key within j hops, so the query goes there with that reach. A
 * neighbour that has no lead of such a distance knows that the lead was a false positive, and sends
 * the query back at once. The node then tries its next lead, as long as the query has hops left.
 *
 * The hop limit is the number of levels. Each forwarding costs one hop and none is given back, so a
 * query that was misled ends after d hops and the second tier takes over. The query carries a
 * `PathFilter` of the nodes it has visited, so it never goes in circles, and a node that sent it
 * back is not asked again.
 */

import { type KeyHash, PathFilter } from 'bloomery';
import type { RouteTable } from './route-table.ts';

export interface Query {
  readonly hash: KeyHash;
  /** Hops within which the key should be found from this node. */
  readonly reach: number;
  /** Forwardings that are left. */
  readonly hopsLeft: number;
  /** The nodes that were visited, this one among them. */
  readonly path: PathFilter;
}

export type Hop =
  | { readonly kind: 'here' }
  /** The query goes to a neighbour, with this reach. */
  | { readonly kind: 'forward'; readonly to: string; readonly reach: number }
  /** No lead is left. */
  | { readonly kind: 'back' };

/**
 * Chooses the next step. `isUp` says which neighbours can be reached. The same question is asked
 * again after a neighbour has sent the query back, with the path that it came back with.
 */
export function chooseHop(
  table: RouteTable,
  { hash, reach, hopsLeft, path }: Query,
  isUp: (neighbour: string) => boolean = always,
): Hop {
  if (table.holds(hash)) return { kind: 'here' };
  const lead = table
    .leads(hash, Math.min(reach, hopsLeft))
    .find(({ neighbour }) => isUp(neighbour) && !path.has(neighbour));
  if (lead === undefined) return { kind: 'back' };
  return { kind: 'forward', to: lead.neighbour, reach: lead.distance };
}

/**
 * The path of a new query, in 16 bytes and a head of 8. After four visits another node is taken for
 * one of them once in 10,000 times, after eight once in 700; then the query takes another way or is
 * handed over. `salt` is a random number from 0 to 65535.
 */
export function newPath(salt: number): PathFilter {
  return new PathFilter({ bits: PATH_BITS, hashes: PATH_HASHES, salt });
}

const [PATH_BITS, PATH_HASHES] = [128, 5];

function always(): boolean {
  return true;
}
