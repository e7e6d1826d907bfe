/**
 * The question of one neighbour to another for an object: a GET for the cache key in absolute form,
 * on the peer port.
 *
 * ```
 * GET http://example.org/a HTTP/1.1
 * Host: 10.0.0.2:3129                      the receiver, which is signed
 * Bloomery-Peer: v=1; node=…               the signature (packages/transport)
 * Bloomery-Ask: stored                     only a complete stored response
 * Bloomery-Ask: coming; wait=180           also one that the receiver is fetching itself; it may
 *                                          wait 180 ms for the head
 * Bloomery-Ask: owned; wait=180            likewise; the receiver owns the key among all groups of
 *                                          nodes, and fetches it inside its group or from the origin
 * Accept-Encoding: gzip                    fields that select a variant
 * Range: bytes=1000-                       for a continuation, with
 * If-Range: "v1"                           the strong tag of the bytes that are there
 * ```
 *
 * Nothing private leaves the node. A list says which fields go to a neighbour, and all others stay:
 * Authorization and Cookie, and also fields that this code has never heard of (`X-Api-Key`). We
 * refused the opposite, a list of fields that stay, because it can never be complete. The price: a
 * response that varies by a field outside the list is not taken from a neighbour
 * (`isSelectedBySentFields`).
 *
 * The receiver applies the same list to what it gets, so a neighbour cannot smuggle a field into
 * the choice of the variant either.
 */

import { ABSENT } from '../../policy/cache-control.ts';
import { cacheKey } from '../../policy/cache-key.ts';
import { fieldValue } from '../../policy/fields.ts';
import type { RequestHead } from '../../policy/message-head.ts';
import { requestFacts } from '../../policy/request-facts.ts';
import type { FieldList } from '../../policy/stored-response.ts';
import { variedBy } from '../../policy/vary.ts';

/**
 * Whether a neighbour may also answer from a fetch that is under way (`coming`), or may begin one
 * (`owned`).
 */
export type AskKind = 'stored' | 'coming' | 'owned';

export interface ObjectAsk {
  readonly kind: AskKind;
  /** How long the receiver may wait for the head of its own fetch. */
  readonly waitMs: number;
  /** The rest of a body whose first bytes are there already, or null for the whole. */
  readonly rest: BodyRest | null;
}

/** The bytes from `start` on, of the representation with this strong tag. */
export interface BodyRest {
  readonly start: number;
  readonly etag: string;
}

/** Fields that may select a variant and say nothing about the person who asks. */
const SENT: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'device-memory',
  'downlink',
  'dpr',
  'ect',
  'origin',
  'prefer',
  'rtt',
  'save-data',
  'sec-ch-dpr',
  'sec-ch-prefers-color-scheme',
  'sec-ch-prefers-reduced-motion',
  'sec-ch-ua',
  'sec-ch-ua-arch',
  'sec-ch-ua-bitness',
  'sec-ch-ua-mobile',
  'sec-ch-ua-model',
  'sec-ch-ua-platform',
  'sec-ch-ua-platform-version',
  'sec-ch-viewport-width',
  'sec-ch-width',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'upgrade-insecure-requests',
  'user-agent',
  'viewport-width',
  'width',
  'x-requested-with',
]);

/** Fields of a question that this file writes itself. */
const WRITTEN: ReadonlySet<string> = new Set(['bloomery-ask', 'cache-control', 'if-range', 'range']);

/** Longest time that a receiver waits for the head of its own fetch. */
const MOST_WAIT_MS = 60_000;

/** The fields of a question, without Host and the signature. */
export function askFields(headers: FieldList, ask: ObjectAsk): string[] {
  const fields = selectingFields(headers);
  const wishes = freshnessWishes(headers);
  if (wishes !== '') fields.push('Cache-Control', wishes);
  const wait = Math.min(Math.floor(ask.waitMs), MOST_WAIT_MS);
  fields.push('Bloomery-Ask', ask.kind === 'stored' ? 'stored' : `${ask.kind}; wait=${wait}`);
  if (ask.rest !== null) fields.push('Range', `bytes=${ask.rest.start}-`, 'If-Range', ask.rest.etag);
  return fields;
}

/** The fields of a request that may select a variant and that a neighbour may see. */
export function selectingFields(headers: FieldList): string[] {
  const fields: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (SENT.has(headers[at]!.toLowerCase())) fields.push(headers[at]!, headers[at + 1]!);
  }
  return fields;
}

/** The question in the fields that a neighbour sent, or null if it cannot be read. */
export function readAsk(headers: FieldList): ObjectAsk | null {
  const text = onlyValue(headers, 'bloomery-ask');
  // Parameters that a later version adds are ignored.
  const parts = /^(stored|coming|owned)((?:; ?[a-z]+=[\w.-]*)*)$/.exec(text ?? '');
  if (parts === null) return null;
  const wait = /; ?wait=(\d{1,9})(?:;|$)/.exec(parts[2]!);
  const waitMs = Math.min(wait === null ? 0 : Number(wait[1]), MOST_WAIT_MS);
  const kind = parts[1] as AskKind;
  const range = fieldValue(headers, 'range');
  if (range === undefined) return { kind, waitMs, rest: null };
  const start = /^bytes=(\d{1,15})-$/.exec(onlyValue(headers, 'range') ?? '');
  const etag = onlyValue(headers, 'if-range') ?? '';
  // A weak tag does not say that the bytes are the same (RFC 9110, 13.1.5).
  if (start === null || !/^"[\x21\x23-\x7e\x80-\xff]*"$/.test(etag)) return null;
  return { kind, waitMs, rest: { start: Number(start[1]), etag } };
}

/**
 * The fields of a question that count, in their order: those that select a variant, and those of
 * this protocol. From this list both ends compute the context of the answer, and the receiver
 * decides.
 */
export function fieldsThatCount(headers: FieldList): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]!.toLowerCase();
    if (SENT.has(name) || WRITTEN.has(name)) kept.push(name, headers[at + 1]!);
  }
  return kept;
}

/** The fields of a question that its receiver sends on, if it fetches the object for the asker. */
export function fieldsToFetchWith(headers: FieldList): string[] {
  const fields = selectingFields(headers);
  const wishes = freshnessWishes(headers);
  return wishes === '' ? fields : [...fields, 'cache-control', wishes];
}

/** The cache key that a target names, or null if it is not a key in its normal form. */
export function keyOfTarget(target: string): string | null {
  const parts = /^(https?):\/\/([^/?#@]+)(\/[^#]*)$/.exec(target);
  if (parts === null) return null;
  const key = cacheKey(parts[1] as 'http' | 'https', parts[2]!, parts[3]!);
  return key === target ? key : null;
}

/**
 * Whether a request may be put to neighbours at all: a GET for the whole, without conditions. The
 * others are about a response that this node has already, or about a part.
 */
export function isAskable({ method, headers }: Pick<RequestHead, 'method' | 'headers'>): boolean {
  const facts = requestFacts(headers);
  return (
    method === 'GET' &&
    !facts.content &&
    !facts.forOrigin &&
    facts.range === undefined &&
    facts.ifNoneMatch === undefined &&
    facts.ifModifiedSince === undefined &&
    facts.directives?.noCache !== true &&
    facts.directives?.noStore !== true
  );
}

/**
 * Whether a neighbour's response was selected by fields that the neighbour knew. If it varies by a
 * field of the request that stayed here, it may be another variant.
 */
export function isSelectedBySentFields(responseHeaders: FieldList, requestHeaders: FieldList): boolean {
  const varied = variedBy(responseHeaders, requestHeaders);
  if (varied === null) return false;
  return varied.every(([name, value]) => value === null || SENT.has(name));
}

/** The client's limits on age and freshness, which the neighbour's policy has to keep. */
export function freshnessWishes(headers: FieldList): string {
  const { directives } = requestFacts(headers);
  if (directives === null) return '';
  const wishes: string[] = [];
  const { maxAge, minFresh } = directives;
  if (maxAge !== ABSENT) wishes.push(`max-age=${Math.max(0, maxAge)}`);
  if (minFresh !== ABSENT) wishes.push(`min-fresh=${Math.max(0, minFresh)}`);
  return wishes.join(', ');
}

/** The value of a field that occurs once. */
function onlyValue(headers: FieldList, lowerName: string): string | undefined {
  let found: string | undefined;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at]!.toLowerCase() !== lowerName) continue;
    if (found !== undefined) return undefined;
    found = headers[at + 1]!;
  }
  return found;
}
