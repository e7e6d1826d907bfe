/**
 * The primary key: the URI a request is for (RFC 9111, 2), in one spelling.
 *
 * Only what RFC 9110, 4.2.3 makes equal whatever the scheme is made equal: the host in lower case, the default port left out, an empty
 * path as `/`. Percent-escapes, dot segments and the query stay as they came: an origin may tell them apart, and a cache that does not
 * gives one resource's bytes for another. `new URL` was refused on the hot path for that reason, and because it takes about a
 * microsecond.
 */

/** `authority` is host and port as in Host; `target` is what stood in the request line, in origin form. */
export function cacheKey(scheme: 'http' | 'https', authority: string, target: string): string {
  // The next request is likely for the same host.
  if (authority !== lastAuthority || scheme !== lastScheme) {
    lastOrigin = `${scheme}://${normalAuthority(scheme, authority)}`;
    lastAuthority = authority;
    lastScheme = scheme;
  }
  return lastOrigin + normalTarget(target);
}

let lastScheme: string | undefined;
let lastAuthority: string | undefined;
let lastOrigin = '';

function normalAuthority(scheme: 'http' | 'https', authority: string): string {
  const at = authority.lastIndexOf('@');
  // RFC 9110, 4.2.4: user names in a URI are not part of what is asked for, and are not to be kept.
  const host = at < 0 ? authority : authority.slice(at + 1);
  const lower = host.toLowerCase();
  const colon = lower.lastIndexOf(':');
  if (colon < 0 || lower.endsWith(']')) return lower;
  const port = lower.slice(colon + 1);
  return port === '' || port === (scheme === 'http' ? '80' : '443') ? lower.slice(0, colon) : lower;
}

function normalTarget(target: string): string {
  const hash = target.indexOf('#');
  const path = hash < 0 ? target : target.slice(0, hash);
  if (path.charCodeAt(0) === SLASH) return path;
  if (path === '') return '/';
  if (path.charCodeAt(0) === QUESTION) return `/${path}`;
  // `*`, or no origin form at all. A space is in no target and no host, so this is no other resource's key.
  return `/ ${path}`;
}

const SLASH = 0x2f;
const QUESTION = 0x3f;

/** The key of a reference (Location, Content-Location) found in a response to `key`, if it is an http URI at all. */
export function resolvedKey(key: string, reference: string): string | null {
  let url: URL;
  try {
    url = new URL(reference, key);
  } catch {
    return null;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  const scheme = url.protocol === 'http:' ? 'http' : 'https';
  return cacheKey(scheme, url.host, `${url.pathname}${url.search}`);
}

/** Scheme, host and port of a key, as one string. */
export function originOf(key: string): string {
  const slash = key.indexOf('/', key.indexOf('://') + 3);
  return slash < 0 ? key : key.slice(0, slash);
}
