/**
 * The secondary key: the request fields by which a response was selected (RFC 9111, 4.1).
 *
 * Two requests match if their values of a field differ only in white space where the syntax allows
 * it, in how lines are joined, or in ways that the field's definition declares equivalent. Lines
 * are therefore joined, and white space around commas is removed. It stays inside quotes, and in
 * fields that are known not to be lists, where `a, b` may be words. For Accept-Encoding,
 * Accept-Language and Accept-Charset, the order, the case and the notation of weights are also
 * normalised (RFC 9110, 12.4.2, 12.5.2 to 12.5.4: only the weight expresses preference, and a
 * missing weight is 1).
 *
 * We refused to answer `fr;q=0.5, de` with a German response that was stored for `en, de`. The
 * origin might well send the same response, but the two values do not mean the same, and then 4.1
 * forbids it.
 */

import { combinedValue, isToken, listMembers, trimmed } from './fields.ts';
import type { FieldList, StoredResponse } from './stored-response.ts';

export type Varied = StoredResponse['varied'];

/**
 * The secondary key of a response to a request with these fields, or null if the response can never
 * match. That is the case if `*` is among the names (4.1), if a name is not a token, so that it is
 * unknown what the response depends on, or if there are more than 64 names.
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
  return variedFor([...names].sort(), requestHeaders);
}

/** The secondary key of a request whose responses are selected by these fields, sorted by name. */
export function variedFor(names: readonly string[], requestHeaders: FieldList): Varied {
  return names.map((name) => [name, normalisedValue(requestHeaders, name)] as const);
}

/** The names of the fields in a secondary key. */
export function namesOf(varied: Varied): readonly string[] {
  return varied.map(([name]) => name);
}

/** A secondary key as text: equal keys, and only those, have equal texts. Empty without Vary. */
export function variantText(varied: Varied): string {
  return varied.length === 0 ? '' : JSON.stringify(varied);
}

/** Whether a response with this secondary key may answer a request with these fields. */
export function matchesVaried(varied: Varied, requestHeaders: FieldList): boolean {
  for (let i = 0; i < varied.length; i++) {
    const [name, value] = varied[i]!;
    if (normalisedValue(requestHeaders, name) !== value) return false;
  }
  return true;
}

/**
 * The normalised value, or null if the request has no such field. Null matches only requests that
 * lack the field as well (4.1).
 */
function normalisedValue(headers: FieldList, lowerName: string): string | null {
  const value = combinedValue(headers, lowerName);
  if (value === undefined) return null;
  if (WEIGHTED.has(lowerName)) return weightedList(value);
  if (!value.includes(',') || NOT_LISTS.has(lowerName)) return trimmed(value);
  return listMembers(value).join(',');
}

const NOTHING: Varied = [];

/**
 * Every request is searched for every name, so a Vary of a thousand names would make each hit cost
 * a millisecond.
 */
const MAX_NAMES = 64;

/** Lists of items with a weight, in any order and case. */
const WEIGHTED: ReadonlySet<string> = new Set(['accept-encoding', 'accept-language', 'accept-charset']);

/** Fields in which a comma does not separate members, or whose text must stay unchanged. */
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
 * Most clients send one of a few values, and most responses with Vary name Accept-Encoding, so
 * recent results are kept. All are dropped when there are too many. Otherwise a client that sends
 * many different values would fill the memo permanently.
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
    // A parameter that is not a weight stays as it is, because its meaning is unknown.
    if (weight === null) return `${item};${member.slice(semicolon + 1)}`;
    const q = Number(weight[1]);
    return q === 1 ? item : `${item};q=${q}`;
  });
  return members.sort().join(',');
}

/** RFC 9110, 12.4.2: 0 to 1 with at most three digits after the point. */
const WEIGHT = /^[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*$/;

/** RFC 9110, 8.4.1.1, 8.4.1.3: two old names of codings. No language or charset has these names. */
function alias(item: string): string {
  return item === 'x-gzip' ? 'gzip' : item === 'x-compress' ? 'compress' : item;
}
