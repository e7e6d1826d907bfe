/** Explains why two filter files cannot be combined or compared, and how to make them alike. */

import { BlockedBloomFilter, BloomFilter } from 'bloomery';
import type { FilterFile } from '../files/filter-file.ts';
import { becomesBloom } from '../files/structures.ts';
import { UsageError } from '../usage-error.ts';

/** The error for two files that cannot be combined or compared. It shows both. */
export function unlikeFiles(verb: string, one: FilterFile, other: FilterFile): UsageError {
  return new UsageError(
    `cannot ${verb} ${one.path} and ${other.path}: ${nameOf(one)} and ${nameOf(other)} are not alike; ${remedy(one, other)}`,
  );
}

/** The description of a filter in errors: the structure or the format with its parameters. */
function nameOf({ filter }: FilterFile): string {
  return String(filter);
}

function remedy(one: FilterFile, other: FilterFile): string {
  if (one.format !== other.format) {
    return 'files of different formats set different bits; build both from their keys in one format';
  }
  for (const [file, wanted] of [
    [one, other],
    [other, one],
  ]) {
    if (wanted.filter instanceof BloomFilter && hasSnapshot(file)) {
      return `bloomery convert ${file.path} --to bloom makes a BloomFilter of it`;
    }
    const times = halvingsBetween(file, wanted);
    if (times > 0) return `bloomery halve ${file.path} --times ${times} makes them alike`;
  }
  return 'build both with the same structure, size, hashes and seed';
}

function hasSnapshot(file: FilterFile): boolean {
  return file.format === 'bloomery' && becomesBloom(file.structure);
}

/**
 * How many times the larger filter must be halved to match the smaller one, or 0 if halving does
 * not help.
 */
function halvingsBetween({ filter: large }: FilterFile, { filter: small }: FilterFile): number {
  const bloom = large instanceof BloomFilter && small instanceof BloomFilter;
  const blocked = large instanceof BlockedBloomFilter && small instanceof BlockedBloomFilter;
  if (!bloom && !blocked) return 0;
  if (large.hashes !== small.hashes || large.layout !== small.layout) return 0;
  const times = Math.log2(large.bits / small.bits);
  return large.scheme.id === small.scheme.id && Number.isInteger(times) && times > 0 ? times : 0;
}
