/**
 * The key that a purge is about: that of an origin's URL, or of a path of this node (`/prefix/…`),
 * which stands for the origin behind it.
 */

import { cacheKey } from '../../policy/cache-key.ts';
import type { Router } from '../../proxy/route.ts';

/** Returns the key. Throws a `TypeError` that says what was expected, to do what. */
export function purgeKey(text: string, router: Router, what: 'purge' | 'look up' = 'purge'): string {
  if (text.startsWith('/')) {
    const route = router.route(text);
    if ('key' in route) return route.key;
    throw new TypeError(route.text);
  }
  const match = /^(https?):\/\/([^/?#\s]+)([^#\s]*)(?:#\S*)?$/i.exec(text);
  const scheme = match?.[1].toLowerCase() as 'http' | 'https';
  const root = match === null ? '' : `${scheme}://${match[2]}/`;
  if (match === null || !URL.canParse(root))
    throw new TypeError(
      `Cannot ${what}: expected an http or https URL, got ${JSON.stringify(text.slice(0, 200))}`,
    );
  // Normalised as in the routing of a request: 127.1 is 127.0.0.1, and names are in lower case.
  return cacheKey(scheme, new URL(root).host, match[3]);
}
