/**
 * Measures what a stored object takes beyond its body, in the memory of a real node: a simulation
 * must count the same cost, or its caches hold more objects than real ones.
 *
 * The status of a node tells the cost of everything that it stores, so the cost of one object is a
 * difference. We measure it, and do not compute it from the fields of a response, because a part of
 * it depends on how bytes arrive: a body that came in one read with its head keeps both in memory
 * (`compact` in store/chunk-list.ts of the cache), which is 180 bytes more for an object from the
 * origin and 300 to 500 for a copy. Copies also carry the fields Via and Cache-Status of the
 * neighbour that gave them.
 */

import { knownPath } from '../origins/known-body.ts';
import { checkedGet } from './checked-get.ts';
import type { FleetNode } from './fleet-node.ts';

export interface StoredOverhead {
  /** Bytes beyond the body of an object that came from the origin, on average. */
  readonly ownBytes: number;
  /** The same of a copy that came from a neighbour, or null if no neighbour gave one. */
  readonly copyBytes: number | null;
}

/**
 * Stores objects of these sizes at one node, gets each from there through another node, and lets
 * both forget them. The names of the objects are as long as those of a trace.
 */
export async function storedOverhead(
  [first, second]: readonly FleetNode[],
  sizes: readonly number[],
): Promise<StoredOverhead> {
  const own: number[] = [];
  const copies: number[] = [];
  for (const [number, bytes] of sizes.entries()) {
    const path = knownPath(`sample/${1000 + number}`, bytes);
    own.push((await stored(first!, path)).bytes - bytes);
    // A neighbour that answers too late leaves its asker to the origin.
    const { copies: count, bytes: cost } = await stored(second!, path);
    if (count === 1) copies.push(cost - bytes);
    for (const node of [first!, second!]) await node.purge(path);
  }
  return { ownBytes: mean(own), copyBytes: copies.length === 0 ? null : mean(copies) };
}

/** Lets an empty node store an object, and returns the state of its store. */
async function stored(node: FleetNode, path: string) {
  const store = async () => (await node.status()).stores.memory!;
  const { responses } = await store();
  if (responses > 0)
    throw new Error(`Cannot measure ${node.name}: expected an empty store, got ${responses} responses`);
  const answer = await checkedGet(node.port, path);
  if (answer.status !== 200 || answer.wrong !== null)
    throw new Error(`Cannot measure ${node.name}: expected ${path}, got ${answer.wrong ?? answer.status}`);
  return store();
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
