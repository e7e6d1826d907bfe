/**
 * Objects in buckets by a keyed hash of their text, with a sum of the hashes for each bucket. Two
 * nodes compare the sums first, and reconcile only buckets whose sums differ.
 *
 * A session of `@bloomery/reconcile` hashes all its keys at once, and clients of a large node would
 * wait for that. A bucket has some hundred objects, and the event loop turns after each one
 * (bench/results/catch-up.md has the longest steps). The price: a few differences cost about 550
 * bytes each, not 13, because each is alone in its bucket. The hash is keyed by the fleet's secret,
 * so a client that chooses URLs cannot fill one bucket.
 */

import { hashKey, type SecretKey } from 'bloomery';
import { MOST_BUCKETS, type WarmObject } from './decisions/warm-message.ts';
import { itemOf } from './offered-objects.ts';

/** Objects of a bucket, about. */
const BUCKET_OBJECTS = 256;
const BATCH = 256;

export interface ObjectBuckets {
  readonly buckets: readonly (readonly WarmObject[])[];
  /** Lower and upper sums of the hashes, in turn. */
  readonly sums: Uint32Array;
}

/** The number of buckets for sets of these sizes: a power of two. */
export function bucketCount(most: number): number {
  return Math.min(MOST_BUCKETS, 2 ** Math.ceil(Math.log2(Math.max(1, most / BUCKET_OBJECTS))));
}

export async function intoBuckets(
  objects: readonly WarmObject[],
  count: number,
  key: SecretKey,
  pause: () => Promise<void>,
): Promise<ObjectBuckets> {
  const buckets: WarmObject[][] = Array.from({ length: count }, () => []);
  const sums = new Uint32Array(2 * count);
  for (const [at, object] of objects.entries()) {
    const { low, high } = hashKey(itemOf(object), { key });
    const bucket = Math.floor(((high >>> 0) / 2 ** 32) * count);
    buckets[bucket]!.push(object);
    sums[2 * bucket] += low;
    sums[2 * bucket + 1] += high;
    if (at % BATCH === BATCH - 1) await pause();
  }
  return { buckets, sums };
}
