/**
 * The hash of Parquet's split-block filters: XXH64 with seed 0. It is a single object, so that
 * comparing schemes is fast.
 */

import { HashScheme, XXH64 } from './hash-scheme.ts';
import { xxh64Words } from './xxh64.ts';

let scheme: HashScheme | undefined;

export function parquetHash(): HashScheme {
  scheme ??= new HashScheme(XXH64, 'xxh64', 0n, (words, length, out) => xxh64Words(words, length, 0, 0, out));
  return scheme;
}
