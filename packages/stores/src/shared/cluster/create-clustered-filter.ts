/**
 * Opens a filter on a Redis Cluster, and creates the parts that do not exist.
 */

import { type HashOptions, hashScheme } from 'bloomery';
import { openSharedFilter } from '../create-shared-filter.ts';
import { partCapacity, partName, slotOf } from '../decisions/cluster-parts.ts';
import { ClusterNodes } from '../redis/cluster-nodes.ts';
import type { SharedFilter } from '../shared-filter.ts';
import type { SharedFilterOptions } from '../shared-options.ts';
import { ClusteredFilter } from './clustered-filter.ts';

export interface ClusteredFilterOptions extends SharedFilterOptions {
  /**
   * The number of parts, from 1 to 256. It belongs to the filter: all processes have the same. Each
   * part takes two connections of every process. Default 6, which is even on 1, 2, 3 and 6 masters.
   */
  readonly parts?: number;
}

const DEFAULT_PARTS = 6;
const MOST_PARTS = 256;

/**
 * Opens the filter of this name. `redis` is a client of one node, of the npm package `redis` or
 * `ioredis`; the other nodes are found by asking it.
 */
export async function createClusteredFilter(options: ClusteredFilterOptions): Promise<ClusteredFilter> {
  const { parts = DEFAULT_PARTS, ...rest } = options;
  if (!(Number.isInteger(parts) && parts >= 1 && parts <= MOST_PARTS))
    throw new RangeError(
      `Cannot open a filter on a cluster: expected 1 to ${MOST_PARTS} parts, got ${parts}`,
    );
  const { name, capacity, falsePositiveRate, key, seed } = rest;
  const hash: HashOptions = key === undefined ? { seed: seed ?? 0 } : { key };
  const nodes = new ClusterNodes(rest.redis);
  const opening = Array.from({ length: parts }, (_, part) => {
    const ofPart = partName(name, part, parts);
    const slot = slotOf(ofPart);
    const size = { name: ofPart, capacity: partCapacity(capacity, parts) };
    return openSharedFilter({ ...rest, ...size }, (open) => nodes.open(slot, open));
  });
  const settled = await Promise.allSettled(opening);
  const failed = settled.find((one) => one.status === 'rejected');
  const opened = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (failed !== undefined) {
    await closeAll(opened);
    throw (failed as PromiseRejectedResult).reason;
  }
  return new ClusteredFilter(name, opened, hashScheme(hash), { capacity, falsePositiveRate });
}

async function closeAll(filters: readonly SharedFilter[]): Promise<void> {
  await Promise.all(filters.map((filter) => filter.close({ timeoutMs: 1 })));
}
