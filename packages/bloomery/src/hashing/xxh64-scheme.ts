/**
 * XXH64 as the hash of filters, for users who prefer a hash that others have published and
 * reviewed, and for Parquet's split blocks, which require it with seed 0.
 *
 * Loading this module adds XXH64 to the hashes of the program; then `hash: 'xxh64'` works in every
 * structure, and frames that name it can be read. In Node, the entry 'bloomery' loads it. A bundler
 * drops it from programs that use none of its exports, which saves 1 kB of gzip; then the error
 * names the import 'bloomery/xxh64'.
 */

import { HashScheme, SEEDED_SCHEMES, XXH64 } from './hash-scheme.ts';
import { xxh64Words } from './xxh64.ts';

SEEDED_SCHEMES[XXH64] = (seed) => (seed ? xxh64Scheme(seed) : parquetHash());

let unseeded: HashScheme | undefined;

/**
 * The hash of Parquet's split-block filters: XXH64 with seed 0. It is a single object, so that
 * comparing schemes is fast.
 */
export function parquetHash(): HashScheme {
  unseeded ??= xxh64Scheme(0n);
  return unseeded;
}

function xxh64Scheme(seed: bigint): HashScheme {
  return new HashScheme(XXH64, 'xxh64', seed, xxh64Words);
}
