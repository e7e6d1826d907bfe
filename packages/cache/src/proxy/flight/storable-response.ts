/**
 * What of a response goes into the store: what the policy allows (RFC 9111, 3), less what is unsafe to share although the RFC allows it.
 */

import {
  answerFrom,
  expectedBodyLength,
  fieldValue,
  mustValidate,
  type RequestHead,
  type ResponseHead,
  type Times,
  toStore,
} from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { explicitlyShareable, type SafeFields } from '../../safety/unkeyed-fields.ts';
import type { Exchange } from '../client/exchange.ts';
import type { FetchOrder } from './fetch-order.ts';
import type { ProxyContext } from './shared-response.ts';

/** Null: nothing of it. `asked`: as it went to the origin. */
export function storableResponse(
  { policy, limits }: ProxyContext,
  { decision }: FetchOrder,
  asked: RequestHead,
  safe: SafeFields,
  head: ResponseHead,
  times: Times,
): StoredResponse | null {
  const stored = toStore(asked, head, times, policy);
  if (stored === null) return null;
  // What a POST brought is for all who GET: not if it is about the one who posted, or made of fields that a GET would not have been asked with.
  if (!safe.shareable) return null;
  if (safe.explicitOnly && !explicitlyShareable(head, times, policy)) return null;
  if (fieldValue(stored.headers, 'set-cookie') !== undefined) {
    // A cookie is for one. It is given to others only where the origin said that the response may be reused as it is (RFC 9111, 7.3): not where each
    // use is to be validated, for a 304 for somebody else would hand them the cookie of the first.
    if (asked.method === 'POST' || stored.lifetimeMs === 0 || mustValidate(stored)) return null;
  }
  // A part must not take the place of a whole that the request merely went past.
  if (stored.range !== null && decision.reason === 'bypass') return null;
  const expected = expectedBodyLength(head);
  if (expected !== null && (expected < 0 || expected > limits.storedObjectBytes)) return null;
  return stored;
}

/** A part that is not the one the owner asked for cannot be given to it from the store: it goes to it as it is. */
export function suitsOwner(
  { policy, clock }: ProxyContext,
  owner: Exchange | null,
  stored: StoredResponse,
): boolean {
  if (stored.range === null || owner === null) return true;
  return answerFrom(owner.request, stored, clock(), { stale: false, status: '' }, policy) !== null;
}
