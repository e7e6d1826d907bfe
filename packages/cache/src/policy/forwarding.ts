/**
 * Which fields go on to the next hop (RFC 9110, 7.6), in requests and in responses.
 *
 * Left behind are the fields that are about one connection: those of 7.6.1, and whatever Connection names, except that Connection
 * cannot be used to take away what the message is about (a client that sends `Connection: Cache-Control, Authorization` would make the
 * cache see one request and the origin another). Via is added (7.6.3).
 *
 * TE goes: no trailers are passed on here. Expect goes: the server has answered it. X-Forwarded-… and Forwarded come from anybody; whoever
 * trusts them must have the proxy write them, so they are dropped when `forwardedFields` is 'drop', and otherwise passed on and added to.
 */

import type { FieldList } from '../stored-response.ts';
import type { PolicyOptions } from './contract.ts';
import { combinedValue, fieldValue, listMembers, withoutFields } from './fields.ts';

/** Who sent the request, for X-Forwarded-For, -Host and -Proto. */
export interface Sender {
  readonly address: string;
  readonly scheme: 'http' | 'https';
  readonly host: string;
}

export function requestFieldsToForward(
  headers: FieldList,
  options: PolicyOptions,
  sender?: Sender,
): string[] {
  const drop = options.forwardedFields === 'drop';
  const fields = endToEnd(headers, (name) => name === 'expect' || (drop && FORWARDED.has(name)));
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
  'age',
  'authorization',
  'cache-control',
  'cdn-cache-control',
  'content-encoding',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'date',
  'etag',
  'expires',
  'host',
  'last-modified',
  'location',
  'pragma',
  'range',
  'set-cookie',
  'vary',
  'via',
]);

const FORWARDED: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
]);
