/**
 * Builds an answer from a stored response: its status, its fields, and which of its bytes to send
 * (RFC 9111, 4; RFC 9110, 13.2.2, 14, 15.3.7).
 *
 * Conditions are evaluated in the order of RFC 9110, 13.2.2: If-None-Match, then If-Modified-Since,
 * then Range under If-Range. Requests with If-Match or If-Unmodified-Since never reach this file
 * (`conditions.ts`).
 *
 * The parts that are the same in every answer from one stored response are computed at the first
 * answer and kept in a WeakMap. A plain hit copies a list and appends Age and Cache-Status.
 * Content-Length is computed from the stored bytes; the origin's field is not used.
 *
 * A multipart answer needs a boundary line that does not occur in the bytes. The boundary is a hash
 * of key, time and ranges, so the policy stays pure. An attacker who chooses the body and predicts
 * all three could place the boundary in it, but would deceive only clients that ask for several
 * ranges of that body.
 */

import { MAX_DELTA_SECONDS } from './cache-control.ts';
import { holdsIfRange, isNotModified } from './conditions.ts';
import { fieldValue, withoutFields } from './fields.ts';
import { via } from './forwarding.ts';
import { currentAge } from './freshness.ts';
import type { RequestHead } from './message-head.ts';
import { storedInterval } from './partial.ts';
import type { PolicyOptions } from './policy-options.ts';
import { type ByteRange, formatContentRange, requestedRanges } from './ranges.ts';
import { requestFacts } from './request-facts.ts';
import { isBodiless } from './statuses.ts';
import type { StoredResponse } from './stored-response.ts';
import { expectedBodyLength } from './storing.ts';

/** The answer to a client: its head, and which bytes of the stored body follow. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string[];
  /**
   * The bytes to send. `none`: no body (304, 412, 416, HEAD). `all`: the stored bytes. `part`: the
   * stored bytes from start to end (exclusive). `parts`: multipart/byteranges.
   */
  readonly body:
    | { readonly kind: 'none' }
    | { readonly kind: 'all' }
    | { readonly kind: 'part'; readonly start: number; readonly end: number }
    | {
        readonly kind: 'parts';
        /**
         * Each part is text (latin1, one byte per character) followed by its bytes; `tail` comes
         * last.
         */
        readonly parts: readonly { readonly head: string; readonly start: number; readonly end: number }[];
        readonly tail: string;
        readonly contentLength: number;
      };
}

export interface AnswerContext {
  /**
   * Whether the response is served although it is stale. Nothing in the head depends on this flag:
   * Age and Cache-Status say so, and Warning is obsolete (5.5).
   */
  readonly stale: boolean;
  /** The member of Cache-Status, built by `cache-status.ts`. */
  readonly status: string;
}

/**
 * Returns the answer, or null if the stored bytes cannot answer this request. Null happens only
 * with partial responses.
 */
export function answerFrom(
  request: RequestHead,
  stored: StoredResponse,
  now: number,
  context: AnswerContext,
  options: PolicyOptions,
): Answer | null {
  const facts = requestFacts(request.headers);
  const ready = prepared(stored, options);
  if (
    (facts.ifNoneMatch !== undefined || facts.ifModifiedSince !== undefined) &&
    isNotModified(facts, stored)
  ) {
    const headers = closed(ready.notModified(), stored, now, context);
    return { status: 304, statusText: 'Not Modified', headers, body: NO_BODY };
  }
  if (facts.range !== undefined && request.method === 'GET' && ready.total >= 0) {
    if (holdsIfRange(facts.ifRange, stored)) {
      const ranges = requestedRanges(facts.range, ready.total);
      if (ranges !== 'all') return rangesAnswer(stored, ranges, ready, now, context);
    }
  }
  if (stored.range !== null) return null;
  return {
    status: stored.status,
    statusText: stored.statusText,
    headers: closed(ready.whole, stored, now, context),
    body: request.method === 'HEAD' || ready.bodiless ? NO_BODY : ALL,
  };
}

const NO_BODY: Answer['body'] = { kind: 'none' };
const ALL: Answer['body'] = { kind: 'all' };

/** The parts of an answer that depend neither on the request nor on the time. */
interface Prepared {
  readonly name: string;
  /** Fields of an answer with the whole body, including Content-Length if the length is known. */
  readonly whole: readonly string[];
  /** Fields without those that state a length. */
  readonly unsized: readonly string[];
  /** Length of the whole representation in bytes, or -1 if ranges of it cannot be served. */
  readonly total: number;
  readonly bodiless: boolean;
  readonly notModified: () => readonly string[];
}

const preparations = new WeakMap<StoredResponse, Prepared>();

function prepared(stored: StoredResponse, options: PolicyOptions): Prepared {
  const known = preparations.get(stored);
  if (known !== undefined && known.name === options.name) return known;
  const unsized = withoutFields(stored.headers, stored.status === 206 ? SIZES : LENGTH);
  unsized.push('Via', via(options));
  const bodiless = isBodiless(stored.status);
  const length = stored.bodyLength >= 0 ? stored.bodyLength : (expectedBodyLength(stored) ?? -1);
  // RFC 9110, 8.6: no Content-Length where there can be no content.
  const whole = bodiless || length < 0 ? unsized : [...unsized, 'Content-Length', String(length)];
  // RFC 9110, 14.2: Range applies to the content that a 200 would carry.
  const total = stored.range !== null ? stored.range.total : stored.status === 200 ? length : -1;
  let notModified: string[] | undefined;
  const made: Prepared = {
    name: options.name,
    whole,
    unsized,
    total,
    bodiless,
    // RFC 9110, 15.4.5: leave out the fields that describe the content. Last-Modified is sent only
    // if there is no ETag to tell versions apart.
    notModified: () =>
      (notModified ??= withoutFields(unsized, stored.etag === null ? CONTENT : CONTENT_AND_DATE)),
  };
  preparations.set(stored, made);
  return made;
}

const LENGTH: ReadonlySet<string> = new Set(['content-length']);
const SIZES: ReadonlySet<string> = new Set(['content-length', 'content-range']);
const CONTENT: ReadonlySet<string> = new Set([
  ...SIZES,
  'content-encoding',
  'content-language',
  'content-type',
]);
const CONTENT_AND_DATE: ReadonlySet<string> = new Set([...CONTENT, 'last-modified']);
const CONTENT_TYPE: ReadonlySet<string> = new Set(['content-type']);

/** Appends Age and Cache-Status. 4: Age is sent whenever a stored response is used. */
function closed(
  fields: readonly string[],
  stored: StoredResponse,
  now: number,
  context: AnswerContext,
): string[] {
  const headers = fields.slice();
  const age = Math.min(Math.floor(currentAge(stored, now) / 1000), MAX_DELTA_SECONDS);
  headers.push('Age', String(age), 'Cache-Status', context.status);
  return headers;
}

function rangesAnswer(
  stored: StoredResponse,
  ranges: readonly ByteRange[] | 'none',
  ready: Prepared,
  now: number,
  context: AnswerContext,
): Answer | null {
  const headers = closed(ready.unsized, stored, now, context);
  const { total } = ready;
  if (ranges === 'none') {
    // RFC 9110, 15.5.17: send the length, so that the client can ask for a range that exists.
    const fields = withoutFields(headers, CONTENT);
    fields.push('Content-Range', `bytes */${total}`, 'Content-Length', '0');
    return { status: 416, statusText: 'Range Not Satisfiable', headers: fields, body: NO_BODY };
  }
  const has = stored.range === null ? { start: 0, end: total } : storedInterval(stored);
  if (ranges.some((range) => range.start < has.start || range.end > has.end)) return null;
  const statusText = 'Partial Content';
  if (ranges.length === 1) {
    const [range] = ranges;
    const { start, end } = range!;
    headers.push('Content-Range', formatContentRange(range!, total), 'Content-Length', String(end - start));
    const body = { kind: 'part', start: start - has.start, end: end - has.start } as const;
    return { status: 206, statusText, headers, body };
  }
  // 15.3.7.2: each part has its own range and type; the head has no Content-Range.
  const boundary = boundaryFor(`${stored.key} ${stored.responseTime} ${now} ${JSON.stringify(ranges)}`);
  const type = fieldValue(stored.headers, 'content-type');
  const typeLine = type === undefined ? '' : `Content-Type: ${type}\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  let contentLength = tail.length;
  const parts = ranges.map((range) => {
    const head = `\r\n--${boundary}\r\n${typeLine}Content-Range: ${formatContentRange(range, total)}\r\n\r\n`;
    contentLength += head.length + range.end - range.start;
    return { head, start: range.start - has.start, end: range.end - has.start };
  });
  const fields = withoutFields(headers, CONTENT_TYPE);
  fields.push('Content-Type', `multipart/byteranges; boundary=${boundary}`);
  fields.push('Content-Length', String(contentLength));
  return { status: 206, statusText, headers: fields, body: { kind: 'parts', parts, tail, contentLength } };
}

/** FNV-1a with two offsets: 64 bits as text. */
function boundaryFor(seed: string): string {
  let one = 0x811c9dc5;
  let two = 0x01000193;
  for (let i = 0; i < seed.length; i++) {
    one = Math.imul(one ^ seed.charCodeAt(i), 0x01000193);
    two = Math.imul(two ^ seed.charCodeAt(i), 0x5bd1e995);
  }
  return `bytes-${(one >>> 0).toString(36)}-${(two >>> 0).toString(36)}`;
}
