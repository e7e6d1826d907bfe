/**
 * Which fields go on to the next hop (RFC 9110, 7.6), in requests and in responses.
 *
 * Left behind are the fields that are about one connection: those of 7.6.1, and whatever Connection names, except that Connection
 * cannot be used to take away what the message is about. Via is added (7.6.3).
 *
 * What Connection names goes when a request comes in (`withoutConnectionFields`), before the policy sees it, and not only when it goes
 * out: else the origin is asked without `X-Tenant`, and the answer is stored as the one for `X-Tenant: 7` if it has `Vary: X-Tenant`. Cache
 * and origin must see one request. Fields that are always dropped on the way need no such care: no client chooses whether they are.
 *
 * What may not be taken away (`NEVER_HOP_BY_HOP`): where the message ends and for whom it is; who asks (Authorization, Cookie), for the
 * answer to a request without credentials is anybody's; what a cache is told (Cache-Control, conditions, Range); and what proxies in front
 * wrote for the origin to judge by (Via, X-Forwarded-…), which a client behind them could else make vanish. The request guard refuses
 * requests that try; here the fields stay, whoever asks.
 *
 * TE goes: no trailers are passed on here. Expect goes: the server has answered it. X-Forwarded-… and Forwarded come from anybody; whoever
 * trusts them must have the proxy write them, so they are dropped when `forwardedFields` is 'drop', and otherwise passed on and added to.
 */

import { combinedValue, fieldValue, listMembers, withoutFields } from './fields.ts';
import type { PolicyOptions } from './policy-options.ts';
import { requestFacts } from './request-facts.ts';
import type { FieldList } from './stored-response.ts';

/** Who sent the request, for X-Forwarded-For, -Host and -Proto. */
export interface Sender {
  readonly address: string;
  readonly scheme: 'http' | 'https';
  readonly host: string;
}

/**
 * A request's fields without those that its Connection names (7.6.1: to be removed before the message is forwarded). The same list if it names
 * none, as nearly all: that is seen in the pass over the fields that the policy makes anyway.
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
  const drop = options.forwardedFields === 'drop';
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

/** Without hop-by-hop fields: what may be stored (RFC 9111, 3.1) and sent on. */
export function endToEndFields(headers: FieldList): string[] {
  return endToEnd(headers, nothing);
}

/** 7.6.3: the protocol received, and a name instead of the host. */
export function via(options: PolicyOptions): string {
  if (options.name !== lastName) {
    lastName = options.name;
    // A pseudonym is a token; what is none in the name becomes a hyphen.
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

/** The address is added to those before it; host and scheme are left to the outermost proxy, if it said them. */
function addSender(fields: string[], sender: Sender): void {
  const earlier = combinedValue(fields, 'x-forwarded-for');
  const rest = withoutFields(fields, ADDRESSES);
  fields.length = 0;
  for (const text of rest) fields.push(text);
  fields.push('X-Forwarded-For', earlier === undefined ? sender.address : `${earlier}, ${sender.address}`);
  if (fieldValue(fields, 'x-forwarded-host') === undefined) fields.push('X-Forwarded-Host', sender.host);
  if (fieldValue(fields, 'x-forwarded-proto') === undefined) fields.push('X-Forwarded-Proto', sender.scheme);
}

/** Expect, which the server has answered; and what workers of this node tell each other (node/workers/relay.ts): from a client it means nothing. */
const OWN: ReadonlySet<string> = new Set(['expect', 'bloomery-relayed-for']);

const ADDRESSES: ReadonlySet<string> = new Set(['x-forwarded-for']);

/** RFC 9110, 7.6.1, and RFC 9111, 3.1 for the Proxy-… ones; HTTP2-Settings of RFC 7540, 3.2.1. */
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

/** 7.6.1: Connection must not name fields that are meant for all recipients, such as Cache-Control. */
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
  // Goes to no other hop, but must be seen by this one: it says that there is a body.
  'transfer-encoding',
  'vary',
  'via',
]);

const FORWARDED: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
]);
