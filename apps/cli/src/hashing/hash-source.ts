/**
 * The hash of the keys, as plain data that can be sent to a worker. A worker reads the secret key
 * from its file again, so that no message holds the key.
 */

import { type HashScheme, hashScheme } from 'bloomery';
import 'bloomery/xxh64';
import { readSecretKey } from '../files/secret-key-file.ts';

export type HashSource =
  | { readonly kind: 'seed'; readonly hash: string; readonly seed: bigint }
  | { readonly kind: 'key-file'; readonly path: string };

export function schemeOf(source: HashSource): HashScheme {
  if (source.kind === 'key-file') return readSecretKey(source.path).scheme;
  return hashScheme({ hash: source.hash, seed: source.seed });
}

/** The source that gives a filter's own scheme. */
export function sourceOf({ id, seed }: HashScheme, keyFile: string | undefined): HashSource {
  return keyFile === undefined ? { kind: 'seed', hash: id, seed } : { kind: 'key-file', path: keyFile };
}
