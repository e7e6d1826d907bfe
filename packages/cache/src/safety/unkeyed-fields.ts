/**
 * Request fields that change an answer without being part of the key under which it is stored.
 * After one request with `X-Forwarded-Host: evil.example`, all clients get the page that the origin
 * generated for it: cache poisoning. The origin should send `Vary`, but frameworks that read these
 * fields do not.
 *
 * `safeguardFields` is called for each request that goes to the origin. For GET and HEAD it drops
 * the fields that say where a request came from or what it should be instead, and says whether the
 * answer may be shared. Requests with other methods pass unchanged, because applications rely on
 * these fields when something is changed. Their answers are not shared, with one exception: the
 * response to a POST may be stored for later GETs (RFC 9110, 9.3.3). A POST is therefore not
 * shareable if it has a field that would be dropped from a GET, or a cookie, or credentials,
 * because its response may depend on them. Behind a front end that adds X-Forwarded-For to every
 * request, no answer to a POST is ever stored. That costs a later GET one fetch, while dropping the
 * field would take away information that the application needs.
 *
 * - Dropped: fields that name the client or another host, scheme, port, path or method, and fields
 *   that frameworks send to themselves (the lists below); names with `_`, which CGI cannot tell
 *   from `-`; Content-* of a request without a body (a wrong Content-Type makes frameworks answer
 *   400); a Range that cannot be parsed, or with many parts (RFC 9110, 14.2: may be ignored).
 * - Not `shareable`: a body on GET or HEAD, because the key does not include it.
 * - `explicitOnly`: Cookie, because the answer may be one person's page. It is shared only if the
 *   origin says explicitly that it may be, and sets no cookie (`explicitlyShareable`). It is never
 *   shared by heuristic freshness, nor with `max-age=0` or an Expires in the past, which say that
 *   it should not be reused.
 *
 * Authorization is not handled here: RFC 9111, 3.5 governs it, in the policy. Accept-*, Origin and
 * similar fields are covered by Vary. So are fields that a framework's own pages send and that it
 * names in Vary, such as RSC and Next-Router-* of Next.js, or X-Inertia. The proxy adds its own
 * X-Forwarded-* and Via afterwards; they are the same for all clients, or name only the client.
 *
 * We refused to put these fields into the key. It would make poisoning harmless, but any client
 * could fill the store with copies. Where it breaks down: fields that only one application knows.
 * Such an origin must name them in its Vary.
 */

import { ABSENT, INVALID, responseDirectives } from '../policy/cache-control.ts';
import { fieldValue } from '../policy/fields.ts';
import { freshnessLifetime, type Times } from '../policy/freshness.ts';
import type { ResponseHead } from '../policy/message-head.ts';
import type { PolicyOptions } from '../policy/policy-options.ts';
import type { FieldList } from '../policy/stored-response.ts';

export interface SafeFields {
  /** The fields that may go to the origin. */
  readonly headers: string[];
  /**
   * Whether the answer may be stored, and given to other clients that wait for the same resource.
   */
  readonly shareable: boolean;
  /** Whether that requires `explicitlyShareable` to be true for the response. */
  readonly explicitOnly: boolean;
}

/**
 * Applies the rules above. `keep` holds names (lower case) of fields from a trusted proxy in front,
 * which are not dropped.
 */
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

/**
 * Whether the response to a POST may serve other clients: the request has nothing that would be
 * dropped from a GET. Content-* fields are fine, because a POST has content.
 */
function isImpersonalPost(headers: FieldList, keep: ReadonlySet<string>): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (name === 'cookie' || name === 'authorization') return false;
    if (isUnkeyed(name) && !keep.has(name)) return false;
    if (name === 'range' && !isModestRange(headers[i + 1]!)) return false;
  }
  return true;
}

/** Whether a field (lower case) may change answers without being part of the key. */
export function isUnkeyed(name: string): boolean {
  if (unkeyed.has(name)) return true;
  for (const prefix of prefixes) if (name.startsWith(prefix)) return true;
  return name.includes('_');
}

/**
 * Whether the origin itself said that the response is for all clients. RFC 9111, 3: public,
 * s-maxage (of any value: it addresses only shared caches, and 3.5 takes it as permission), or a
 * max-age or Expires that allows reuse at all, because an origin that sends them knows that shared
 * caches obey them. A response that sets a cookie is meant for one client.
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
  // Internal fields of Next.js: skip the middleware (CVE-2025-29927), render this path or error
  // instead.
  'x-middleware-',
  'x-invoke-',
  // React Router at build time: a page without its server's part (CVE-2025-43864), with data from
  // the field (CVE-2025-43865).
  'x-react-router-',
  // Nuxt: x-nuxt-no-ssr requests the empty page.
  'x-nuxt-',
  // Astro's adapters, sent from the edge to the server: x-astro-path, x-astro-locals.
  'x-astro-',
];

const unkeyed: ReadonlySet<string> = new Set([
  // Where the request came from and went to (RFC 7239 and its predecessors).
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
  // The sender of the request.
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
  // Overrides of the request.
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-http-path-override',
  'x-accel-redirect',
  'x-sendfile',
  // Rack, Plack and Symfony then send a file name and no body (CVE-2025-61780 for Rack).
  'x-sendfile-type',
  'x-accel-mapping',
  // Announces that the proxy processes ESI: the page then has placeholders, which this node does
  // not fill. (W3C Note "Edge Architecture Specification", 2001.)
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

/**
 * RFC 9110, 14.2: many small or overlapping ranges may be ignored, so that one request cannot cause
 * much work.
 */
function isModestRange(value: string): boolean {
  if (value.length > 512) return false;
  return /^bytes=[ \t]*(?:\d+-\d*|-\d+)(?:[ \t]*,[ \t]*(?:\d+-\d*|-\d+)){0,15}[ \t]*$/i.test(value);
}
