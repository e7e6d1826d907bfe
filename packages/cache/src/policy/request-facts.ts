/**
 * The facts that the policy needs about a request, collected in one pass over its fields.
 *
 * On the hot path `decide` and `answerFrom` need the same facts, one after the other, so the facts
 * of the last list are remembered. Only one list is remembered: a WeakMap would cost more than the
 * pass that it saves. The list is recognised by identity, which is correct as long as no caller
 * changes a `FieldList` after passing it to the policy.
 *
 * Names are compared by length first. Hardly any field that browsers send has the same length as
 * one that matters here, and only those are compared in full.
 */

import { type Directives, noDirectives, parseCacheControl } from './cache-control.ts';
import { isNamed } from './fields.ts';
import type { FieldList } from './stored-response.ts';

export interface RequestFacts {
  /**
   * The request's directives, or null if there is no Cache-Control and no Pragma that stands in for
   * it.
   */
  directives: Directives | null;
  authorization: boolean;
  /** Connection holds more than keep-alive or close, so it may name fields (RFC 9110, 7.6.1). */
  connection: boolean;
  /** Content-Length other than 0, or Transfer-Encoding. */
  content: boolean;
  /**
   * If-Match or If-Unmodified-Since is present: only the origin may evaluate these (RFC 9111,
   * 4.3.2).
   */
  forOrigin: boolean;
  ifNoneMatch: string | undefined;
  ifModifiedSince: string | undefined;
  ifRange: string | undefined;
  range: string | undefined;
}

let lastHeaders: FieldList | undefined;
let lastFacts: RequestFacts | undefined;

export function requestFacts(headers: FieldList): RequestFacts {
  if (headers === lastHeaders) return lastFacts!;
  const facts: RequestFacts = {
    directives: null,
    authorization: false,
    connection: false,
    content: false,
    forOrigin: false,
    ifNoneMatch: undefined,
    ifModifiedSince: undefined,
    ifRange: undefined,
    range: undefined,
  };
  let cacheControl: string | undefined;
  let pragma: string | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    switch (name.length) {
      case 5:
        if (isNamed(name, 'range')) facts.range = joined(facts.range, value);
        break;
      case 6:
        if (isNamed(name, 'pragma')) pragma = joined(pragma, value);
        break;
      case 8:
        if (isNamed(name, 'if-range')) facts.ifRange = joined(facts.ifRange, value);
        else if (isNamed(name, 'if-match')) facts.forOrigin = true;
        break;
      case 10:
        // User-Agent has the same length; checking the first letter avoids lower-casing it.
        if ((name.charCodeAt(0) | 0x20) !== LETTER_C || staysOrCloses(value)) break;
        if (isNamed(name, 'connection')) facts.connection = true;
        break;
      case 13:
        if (isNamed(name, 'cache-control')) cacheControl = joined(cacheControl, value);
        else if (isNamed(name, 'if-none-match')) facts.ifNoneMatch = joined(facts.ifNoneMatch, value);
        else if (isNamed(name, 'authorization')) facts.authorization = true;
        break;
      case 14:
        if (value !== '0' && isNamed(name, 'content-length')) facts.content = true;
        break;
      case 17:
        if (isNamed(name, 'if-modified-since')) facts.ifModifiedSince = joined(facts.ifModifiedSince, value);
        else if (isNamed(name, 'transfer-encoding')) facts.content = true;
        break;
      case 19:
        if (isNamed(name, 'if-unmodified-since')) facts.forOrigin = true;
    }
  }
  if (cacheControl !== undefined) facts.directives = parseCacheControl(cacheControl);
  // RFC 9111, 5.4: Pragma is deprecated. It is obeyed only without Cache-Control, because HTTP/1.0
  // clients have no other way to ask (RFC 7234, 5.4).
  else if (pragma !== undefined && parseCacheControl(pragma).noCache) {
    facts.directives = noDirectives();
    facts.directives.noCache = true;
  }
  lastHeaders = headers;
  lastFacts = facts;
  return facts;
}

/** RFC 9111, 5.2.1.7: the client wants a stored response, or 504. */
export function isOnlyIfCached(headers: FieldList): boolean {
  return requestFacts(headers).directives?.onlyIfCached === true;
}

const LETTER_C = 0x63;

/** The values of nearly every Connection field. */
function staysOrCloses(value: string): boolean {
  return value === 'keep-alive' || value === 'close' || value === 'Keep-Alive';
}

/**
 * Two lines of a field that is not a list (Range, dates) become an unreadable value, as intended.
 */
function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}
