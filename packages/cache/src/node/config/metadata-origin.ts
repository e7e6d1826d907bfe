/**
 * The setting `metadataOrigin`: a pair of origins, of which the first may state digests of files of
 * the second. Metadata speaks for its own origin without it.
 */

import { cacheKey, originOf } from '../../policy/index.ts';

const EXAMPLE = 'https://registry.example=https://files.example';

/** Parses `https://registry.example=https://files.example`. Throws a `TypeError`. */
export function parseMetadataOrigin(text: string): readonly [metadata: string, files: string] {
  const [metadata, files, ...more] = text.split('=').map(originIn);
  if (metadata == null || files == null || more.length > 0)
    throw new TypeError(`Cannot read a pair of origins: expected ${EXAMPLE}, got ${JSON.stringify(text)}`);
  return [metadata, files];
}

/** The origin in the form that cache keys have, or null if the text is not one. */
function originIn(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, host, pathname, search, hash } = new URL(text);
  if ((protocol !== 'http:' && protocol !== 'https:') || pathname !== '/' || search + hash !== '')
    return null;
  return originOf(cacheKey(protocol === 'http:' ? 'http' : 'https', host, '/'));
}

/** The pairs as a map from the origin of metadata to those of files. */
export function metadataOriginMap(
  pairs: readonly (readonly [metadata: string, files: string])[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const map = new Map<string, Set<string>>();
  for (const [metadata, files] of pairs) map.set(metadata, (map.get(metadata) ?? new Set()).add(files));
  return map;
}
