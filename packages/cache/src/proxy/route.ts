/**
 * Maps the target of a request (RFC 9112, 3.2) to an origin, a path there, and the cache key.
 *
 * - In absolute form, if this node is a forward proxy: to the host that it names.
 * - In origin form: to the upstream with the longest matching prefix. A prefix ends at a slash, a
 *   question mark or the end: `/a` is not a prefix of `/ab`.
 * - In absolute form, if this node is not a forward proxy: likewise, because an origin server must
 *   accept that form as well (3.2.2), but only if it names this node (`safety/own-hosts.ts`).
 *   Otherwise the client gets 421 (RFC 9110, 15.5.20): "the request was directed at a server that
 *   is unable or unwilling to produce an authoritative response for the target URI".
 *
 * The origin gets its own name in the Host field. The origin's URLs in `Location`,
 * `Content-Location` and `Refresh` are mapped back into this node's URL space when an answer is
 * sent, not when it is stored, because one stored response may be reached through several prefixes.
 *
 * `new URL` runs once per target, not once per request: a bounded number of routes is remembered.
 *
 * Refused: dot segments below an upstream that has a path of its own, with which a client could
 * escape from that path. Not mapped: cookie paths and domains, links inside bodies; origins that
 * need those must be told their public URL.
 */

import { cacheKey } from '../policy/cache-key.ts';
import { isNamed } from '../policy/fields.ts';
import type { FieldList } from '../policy/stored-response.ts';
import { OwnHosts } from '../safety/own-hosts.ts';
import type { ProxyOptions, Upstream } from './proxy-options.ts';

export interface Route {
  readonly key: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** The Host field for the origin. */
  readonly host: string;
  /** Path and query for the origin. */
  readonly path: string;
  /** Chosen by the operator's configuration, not by an untrusted client. */
  readonly trusted: boolean;
  /** How the origin's URLs look from outside, or null if they are unchanged. */
  readonly mapping: Mapping | null;
}

/** The reason why a request has no route. */
export interface NoRoute {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

/**
 * `inside` in the origin's URL space corresponds to `outside` in this node's; both without a
 * trailing slash.
 */
interface Mapping {
  readonly origin: string;
  readonly inside: string;
  readonly outside: string;
}

interface Entry extends Mapping {
  /** The prefix as configured, with which matching targets begin. */
  readonly prefix: string;
  readonly scheme: 'http' | 'https';
  readonly host: string;
}

/**
 * Number of remembered routes, and the maximum length of a remembered target: about 1 MB in total.
 */
const REMEMBERED = 4096;
const REMEMBERED_LENGTH = 256;

/** The part of `ProxyOptions` that is about targets. */
type RouterOptions = Pick<ProxyOptions, 'upstreams' | 'forward' | 'isOwnHost'>;

const ON_LOOPBACK = new OwnHosts({ names: [], listen: ['127.0.0.1', '::1'] });

export class Router {
  readonly #entries: readonly Entry[];
  /** The same, the deepest path at an origin first. */
  readonly #byInside: readonly Entry[];
  readonly #forward: boolean;
  readonly #isOwnHost: (host: string) => boolean;
  readonly #known = new Map<string, Route>();

  constructor({ upstreams, forward, isOwnHost }: RouterOptions) {
    this.#forward = forward;
    this.#isOwnHost = isOwnHost ?? ((host) => ON_LOOPBACK.has(host));
    this.#entries = upstreams.map(toEntry).sort((a, b) => b.prefix.length - a.prefix.length);
    this.#byInside = [...this.#entries].sort((a, b) => b.inside.length - a.inside.length);
  }

  route(target: string): Route | NoRoute {
    const known = this.#known.get(target);
    if (known !== undefined) return known;
    const route = this.#find(target);
    if ('key' in route && target.length <= REMEMBERED_LENGTH) {
      if (this.#known.size >= REMEMBERED) this.#known.clear();
      this.#known.set(target, route);
    }
    return route;
  }

  /**
   * The route by which a client of this node would reach the object with this cache key: through an
   * upstream, or as a forward proxy. A node of another group asks by the key alone.
   */
  routeOfKey(key: string): Route | NoRoute {
    for (const entry of this.#byInside) {
      const base = `${entry.scheme}://${entry.host}${entry.inside}`;
      if (!matches(base, key)) continue;
      const target = `${entry.outside}${key.slice(base.length)}`;
      const route = this.#reverse(target);
      if ('key' in route && route.key === key) return route;
    }
    return this.#forward
      ? this.route(key)
      : noRoute(404, 'no-upstream', `No upstream leads to ${quoted(key)}`);
  }

  #find(target: string): Route | NoRoute {
    if (target.charCodeAt(0) === SLASH) return this.#reverse(target);
    const absolute = /^(https?):\/\/([^/?#]*)([^#]*)/i.exec(target);
    if (absolute === null) {
      return noRoute(
        400,
        'bad-target',
        `Expected a target like /path or http://host/path, got ${quoted(target)}`,
      );
    }
    const rest = absolute[3]!;
    const path = rest.startsWith('/') ? rest : `/${rest}`;
    const scheme = absolute[1]!.toLowerCase() as 'http' | 'https';
    const authority = absolute[2]!;
    // RFC 9110, 4.2.4: user information in a URI is to be treated as an error.
    const url = authority.includes('@') ? null : parsed(`${scheme}://${authority}/`);
    if (url === null || url.hostname === '' || url.pathname !== '/') {
      return noRoute(400, 'bad-authority', `Expected a host in the target, got ${quoted(authority)}`);
    }
    if (!this.#forward) {
      if (this.#isOwnHost(url.hostname)) return this.#reverse(path);
      return noRoute(
        421,
        'misdirected',
        `This node is not ${quoted(url.hostname)}, and not a forward proxy (--public-host, --forward)`,
      );
    }
    return {
      key: cacheKey(scheme, url.host, path),
      origin: `${scheme}://${url.host}`,
      host: url.host,
      path,
      trusted: false,
      mapping: null,
    };
  }

  #reverse(target: string): Route | NoRoute {
    for (const entry of this.#entries) {
      if (!matches(entry.prefix, target)) continue;
      if (entry.inside !== '' && dotSegment.test(pathOf(target))) {
        return noRoute(400, 'dot-segments', 'The path has dot segments, which this upstream does not allow');
      }
      const joined = entry.inside + target.slice(entry.outside.length);
      const path = joined.startsWith('/') ? joined : `/${joined}`;
      return {
        key: cacheKey(entry.scheme, entry.host, path),
        origin: entry.origin,
        host: entry.host,
        path,
        trusted: true,
        mapping: entry,
      };
    }
    const hint = this.#forward ? ' (a forward proxy is asked for http://host/path)' : '';
    return noRoute(404, 'no-upstream', `No upstream of this node serves ${quoted(target)}${hint}`);
  }
}

/**
 * The fields of an answer as they look from outside. Returns the list itself if nothing changes.
 */
export function mapFields(headers: string[], route: Route): string[] {
  const { mapping } = route;
  if (mapping === null) return headers;
  let mapped: string[] | null = null;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]!;
    let value: string | null = null;
    if (isNamed(name, 'location') || isNamed(name, 'content-location')) {
      value = mapReference(headers[at + 1]!, route.key, mapping);
    } else if (isNamed(name, 'refresh')) {
      value = mapRefresh(headers[at + 1]!, route.key, mapping);
    }
    if (value === null) continue;
    mapped ??= headers.slice();
    mapped[at + 1] = value;
  }
  return mapped ?? headers;
}

/** Whether a response has fields that `mapFields` could change. */
export function hasMappedFields(headers: FieldList): boolean {
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!;
    if (isNamed(name, 'location') || isNamed(name, 'content-location') || isNamed(name, 'refresh'))
      return true;
  }
  return false;
}

/** The mapped reference, or null if it stays as it is. */
function mapReference(value: string, key: string, mapping: Mapping): string | null {
  // A relative reference stays correct, because both URL spaces are the same below the prefix.
  if (!/^([a-z][a-z0-9+.-]*:|\/)/i.test(value)) return null;
  const url = parsed(value, key);
  if (url === null || url.origin !== mapping.origin) return null;
  const { inside, outside } = mapping;
  if (url.pathname !== inside && !url.pathname.startsWith(`${inside}/`)) return null;
  const path = outside + url.pathname.slice(inside.length);
  // RFC 3986, 4.2: a path that begins with two slashes would be read as a host.
  const safe = path.startsWith('//') ? `/.${path}` : path === '' ? '/' : path;
  return `${safe}${url.search}${url.hash}`;
}

function mapRefresh(value: string, key: string, mapping: Mapping): string | null {
  // Trimmed first instead of in the pattern, which would take quadratic time on a long run of
  // spaces.
  const parts = /^(\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?)(["']?)(.*?)\2$/i.exec(value.trimEnd());
  if (parts === null || parts[3] === '') return null;
  const reference = mapReference(parts[3]!, key, mapping);
  return reference === null ? null : `${parts[1]}${parts[2]}${reference}${parts[2]}`;
}

function toEntry({ prefix, origin }: Upstream): Entry {
  if (!prefix.startsWith('/')) {
    throw new RangeError(
      `Cannot use an upstream: expected a prefix that begins with a slash, got ${quoted(prefix)}`,
    );
  }
  if (origin.protocol !== 'http:' && origin.protocol !== 'https:') {
    throw new RangeError(
      `Cannot use the upstream of ${prefix}: expected an http or https origin, got ${origin.href}`,
    );
  }
  return {
    prefix,
    origin: origin.origin,
    scheme: origin.protocol === 'http:' ? 'http' : 'https',
    host: origin.host,
    inside: withoutSlash(origin.pathname),
    outside: withoutSlash(prefix),
  };
}

function matches(prefix: string, target: string): boolean {
  if (!target.startsWith(prefix)) return false;
  if (prefix.endsWith('/') || target.length === prefix.length) return true;
  const next = target.charCodeAt(prefix.length);
  return next === SLASH || next === QUESTION;
}

function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

/**
 * A dot segment as any origin may read it, including escaped slashes, backslashes and segment
 * parameters (`..;`).
 */
const dotSegment = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\;]|%2f|%5c|%3b|$)/i;

/** `URL.parse` exists only since Node 22. */
function parsed(text: string, base?: string): URL | null {
  return URL.canParse(text, base) ? new URL(text, base) : null;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function noRoute(status: number, code: string, text: string): NoRoute {
  return { status, code, text };
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

const SLASH = 0x2f;
const QUESTION = 0x3f;
