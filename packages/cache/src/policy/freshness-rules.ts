/**
 * The operator's rules for origins that say nothing about freshness: `*.deb fresh 1d`.
 *
 * They are what `refresh_pattern` is in Squid, with its min, percent and max in the same order:
 *
 * ```
 * PATTERN fresh MIN              fresh for MIN
 * PATTERN fresh MIN PERCENT% MAX fresh for PERCENT of the time since Last-Modified, at least MIN, at most MAX
 * ```
 *
 * The first rule whose pattern matches counts, as in Squid. A pattern is not a regular expression:
 * `*` stands for any characters, and everything else for itself, so that no pattern can be slow and
 * a dot is a dot. A pattern that begins with `/` is compared with the path, one with `://` with the
 * whole URL, any other with host and path. The query is left out unless the pattern has a `?`.
 *
 * Rules only fill a gap. They are never applied to a response with an explicit lifetime, with
 * no-cache, no-store, private or `Pragma: no-cache`, with Set-Cookie, or to a request with
 * Authorization; nor to an error, because a missing package may come a minute later. We refused
 * Squid's override-expire, ignore-no-store and ignore-private: they break what the origin said.
 */

import type { Directives } from './cache-control.ts';
import { combinedValue, fieldValue } from './fields.ts';
import { dateOf, type Lifetime, lastModifiedOf, type Times } from './freshness.ts';
import type { FieldList } from './stored-response.ts';

export interface FreshnessRule {
  readonly pattern: string;
  readonly minMs: number;
  /** Part of the time since Last-Modified, or null if there is only a fixed time. */
  readonly fraction: number | null;
  readonly maxMs: number;
}

/** A response and the request for it, as far as rules look at them. */
export interface RuledResponse {
  readonly key: string;
  readonly status: number;
  readonly headers: FieldList;
  readonly directives: Directives;
  readonly authorized: boolean;
}

/** The lifetime by the first rule that matches, or the given one if there is none. */
export function ruledLifetime(
  lifetime: Lifetime,
  response: RuledResponse,
  times: Times,
  rules: readonly FreshnessRule[],
): Lifetime {
  if (rules.length === 0 || lifetime.explicit || !mayBeRuled(response)) return lifetime;
  const rule = rules.find(({ pattern }) => matchesUrl(pattern, response.key));
  if (rule === undefined) return lifetime;
  return { ms: lengthBy(rule, response.headers, times), explicit: false, heuristic: true };
}

/** Whether a URL, as a cache key has it, matches a pattern. */
export function matchesUrl(pattern: string, key: string): boolean {
  const query = key.indexOf('?');
  const url = query < 0 || pattern.includes('?') ? key : key.slice(0, query);
  if (pattern.includes('://')) return matches(pattern, url);
  const withoutScheme = url.slice(url.indexOf('://') + 3);
  return matches(
    pattern,
    pattern.startsWith('/') ? withoutScheme.slice(pathStart(withoutScheme)) : withoutScheme,
  );
}

function pathStart(text: string): number {
  const slash = text.indexOf('/');
  return slash < 0 ? text.length : slash;
}

/** Takes time proportional to both lengths, whatever the pattern. */
function matches(pattern: string, text: string): boolean {
  const [first, ...others] = pattern.split('*');
  if (others.length === 0) return pattern === text;
  if (!text.startsWith(first!)) return false;
  const last = others.pop()!;
  let at = first!.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

function mayBeRuled({ status, headers, directives, authorized }: RuledResponse): boolean {
  if (!RULED.has(status) || authorized) return false;
  if (directives.noCache || directives.noStore || directives.private) return false;
  if (fieldValue(headers, 'set-cookie') !== undefined) return false;
  return !combinedValue(headers, 'pragma')?.toLowerCase().includes('no-cache');
}

function lengthBy({ minMs, fraction, maxMs }: FreshnessRule, headers: FieldList, times: Times): number {
  const modified = lastModifiedOf(headers, times.responseTime);
  if (fraction === null || modified === null) return minMs;
  const date = dateOf(headers, times.responseTime) ?? times.responseTime;
  return Math.min(maxMs, Math.max(minMs, fraction * Math.max(0, date - modified)));
}

/** Content, parts of it, and redirects that stay. */
const RULED: ReadonlySet<number> = new Set([200, 203, 206, 301, 308]);
