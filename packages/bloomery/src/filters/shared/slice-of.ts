/**
 * The slices of the partitioned layout, which `BloomFilter` and `CountingBloomFilter` have in
 * common: each of the k probes of a key has an equal part of the array for itself.
 */

/**
 * The length of a slice, or 0 in the classic layout, which has none. `unit` names bits or counters
 * in the error for an array that cannot be cut into slices of equal length.
 */
export function sliceOf(size: number, hashes: number, layout: string, unit: string): number {
  if (layout !== 'partitioned') return 0;
  if (size % hashes === 0) return size / hashes;
  throw new RangeError(`Cannot partition ${unit}: expected a multiple of hashes (${hashes}), got ${size}`);
}
