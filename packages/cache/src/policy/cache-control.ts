/**
 * Cache directives, parsed once into plain values (RFC 9111, 5.2; RFC 5861; RFC 8246), and the
 * choice of the field that they are taken from (RFC 9213).
 *
 * The parser is lenient in one direction only. A directive that forbids something is understood in
 * any form (`no-store=1`, a `"` that is never closed, any case). A directive that allows something
 * must be well-formed. A lifetime that is not a plain number, or that is given twice with different
 * values, makes the response stale (4.2.1 encourages the first and allows the second). Such a
 * lifetime is not skipped: the origin tried to say something about freshness, and replacing it with
 * a heuristic would be worse than asking again.
 *
 * We refused a generic Cache-Control library, which returns a map of strings. The rules above need
 * a parser that tells absent, invalid and contradictory values apart. The parser must also read
 * hostile values in linear time, even with thousands of directives or quotes; ours looks at each
 * character a bounded number of times.
 */

import { closingQuote, combinedValue, isSpace, isToken, isTokenChar, listMembers } from './fields.ts';
import type { PolicyOptions } from './policy-options.ts';
import type { FieldList } from './stored-response.ts';
import { type DictionaryValue, parseDictionary } from './structured-dictionary.ts';

/** The directive is absent. Directives with a number hold seconds, ABSENT or INVALID. */
export const ABSENT = -1;
/** The directive is present, but its value is not a number, or several values differ. */
export const INVALID = -2;

/**
 * RFC 9111, 1.2.2: a number too large to hold counts as 2^31. There is no smaller limit: 2^31
 * seconds are 68 years.
 */
export const MAX_DELTA_SECONDS = 2_147_483_648;

export interface Directives {
  noStore: boolean;
  /** `no-cache` without field names. */
  noCache: boolean;
  private: boolean;
  public: boolean;
  mustRevalidate: boolean;
  proxyRevalidate: boolean;
  mustUnderstand: boolean;
  noTransform: boolean;
  immutable: boolean;
  onlyIfCached: boolean;
  maxAge: number;
  sMaxAge: number;
  staleWhileRevalidate: number;
  staleIfError: number;
  minFresh: number;
  /** `max-stale` without a value is `Infinity`: the client accepts any staleness. */
  maxStale: number;
  /**
   * Fields (lower case) named by `no-cache="…"` and `private="…"`, which must not be stored here
   * (RFC 9111, 3.1), or null if there are none.
   */
  unstoredFields: Set<string> | null;
}

/** Parses a Cache-Control value. Several lines are joined by commas first. */
export function parseCacheControl(value: string): Directives {
  const directives = noDirectives();
  let quotes = true;
  let i = 0;
  while (i < value.length) {
    while (i < value.length && (isSpace(value.charCodeAt(i)) || value.charCodeAt(i) === COMMA)) i++;
    const nameStart = i;
    while (i < value.length && isTokenChar(value.charCodeAt(i))) i++;
    const name = value.slice(nameStart, i);
    let argument: string | undefined;
    let wellFormed = true;
    if (value.charCodeAt(i) === EQUALS) {
      const argumentStart = ++i;
      const close = value.charCodeAt(i) === QUOTE && quotes ? closingQuote(value, i) : -1;
      if (close >= 0) {
        argument = value.slice(i + 1, close);
        i = close + 1;
      } else {
        while (i < value.length && isTokenChar(value.charCodeAt(i))) i++;
        argument = value.slice(argumentStart, i);
      }
    }
    // Only white space should follow before the next comma. If anything else does (`max-age =5`,
    // `max-age=5 6`), the argument is malformed.
    for (let char: number; i < value.length && (char = value.charCodeAt(i)) !== COMMA; i++) {
      if (isSpace(char)) continue;
      wellFormed = false;
      if (char !== QUOTE || !quotes) continue;
      const close = closingQuote(value, i);
      if (close >= 0) i = close;
      // After a quote that never closes, all characters are ordinary. Otherwise one stray quote
      // would hide a no-store that follows it.
      else quotes = false;
    }
    if (name !== '') apply(directives, name.toLowerCase(), argument, wellFormed);
  }
  return directives;
}

/**
 * The directives of a response: those of the first targeted field that is well-formed and not
 * empty, otherwise those of Cache-Control (RFC 9213, 2.2).
 */
export function responseDirectives(
  headers: FieldList,
  options: PolicyOptions,
): { readonly directives: Directives; readonly targeted: boolean } {
  for (const name of options.targetedFields) {
    const value = combinedValue(headers, name.toLowerCase());
    if (value === undefined) continue;
    const members = parseDictionary(value);
    // RFC 9213, 2.1: a field that is empty or cannot be parsed is treated as absent.
    if (members === null || members.size === 0) continue;
    return { directives: dictionaryDirectives(members), targeted: true };
  }
  const value = combinedValue(headers, 'cache-control');
  return { directives: value === undefined ? noDirectives() : parseCacheControl(value), targeted: false };
}

/**
 * Parses a number of seconds: digits only; values that are too large become 2^31 (RFC 9111, 1.2.2).
 */
export function parseDeltaSeconds(text: string): number {
  if (text === '') return INVALID;
  let seconds = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return INVALID;
    // Above the limit only the syntax of the remaining digits matters.
    if (seconds < MAX_DELTA_SECONDS) seconds = seconds * 10 + digit;
  }
  return Math.min(seconds, MAX_DELTA_SECONDS);
}

export function noDirectives(): Directives {
  return {
    noStore: false,
    noCache: false,
    private: false,
    public: false,
    mustRevalidate: false,
    proxyRevalidate: false,
    mustUnderstand: false,
    noTransform: false,
    immutable: false,
    onlyIfCached: false,
    maxAge: ABSENT,
    sMaxAge: ABSENT,
    staleWhileRevalidate: ABSENT,
    staleIfError: ABSENT,
    minFresh: ABSENT,
    maxStale: ABSENT,
    unstoredFields: null,
  };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const EQUALS = 0x3d;

/** Applies one directive. `wellFormed` is false if unexpected characters followed the directive. */
function apply(
  directives: Directives,
  name: string,
  argument: string | undefined,
  wellFormed: boolean,
): void {
  switch (name) {
    case 'no-store':
      directives.noStore = true;
      return;
    case 'no-cache':
      if (!unstored(directives, argument, wellFormed)) directives.noCache = true;
      return;
    case 'private':
      if (!unstored(directives, argument, wellFormed)) directives.private = true;
      return;
    case 'must-revalidate':
      directives.mustRevalidate = true;
      return;
    case 'proxy-revalidate':
      directives.proxyRevalidate = true;
      return;
    case 'no-transform':
      directives.noTransform = true;
      return;
    case 'only-if-cached':
      directives.onlyIfCached = true;
      return;
    // The directives below allow something, so they count only if written exactly as in their RFC.
    case 'public':
      if (wellFormed && argument === undefined) directives.public = true;
      return;
    case 'must-understand':
      if (wellFormed && argument === undefined) directives.mustUnderstand = true;
      return;
    case 'immutable':
      // RFC 8246, 2: an argument has no meaning and is ignored.
      if (wellFormed) directives.immutable = true;
      return;
    case 'max-age':
      directives.maxAge = seconds(directives.maxAge, argument, wellFormed);
      return;
    case 's-maxage':
      directives.sMaxAge = seconds(directives.sMaxAge, argument, wellFormed);
      return;
    case 'stale-while-revalidate':
      directives.staleWhileRevalidate = seconds(directives.staleWhileRevalidate, argument, wellFormed);
      return;
    case 'stale-if-error':
      directives.staleIfError = seconds(directives.staleIfError, argument, wellFormed);
      return;
    case 'min-fresh':
      directives.minFresh = seconds(directives.minFresh, argument, wellFormed);
      return;
    case 'max-stale':
      directives.maxStale =
        argument === undefined && wellFormed
          ? Number.POSITIVE_INFINITY
          : seconds(directives.maxStale, argument, wellFormed);
  }
}

/**
 * RFC 9111, 4.2.1: of two values, a cache uses the first or treats the response as stale. Here two
 * different values are invalid, because the intended one is unknown.
 */
function seconds(before: number, argument: string | undefined, wellFormed: boolean): number {
  const value = wellFormed && argument !== undefined ? parseDeltaSeconds(argument) : INVALID;
  return before === ABSENT || before === value ? value : INVALID;
}

/**
 * Handles the qualified forms: the response may be stored without the fields that they name (RFC
 * 9111, 3.1, 5.2.2.4, 5.2.2.7). Returns false if the directive must be treated as unqualified, so
 * that it applies to the whole response. That is the case if no names can be read, or if a named
 * field is one without which the rest would mean something else.
 */
function unstored(directives: Directives, argument: string | undefined, wellFormed: boolean): boolean {
  if (argument === undefined || !wellFormed) return false;
  const names = listMembers(argument).map((name) => name.toLowerCase());
  if (names.length === 0 || !names.every((name) => isToken(name) && !INDISPENSABLE.has(name))) return false;
  directives.unstoredFields ??= new Set();
  for (const name of names) directives.unstoredFields.add(name);
  return true;
}

/** Fields that say what the bytes are, for which requests, and for how long. */
const INDISPENSABLE: ReadonlySet<string> = new Set([
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'date',
  'expires',
  'location',
  'vary',
]);

function dictionaryDirectives(members: ReadonlyMap<string, DictionaryValue>): Directives {
  const directives = noDirectives();
  for (const [name, value] of members) {
    if (value === true) apply(directives, name, undefined, true);
    else if (typeof value === 'number') {
      // RFC 9213, 2.1: seconds are Integers; a negative Integer is not a valid delta-seconds.
      apply(directives, name, String(value), true);
    } else if (value !== false) {
      // Field names are a String or a Token. Seconds given as a String have the wrong type, so
      // `max-age="5"` is not understood here.
      const text = 'string' in value ? value.string : 'token' in value ? value.token : undefined;
      apply(directives, name, text, text !== undefined && !SECONDS.has(name));
    }
  }
  return directives;
}

const SECONDS: ReadonlySet<string> = new Set([
  'max-age',
  's-maxage',
  'stale-while-revalidate',
  'stale-if-error',
]);
