/** Which key a purge is about: of the origin's URL, or of a path of this node's own (`/prefix/…`), which stands for the origin behind it. */

import { cacheKey } from '../policy/cache-key.ts';
import type { Router } from '../proxy/route.ts';

/** Throws a `TypeError` that says what was expected. */
export function purgeKey(text: string, router: Router): string {
  if (text.startsWith('/')) {
    const route = router.route(text);
    if ('key' in route) return route.key;
    throw new TypeError(route.text);
  }
  const match = /^(https?):\/\/([^/?#\s]+)([^#\s]*)(?:#\S*)?$/i.exec(text);
  if (match === null)
    throw new TypeError(`Expected an http or https URL, got ${JSON.stringify(text.slice(0, 200))}`);
  return cacheKey(match[1].toLowerCase() as 'http' | 'https', match[2], match[3]);
}
