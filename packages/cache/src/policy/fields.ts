/**
 * Header fields as flat lists of name, value, name, value (Node's `rawHeaders`), and functions to
 * look them up.
 *
 * We keep flat lists instead of maps for two reasons. A proxy must forward fields in the order and
 * case in which they came, and a hit must not build a map for a request of which it asks three
 * questions. Names are compared case-insensitively (RFC 9110, 5.1), by length first, which rules
 * out nearly all of them. Every function takes the name in lower case; `'Range'` would find
 * nothing.
 *
 * A list with an odd number of entries is malformed: its last name has no value and is ignored.
 */

import type { FieldList } from './stored-response.ts';

/** The value of the first line with this name. */
export function fieldValue(headers: FieldList, lowerName: string): string | undefined {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (isNamed(headers[i]!, lowerName)) return headers[i + 1]!;
  }
  return undefined;
}

/** The values of all lines with this name, in their order. */
export function fieldValues(headers: FieldList, lowerName: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (isNamed(headers[i]!, lowerName)) values.push(headers[i + 1]!);
  }
  return values;
}

/**
 * All lines joined into one value, as RFC 9110, 5.3 allows for lists. Not for Set-Cookie, which is
 * not a list.
 */
export function combinedValue(headers: FieldList, lowerName: string): string | undefined {
  let combined: string | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (isNamed(headers[i]!, lowerName)) {
      combined = combined === undefined ? headers[i + 1]! : `${combined}, ${headers[i + 1]!}`;
    }
  }
  return combined;
}

/** A copy without the fields of these names (lower case). */
export function withoutFields(headers: FieldList, names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (!names.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}

/** Whether `name` equals `lowerName`, ignoring case. */
export function isNamed(name: string, lowerName: string): boolean {
  return name.length === lowerName.length && (name === lowerName || name.toLowerCase() === lowerName);
}

/**
 * The members of a comma-separated list, trimmed and without empty ones (RFC 9110, 5.6.1.2). Commas
 * inside quotes do not separate. A quote that is never closed is an ordinary character, so that it
 * does not hide the members after it.
 */
export function listMembers(value: string): string[] {
  const members: string[] = [];
  let start = 0;
  let quotes = value.includes('"');
  for (let i = 0; i <= value.length; i++) {
    const char = i < value.length ? value.charCodeAt(i) : COMMA;
    if (char === QUOTE && quotes) {
      const close = closingQuote(value, i);
      if (close < 0) quotes = false;
      else i = close;
    } else if (char === COMMA) {
      const member = trimmed(value, start, i);
      if (member !== '') members.push(member);
      start = i + 1;
    }
  }
  return members;
}

/**
 * The index at which the quoted string that opens at `open` closes, or -1 if it does not. A
 * backslash escapes the next character (RFC 9110, 5.6.4).
 */
export function closingQuote(value: string, open: number): number {
  for (let i = open + 1; i < value.length; i++) {
    const char = value.charCodeAt(i);
    if (char === QUOTE) return i;
    if (char === BACKSLASH) i++;
  }
  return -1;
}

/**
 * `value` from `start` to `end` without surrounding spaces and tabs, which are the only white space
 * in HTTP (RFC 9110, 5.6.3).
 */
export function trimmed(value: string, start = 0, end = value.length): string {
  let from = start;
  let to = end;
  while (from < to && isSpace(value.charCodeAt(from))) from++;
  while (to > from && isSpace(value.charCodeAt(to - 1))) to--;
  return from === 0 && to === value.length ? value : value.slice(from, to);
}

export function isSpace(char: number): boolean {
  return char === 0x20 || char === 0x09;
}

/** Whether the text is a token of RFC 9110, 5.6.2, the syntax of field and directive names. */
export function isToken(text: string): boolean {
  if (text === '') return false;
  for (let i = 0; i < text.length; i++) if (!isTokenChar(text.charCodeAt(i))) return false;
  return true;
}

export function isTokenChar(char: number): boolean {
  return char < 128 && TOKEN_CHARS[char] === 1;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

const TOKEN_CHARS = new Uint8Array(128);
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
  TOKEN_CHARS[char.charCodeAt(0)] = 1;
}
