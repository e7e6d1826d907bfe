/**
 * The hash of the keys, as plain data that can be sent to a worker. A worker reads the secret key
 * from its file again, so that no message holds the key.
 */

import { type HashScheme, hashScheme, parquetHash } from 'bloomery';
import { readSecretKey } from '../files/secret-key-file.ts';

export type HashSource =
  | { readonly kind: 'seed'; readonly seed: bigint }
  | { readonly kind: 'key-file'; readonly path: string }
  | { readonly kind: 'split-block' };

export function schemeOf(source: HashSource): HashScheme {
  if (source.kind === 'key-file') return readSecretKey(source.path).scheme;
  return source.kind === 'split-block' ? parquetHash() : hashScheme({ seed: source.seed });
}

/** The source that gives a filter's own scheme. */
export function sourceOf(scheme: HashScheme, keyFile: string | undefined): HashSource {
  if (keyFile !== undefined) return { kind: 'key-file', path: keyFile };
  return scheme.id.startsWith('forge64') ? { kind: 'seed', seed: scheme.seed } : { kind: 'split-block' };
}
