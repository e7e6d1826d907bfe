/**
 * Rules that all stores share: which stored responses are the same, which replace each other, and
 * which is the newest.
 *
 * Two responses of a key are the same variant if their `varied` lists are equal; a new one then
 * replaces the old one. They are the same response if their heads do not differ. Objects are
 * compared by identity first and by content second, because a response that was written to disk and
 * read back is another object.
 *
 * Newest first means by `responseTime`, not by the order in which they were stored (RFC 9111, 4.1:
 * the most recent one is to be used): a slow body that was requested early is stored late, but is
 * older. Among equal times the one stored last comes first.
 */

import type { StoredResponse } from '../policy/stored-response.ts';

/** Whether two responses are the same variant, so that the later one replaces the earlier. */
export function sameVariant(a: StoredResponse, b: StoredResponse): boolean {
  const { varied } = a;
  const other = b.varied;
  if (varied === other) return true;
  if (varied.length !== other.length) return false;
  for (let i = 0; i < varied.length; i++) {
    if (varied[i]![0] !== other[i]![0] || varied[i]![1] !== other[i]![1]) return false;
  }
  return true;
}

/** Whether two objects are the same response. */
export function sameResponse(a: StoredResponse, b: StoredResponse): boolean {
  if (a === b) return true;
  return (
    a.responseTime === b.responseTime &&
    a.requestTime === b.requestTime &&
    a.bodyLength === b.bodyLength &&
    a.status === b.status &&
    a.lifetimeMs === b.lifetimeMs &&
    a.range?.start === b.range?.start &&
    a.range?.total === b.range?.total &&
    a.key === b.key &&
    sameVariant(a, b) &&
    sameFields(a.headers, b.headers)
  );
}

/** The index of a response in a list that is newest first. */
export function newestFirstIndex(list: readonly StoredResponse[], response: StoredResponse): number {
  let i = 0;
  while (i < list.length && list[i]!.responseTime > response.responseTime) i++;
  return i;
}

/** Sorts a list in place. */
export function newestFirst(list: StoredResponse[]): StoredResponse[] {
  return list.sort((a, b) => b.responseTime - a.responseTime);
}

function sameFields(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
