/**
 * Decides which responses go into the store: those that the policy allows (RFC 9111, 3), except
 * those that are unsafe to share although the RFC allows it.
 */

import {
  answerFrom,
  expectedBodyLength,
  fieldValue,
  mustValidate,
  type NotStored,
  type RequestHead,
  type ResponseHead,
  storedOrReason,
  type Times,
} from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { explicitlyShareable, type SafeFields } from '../../safety/unkeyed-fields.ts';
import type { Exchange } from '../client/exchange.ts';
import type { FetchOrder } from './fetch-order.ts';
import type { ProxyContext } from './shared-response.ts';

/**
 * The response to store, or the reason why it must not be stored. `asked` is the request as it went
 * to the origin.
 */
export function storableResponse(
  { policy, limits }: ProxyContext,
  { decision }: FetchOrder,
  asked: RequestHead,
  safe: SafeFields,
  head: ResponseHead,
  times: Times,
): StoredResponse | NotStored {
  const stored = storedOrReason(asked, head, times, policy);
  if (typeof stored === 'string') return stored;
  // The response to a POST is stored for all later GETs. It must not be about the client that
  // posted, nor depend on fields that would be dropped from a GET.
  if (!safe.shareable) return 'personal';
  if (safe.explicitOnly && !explicitlyShareable(head, times, policy)) return 'cookie';
  if (fieldValue(stored.headers, 'set-cookie') !== undefined) {
    // A cookie is for one client. It is given to others only if the origin said that the response
    // may be reused as it is (RFC 9111, 7.3). It is not if each use must be validated, because a
    // 304 for another client would give it the cookie of the first.
    if (asked.method === 'POST' || stored.lifetimeMs === 0 || mustValidate(stored)) return 'set-cookie';
  }
  // A part must not replace a complete response that this request merely bypassed.
  if (stored.range !== null && decision.reason === 'bypass') return 'partial';
  const expected = expectedBodyLength(head);
  if (expected !== null && expected < 0) return 'wrong-length';
  if (expected !== null && expected > limits.storedObjectBytes) return 'too-large';
  return stored;
}

/**
 * Whether the first waiter can be answered from the stored response. A part other than the one that
 * it asked for cannot be served to it from the store, and is streamed to it instead.
 */
export function suitsFirst(
  { policy, clock }: ProxyContext,
  first: Exchange | null,
  stored: StoredResponse,
): boolean {
  if (stored.range === null || first === null) return true;
  return answerFrom(first.request, stored, clock(), { stale: false, status: '' }, policy) !== null;
}
