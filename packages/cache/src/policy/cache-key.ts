/**
 * The primary key: the URI that a request is for (RFC 9111, 2), in one normal form.
 *
 * We normalise only spellings that RFC 9110, 4.2.3 declares equal for every scheme: the host in
 * lower case, no default port, `/` for an empty path. Percent-escapes, dot segments and the query
 * stay as they came. An origin may tell them apart, and a cache that does not would return one
 * resource's bytes for another. We refused `new URL` on the hot path for that reason, and because
 * it takes about a microsecond.
 */

/**
 * Builds the key. `authority` is host and port as in Host; `target` is the request target of the
 * request line, in origin form.
 */
export function cacheKey(scheme: 'http' | 'https', authority: string, target: string): string {
  // The next request is probably for the same host.
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
  // RFC 9110, 4.2.4: user information in a URI does not identify the resource, and must not be
  // kept.
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
  // The target is `*`, or not in origin form. No target or host contains a space, so this key
  // cannot equal the key of another resource.
  return `/ ${path}`;
}

const SLASH = 0x2f;
const QUESTION = 0x3f;

/**
 * The key of a reference (Location, Content-Location) found in a response to `key`, or null if it
 * is not an http or https URI.
 */
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
