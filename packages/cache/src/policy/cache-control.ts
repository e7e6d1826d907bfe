/**
 * Cache directives, read once into plain facts (RFC 9111, 5.2; RFC 5861; RFC 8246), and which field they are taken from (RFC 9213).
 *
 * Reading is forgiving in one direction only: what forbids is understood in any shape it comes in (`no-store=1`, `"` never closed, any
 * case), what allows must be well-formed. A lifetime that is no plain number, or that is given twice with different values, makes the
 * response stale (4.2.1 encourages the first and allows the second), it is not skipped: the origin tried to say something about freshness,
 * and guessing for it by a heuristic would be worse than asking again.
 *
 * A library for this (a generic Cache-Control reader that gives a map of strings) was refused: the three rules above need the reader
 * to tell absent, invalid and contradictory apart, and to go over hostile values once (each character is looked at a bounded number of
 * times: thousands of directives or quotes are read in linear time).
 */

import { closingQuote, combinedValue, isSpace, isToken, isTokenChar, listMembers } from './fields.ts';
import type { PolicyOptions } from './policy-options.ts';
import type { FieldList } from './stored-response.ts';
import { type DictionaryValue, parseDictionary } from './structured-dictionary.ts';

/** Seconds, or one of these two. */
export const ABSENT = -1;
/** Present, but no number, or several that differ. */
export const INVALID = -2;

/** RFC 9111, 1.2.2: a number too large to hold counts as 2^31. No smaller limit: 2^31 seconds are 68 years. */
export const MAX_DELTA_SECONDS = 2_147_483_648;

export interface Directives {
  noStore: boolean;
  /** Without field names. */
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
  /** `max-stale` without a value is `Infinity`: any staleness. */
  maxStale: number;
  /** Fields (lower case) named by `no-cache="…"` and `private="…"`: not to be stored here (RFC 9111, 3.1). Null: none. */
  unstoredFields: Set<string> | null;
}

/** Of a Cache-Control value, lines joined by commas. */
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
    // What stands between here and the next comma should be white space. If not (`max-age =5`, `max-age=5 6`), the argument is not one.
    for (let char: number; i < value.length && (char = value.charCodeAt(i)) !== COMMA; i++) {
      if (isSpace(char)) continue;
      wellFormed = false;
      if (char !== QUOTE || !quotes) continue;
      const close = closingQuote(value, i);
      if (close >= 0) i = close;
      // From a quote that never closes to the end are ordinary characters, or one stray quote would hide a no-store behind it.
      else quotes = false;
    }
    if (name !== '') apply(directives, name.toLowerCase(), argument, wellFormed);
  }
  return directives;
}

/** The directives of a response: the first targeted field that can be read and is not empty, else Cache-Control (RFC 9213, 2.2). */
export function responseDirectives(
  headers: FieldList,
  options: PolicyOptions,
): { readonly directives: Directives; readonly targeted: boolean } {
  for (const name of options.targetedFields) {
    const value = combinedValue(headers, name.toLowerCase());
    if (value === undefined) continue;
    const members = parseDictionary(value);
    // RFC 9213, 2.1: empty, or not to be parsed: as if it was not there.
    if (members === null || members.size === 0) continue;
    return { directives: dictionaryDirectives(members), targeted: true };
  }
  const value = combinedValue(headers, 'cache-control');
  return { directives: value === undefined ? noDirectives() : parseCacheControl(value), targeted: false };
}

/** A number of seconds: digits and nothing else, too large ones as 2^31 (RFC 9111, 1.2.2). */
export function parseDeltaSeconds(text: string): number {
  if (text === '') return INVALID;
  let seconds = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return INVALID;
    // Past the limit only the form of the rest matters.
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

/** One directive. `wellFormed`: false if characters stood behind it that do not belong there. */
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
    // These allow something: as they are written in their RFC, or not at all.
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

/** RFC 9111, 4.2.1: of two values, the first, or none. None if they differ: nobody knows which was meant. */
function seconds(before: number, argument: string | undefined, wellFormed: boolean): number {
  const value = wellFormed && argument !== undefined ? parseDeltaSeconds(argument) : INVALID;
  return before === ABSENT || before === value ? value : INVALID;
}

/**
 * The qualified forms: the response may be stored without the fields they name (RFC 9111, 3.1, 5.2.2.4, 5.2.2.7). False: take it as
 * unqualified, that is, for the whole response: where no names can be read, and where a field is named without which the rest would
 * mean something else.
 */
function unstored(directives: Directives, argument: string | undefined, wellFormed: boolean): boolean {
  if (argument === undefined || !wellFormed) return false;
  const names = listMembers(argument).map((name) => name.toLowerCase());
  if (names.length === 0 || !names.every((name) => isToken(name) && !INDISPENSABLE.has(name))) return false;
  directives.unstoredFields ??= new Set();
  for (const name of names) directives.unstoredFields.add(name);
  return true;
}

/** Fields that say what the bytes are, for whom, and for how long. */
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
      // RFC 9213, 2.1: seconds are Integers; a negative one is no delta-seconds.
      apply(directives, name, String(value), true);
    } else if (value !== false) {
      // Names of fields are a String or a Token. Seconds as a String are the wrong type: `max-age="5"` is not understood here.
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
