/**
 * Request fields that change an answer without being part of the key under which it is stored. One request with
 * `X-Forwarded-Host: evil.example`, and the page that the origin made for it is everybody's page: cache poisoning. `Vary` would be
 * the origin's duty; frameworks that read these fields do not send it.
 *
 * `safeguardFields` is called for a request that goes to the origin. For GET and HEAD it drops the fields that say where a request
 * came from or what it should be instead, and says whether the answer may be shared. Other methods pass as they are, for applications rely on
 * these fields where something is changed. Their answers are not shared, but for one: what a POST brought may be stored for those
 * who GET (RFC 9110, 9.3.3). So a POST is not shareable if it has a field that a GET would have lost, or a cookie, or credentials:
 * the page that it brought may have been made of them. Behind a front that adds X-Forwarded-For to every request no answer to POST is ever
 * stored; that costs a later GET one fetch, and dropping the field would cost the application what it needs.
 *
 *   dropped         who asked, by which host, scheme, port, path, method, and what frameworks say to themselves (the lists below);
 *                   names with `_`, which CGI cannot tell from `-`;
 *                   Content-* of a request without a body (a wrong Content-Type makes frameworks answer 400); a Range
 *                   that cannot be read, or with many parts (RFC 9110, 14.2: may be ignored)
 *   not shareable   a body on GET or HEAD: the key does not know it
 *   explicitOnly    Cookie: the answer may be one person's page. Shared only if the origin says in so many words that it may be, and sets
 *                   no cookie (`explicitlyShareable`); never by heuristic freshness, nor by `max-age=0` or an Expires that has passed,
 *                   which say that it should not be reused
 *
 * Authorization is not here: RFC 9111, 3.5 governs it, in the policy. Accept-*, Origin and the like are what Vary is for; so are fields
 * that a framework's own pages send and that it names in Vary, such as RSC and Next-Router-* of Next.js, or X-Inertia.
 * The proxy adds its own X-Forwarded-* and Via afterwards; they are the same for all, or name only the client.
 *
 * Refused: putting these fields into the key. It makes poisoning harmless, and lets anybody fill the store with copies.
 * Where it breaks down: fields that only one application knows. Whoever has such an origin names them in its Vary.
 */

import { ABSENT, INVALID, responseDirectives } from '../policy/cache-control.ts';
import { fieldValue } from '../policy/fields.ts';
import { freshnessLifetime, type Times } from '../policy/freshness.ts';
import type { ResponseHead } from '../policy/message-head.ts';
import type { PolicyOptions } from '../policy/policy-options.ts';
import type { FieldList } from '../policy/stored-response.ts';

export interface SafeFields {
  /** What may go to the origin. */
  readonly headers: string[];
  /** May the answer be stored, and given to others who wait for the same? */
  readonly shareable: boolean;
  /** Only if `explicitlyShareable` says so of the response. */
  readonly explicitOnly: boolean;
}

/** `keep`: names (lower case) from a trusted proxy in front, which are not dropped. */
export function safeguardFields(
  headers: FieldList,
  method: string,
  keep: ReadonlySet<string> = nothing,
): SafeFields {
  if (method !== 'GET' && method !== 'HEAD') {
    const shareable = method === 'POST' && isImpersonalPost(headers, keep);
    return { headers: [...headers], shareable, explicitOnly: false };
  }
  const kept: string[] = [];
  let hasBody = false;
  let hasCookie = false;
  let hasContentFields = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    const value = headers[i + 1]!;
    if (name === 'content-length' ? !/^0*$/.test(value) : name === 'transfer-encoding') hasBody = true;
    else if (name === 'cookie') hasCookie = true;
    if (name.startsWith('content-')) hasContentFields = true;
    if (isUnkeyed(name) && !keep.has(name)) continue;
    if (name === 'range' && !isModestRange(value)) continue;
    kept.push(headers[i]!, value);
  }
  return {
    headers: hasContentFields && !hasBody ? withoutContentFields(kept) : kept,
    shareable: !hasBody,
    explicitOnly: hasCookie,
  };
}

/** Whether what a POST brings can be for others: nothing in it that a GET would not have been asked with. Of content a POST has its own. */
function isImpersonalPost(headers: FieldList, keep: ReadonlySet<string>): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (name === 'cookie' || name === 'authorization') return false;
    if (isUnkeyed(name) && !keep.has(name)) return false;
    if (name === 'range' && !isModestRange(headers[i + 1]!)) return false;
  }
  return true;
}

/** Does a field (lower case) change answers behind the cache's back? */
export function isUnkeyed(name: string): boolean {
  if (unkeyed.has(name)) return true;
  for (const prefix of prefixes) if (name.startsWith(prefix)) return true;
  return name.includes('_');
}

/**
 * Did the origin say itself that the response is for all? RFC 9111, 3: public, s-maxage (of any value: it is said to shared caches alone,
 * and 3.5 takes it for permission); or a max-age or Expires that lets it be reused at all, which an origin sends knowing that
 * shared caches obey them. Not if it sets a cookie: that is meant for one.
 */
export function explicitlyShareable(
  { status, headers }: Pick<ResponseHead, 'status' | 'headers'>,
  times: Times,
  options: PolicyOptions,
): boolean {
  if (fieldValue(headers, 'set-cookie') !== undefined) return false;
  const { directives, targeted } = responseDirectives(headers, options);
  if (directives.public) return true;
  if (directives.sMaxAge !== ABSENT && directives.sMaxAge !== INVALID) return true;
  const lifetime = freshnessLifetime(status, headers, directives, targeted, times, options);
  return lifetime.explicit && lifetime.ms > 0;
}

const nothing: ReadonlySet<string> = new Set();

const prefixes = [
  'x-forwarded-',
  'x-original-',
  'x-rewrite-',
  // Next.js, to itself: skip the middleware (CVE-2025-29927), render this path or error instead.
  'x-middleware-',
  'x-invoke-',
  // React Router, while it builds: a page without its server's part (CVE-2025-43864), with data from the field (CVE-2025-43865).
  'x-react-router-',
  // Nuxt: x-nuxt-no-ssr gives the empty page.
  'x-nuxt-',
  // Astro's adapters, from the edge to the server: x-astro-path, x-astro-locals.
  'x-astro-',
];

const unkeyed: ReadonlySet<string> = new Set([
  // Where it came from and went to (RFC 7239 and what was before it).
  'forwarded',
  'x-forwarded',
  'x-host',
  'x-http-host-override',
  'x-proxy-host',
  'x-proxy-url',
  'x-url-scheme',
  'x-scheme',
  'front-end-https',
  'x-arr-ssl',
  'x-backend-host',
  // Who sent it.
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-remote-user',
  // What it should be instead.
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-http-path-override',
  'x-accel-redirect',
  'x-sendfile',
  // Rack, Plack and Symfony then send the name of a file and no body (CVE-2025-61780 for Rack).
  'x-sendfile-type',
  'x-accel-mapping',
  // "I fill in ESI": the page comes with holes, and this node fills none. (W3C Note "Edge Architecture Specification", 2001.)
  'surrogate-capability',
  'x-now-route-matches',
  'x-matched-path',
  'x-nextjs-data',
  'x-wap-profile',
  'x-amz-website-redirect-location',
  // Becomes HTTP_PROXY in a CGI program's environment ("httpoxy", CVE-2016-5385).
  'proxy',
]);

const contentFields: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'content-language',
  'content-location',
  'content-range',
  'content-disposition',
  'content-md5',
  'content-digest',
]);

function withoutContentFields(headers: string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!contentFields.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}

/** RFC 9110, 14.2: many small or overlapping ranges may be ignored; one request must not make a server do much. */
function isModestRange(value: string): boolean {
  if (value.length > 512) return false;
  return /^bytes=[ \t]*(?:\d+-\d*|-\d+)(?:[ \t]*,[ \t]*(?:\d+-\d*|-\d+)){0,15}[ \t]*$/i.test(value);
}
