/**
 * The secondary key: which request fields a response was chosen by (RFC 9111, 4.1).
 *
 * Two requests match if a field's values can be turned into each other by white space where the syntax has room for it, by joining
 * lines, and by what the field's own definition says means the same. So: lines are joined; around commas white space goes (not inside
 * quotes, and not in fields that are known to be no lists, where `a, b` may be words); and for Accept-Encoding, Accept-Language and
 * Accept-Charset the order goes too, the case, and the ways to write a weight (RFC 9110, 12.4.2, 12.5.2 to 12.5.4: the weight alone says
 * what is preferred, and a missing one is 1).
 *
 * Refused: to answer `fr;q=0.5, de` with a response in German that was given for `en, de`. It may well be what the origin would send, but
 * the two values do not mean the same, and then 4.1 forbids it.
 */

import { combinedValue, isToken, listMembers, trimmed } from './fields.ts';
import type { FieldList, StoredResponse } from './stored-response.ts';

export type Varied = StoredResponse['varied'];

/**
 * The secondary key of a response to a request with these fields. Null: none, for it can never match: `*` is among the names (4.1), or
 * something that is no name at all, and then nobody knows what it depends on; or there are absurdly many.
 */
export function variedBy(responseHeaders: FieldList, requestHeaders: FieldList): Varied | null {
  const vary = combinedValue(responseHeaders, 'vary');
  if (vary === undefined) return NOTHING;
  const names = new Set<string>();
  for (const member of listMembers(vary)) {
    if (member === '*' || !isToken(member)) return null;
    names.add(member.toLowerCase());
    if (names.size > MAX_NAMES) return null;
  }
  return [...names].sort().map((name) => [name, normalisedValue(requestHeaders, name)] as const);
}

/** Whether a response with this secondary key may answer a request with these fields. */
export function matchesVaried(varied: Varied, requestHeaders: FieldList): boolean {
  for (let i = 0; i < varied.length; i++) {
    const [name, value] = varied[i]!;
    if (normalisedValue(requestHeaders, name) !== value) return false;
  }
  return true;
}

/** Null: the request has no such field, which matches only a request that had none either (4.1). */
export function normalisedValue(headers: FieldList, lowerName: string): string | null {
  const value = combinedValue(headers, lowerName);
  if (value === undefined) return null;
  if (WEIGHTED.has(lowerName)) return weightedList(value);
  if (!value.includes(',') || NOT_LISTS.has(lowerName)) return trimmed(value);
  return listMembers(value).join(',');
}

const NOTHING: Varied = [];

/** Every request is searched for every name: a Vary of a thousand names would make each hit cost a millisecond. */
const MAX_NAMES = 64;

/** Lists of things with a weight, written in any order and case. */
const WEIGHTED: ReadonlySet<string> = new Set(['accept-encoding', 'accept-language', 'accept-charset']);

/** Fields in which a comma separates nothing, or whose words must not be touched. */
const NOT_LISTS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'from',
  'host',
  'origin',
  'range',
  'referer',
  'user-agent',
]);

/**
 * Most clients send one of a few values, and Accept-Encoding is what most responses vary by: the last few results are kept. They are all
 * forgotten when there are too many, since whoever sends many different values would else fill it with nothing else.
 */
const memo = new Map<string, string>();
const MEMO_ENTRIES = 512;
const MEMO_LENGTH = 256;

function weightedList(value: string): string {
  if (value.length > MEMO_LENGTH) return sortedList(value);
  const known = memo.get(value);
  if (known !== undefined) return known;
  const list = sortedList(value);
  if (memo.size >= MEMO_ENTRIES) memo.clear();
  memo.set(value, list);
  return list;
}

function sortedList(value: string): string {
  const members = listMembers(value.toLowerCase()).map((member) => {
    const semicolon = member.indexOf(';');
    if (semicolon < 0) return alias(member);
    const item = alias(trimmed(member, 0, semicolon));
    const weight = WEIGHT.exec(member.slice(semicolon + 1));
    // What is no weight stays as it is: it may mean anything.
    if (weight === null) return `${item};${member.slice(semicolon + 1)}`;
    const q = Number(weight[1]);
    return q === 1 ? item : `${item};q=${q}`;
  });
  return members.sort().join(',');
}

/** RFC 9110, 12.4.2: 0 to 1 with at most three digits after the point. */
const WEIGHT = /^[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*$/;

/** RFC 9110, 8.4.1.1, 8.4.1.3: two old names of codings. No language or charset has such a name. */
function alias(item: string): string {
  return item === 'x-gzip' ? 'gzip' : item === 'x-compress' ? 'compress' : item;
}
