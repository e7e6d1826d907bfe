/**
 * Header fields as flat lists of name, value, name, value (Node's `rawHeaders`), and how to find one in them.
 *
 * Flat lists are kept, rather than maps, because a proxy must send fields again in the order and the case in which they came, and
 * because a hit must not build a map of a request it asks three questions. Names are compared without regard to case (RFC 9110,
 * 5.1): the length first, which settles nearly all of them. Every function takes the name in lower case; `'Range'` would find nothing.
 *
 * A list with an odd number of entries is not one; the last name is then without a value, and is not seen.
 */

import type { FieldList } from './stored-response.ts';

/** The value of the first line with that name. */
export function fieldValue(headers: FieldList, lowerName: string): string | undefined {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (isNamed(headers[i]!, lowerName)) return headers[i + 1]!;
  }
  return undefined;
}

/** The values of all lines with that name, in their order. */
export function fieldValues(headers: FieldList, lowerName: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (isNamed(headers[i]!, lowerName)) values.push(headers[i + 1]!);
  }
  return values;
}

/** All lines as one, as RFC 9110, 5.3 allows for lists. Not for Set-Cookie, which is not a list. */
export function combinedValue(headers: FieldList, lowerName: string): string | undefined {
  let combined: string | undefined;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (isNamed(headers[i]!, lowerName)) {
      combined = combined === undefined ? headers[i + 1]! : `${combined}, ${headers[i + 1]!}`;
    }
  }
  return combined;
}

/** A copy without the fields of those names (lower case). */
export function withoutFields(headers: FieldList, names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (!names.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}

/** Whether `name`, in any case, is `lowerName`. */
export function isNamed(name: string, lowerName: string): boolean {
  return name.length === lowerName.length && (name === lowerName || name.toLowerCase() === lowerName);
}

/**
 * The members of a comma-separated list, trimmed, empty ones dropped (RFC 9110, 5.6.1.2), commas inside quotes left alone. A quote
 * that is never closed is an ordinary character: it must not swallow what follows.
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

/** Where the quoted string that opens at `open` closes; -1: nowhere. A backslash escapes the next character (RFC 9110, 5.6.4). */
export function closingQuote(value: string, open: number): number {
  for (let i = open + 1; i < value.length; i++) {
    const char = value.charCodeAt(i);
    if (char === QUOTE) return i;
    if (char === BACKSLASH) i++;
  }
  return -1;
}

/** `value` from `start` to `end` without spaces and tabs around it: the only white space HTTP has (RFC 9110, 5.6.3). */
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

/** A token of RFC 9110, 5.6.2: what names of fields and directives are made of. */
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
