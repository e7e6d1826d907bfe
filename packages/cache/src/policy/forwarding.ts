/**
 * Fields that are forwarded to the next hop (RFC 9110, 7.6), in requests and in responses.
 *
 * Fields that concern one connection are dropped: those of 7.6.1, and those that Connection names.
 * Connection cannot be used to remove fields that the message depends on. Via is added (7.6.3).
 *
 * The fields that Connection names are removed when a request arrives (`withoutConnectionFields`),
 * before the policy sees it, and not only when it is forwarded. Otherwise the origin would be asked
 * without `X-Tenant`, and with `Vary: X-Tenant` its answer would be stored as the one for
 * `X-Tenant: 7`. Cache and origin must see the same request. Fields that are always dropped on the
 * way need no such care, because no client can choose whether they are dropped.
 *
 * Connection cannot remove these fields (`NEVER_HOP_BY_HOP`):
 * - fields that say where the message ends and which host it is for;
 * - credentials (Authorization, Cookie), because the answer to a request without credentials may go
 *   to any client;
 * - instructions to caches (Cache-Control, conditions, Range);
 * - fields that proxies in front wrote for the origin (Via, X-Forwarded-…), which a client behind
 *   them could otherwise remove.
 *
 * The request guard refuses requests that try this. Here the fields simply stay.
 *
 * TE is dropped, because trailers are not forwarded. Expect is dropped, because the server has
 * answered it. Any client can write X-Forwarded-… and Forwarded, so an origin that trusts them
 * needs a proxy that writes them. They are dropped when `forwardedFields` is 'drop', replaced by
 * fields that name the sender when it is 'replace', and otherwise forwarded.
 */

import { combinedValue, fieldValue, listMembers, withoutFields } from './fields.ts';
import type { PolicyOptions } from './policy-options.ts';
import { requestFacts } from './request-facts.ts';
import type { FieldList } from './stored-response.ts';

/**
 * The sender of the request, for X-Forwarded-For and Forwarded. Host and scheme, for
 * X-Forwarded-Host and -Proto, are left out for requests whose answer may be shared: they are not
 * in the key, and an origin that redirects by them would redirect all clients.
 */
export interface Sender {
  readonly address: string;
  readonly scheme?: 'http' | 'https' | undefined;
  readonly host?: string | undefined;
}

/**
 * A request's fields without those that its Connection names (7.6.1: to be removed before the
 * message is forwarded). Returns the same list if Connection names none, as in nearly all requests.
 * The pass that the policy makes over the fields anyway detects that.
 */
export function withoutConnectionFields(headers: FieldList): FieldList {
  if (!requestFacts(headers).connection) return headers;
  const named = namedByConnection(headers);
  return named === undefined ? headers : withoutFields(headers, named);
}

export function requestFieldsToForward(
  headers: FieldList,
  options: PolicyOptions,
  sender?: Sender,
): string[] {
  const drop = options.forwardedFields === 'drop' || options.forwardedFields === 'replace';
  const fields = endToEnd(headers, (name) => OWN.has(name) || (drop && FORWARDED.has(name)));
  if (sender !== undefined) addSender(fields, sender);
  fields.push('Via', via(options));
  return fields;
}

export function responseFieldsToForward(headers: FieldList, options: PolicyOptions): string[] {
  const fields = endToEnd(headers, nothing);
  fields.push('Via', via(options));
  return fields;
}

/** The fields without hop-by-hop fields: those that may be stored (RFC 9111, 3.1) and forwarded. */
export function endToEndFields(headers: FieldList): string[] {
  return endToEnd(headers, nothing);
}

/** 7.6.3: the received protocol, and a pseudonym instead of the host. */
export function via(options: PolicyOptions): string {
  if (options.name !== lastName) {
    lastName = options.name;
    // A pseudonym is a token; other characters of the name become hyphens.
    lastVia = `1.1 ${options.name.replace(/[^-!#$%&'*+.^_`|~0-9A-Za-z]/g, '-') || 'cache'}`;
  }
  return lastVia;
}

let lastName: string | undefined;
let lastVia = '';

function endToEnd(headers: FieldList, dropped: (lowerName: string) => boolean): string[] {
  const named = namedByConnection(headers);
  const fields: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    if (HOP_BY_HOP.has(name) || named?.has(name) || dropped(name)) continue;
    fields.push(headers[i]!, headers[i + 1]!);
  }
  return fields;
}

function nothing(): boolean {
  return false;
}

function namedByConnection(headers: FieldList): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (headers[i]!.length !== 10 || headers[i]!.toLowerCase() !== 'connection') continue;
    for (const member of listMembers(headers[i + 1]!)) {
      const name = member.toLowerCase();
      if (!NEVER_HOP_BY_HOP.has(name)) (named ??= new Set()).add(name);
    }
  }
  return named;
}

/**
 * Appends the client's address to X-Forwarded-For. Host and scheme stay as the outermost proxy
 * wrote them, if it did.
 */
function addSender(fields: string[], sender: Sender): void {
  const earlier = combinedValue(fields, 'x-forwarded-for');
  const rest = withoutFields(fields, ADDRESSES);
  fields.length = 0;
  for (const text of rest) fields.push(text);
  fields.push('X-Forwarded-For', earlier === undefined ? sender.address : `${earlier}, ${sender.address}`);
  if (sender.host !== undefined && fieldValue(fields, 'x-forwarded-host') === undefined)
    fields.push('X-Forwarded-Host', sender.host);
  if (sender.scheme !== undefined && fieldValue(fields, 'x-forwarded-proto') === undefined)
    fields.push('X-Forwarded-Proto', sender.scheme);
  // RFC 7239, 6: an IPv6 address is in brackets, and then in quotes.
  if (fieldValue(fields, 'forwarded') === undefined)
    fields.push(
      'Forwarded',
      `for=${sender.address.includes(':') ? `"[${sender.address}]"` : sender.address}`,
    );
}

/**
 * Expect, which the server has answered, and a field that the workers of this node send each other
 * (node/workers/relay.ts), which has no meaning when a client sends it.
 */
const OWN: ReadonlySet<string> = new Set(['expect', 'bloomery-relayed-for']);

const ADDRESSES: ReadonlySet<string> = new Set(['x-forwarded-for']);

/** RFC 9110, 7.6.1; RFC 9111, 3.1 for the Proxy-… fields; RFC 7540, 3.2.1 for HTTP2-Settings. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * 7.6.1: Connection must not name fields that are meant for all recipients, such as Cache-Control.
 */
const NEVER_HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since'],
  'age',
  'authorization',
  'cache-control',
  'cdn-cache-control',
  'content-encoding',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'etag',
  'expires',
  'host',
  'last-modified',
  'location',
  'max-forwards',
  'pragma',
  'range',
  'set-cookie',
  // Not forwarded, but this hop must see it: it says that there is a body.
  'transfer-encoding',
  'vary',
  'via',
]);

/** The fields by which proxies tell who sent a request. */
export const FORWARDED: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
]);
