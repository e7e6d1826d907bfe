/**
 * The mark of a response that came from a neighbour and not from its origin. The neighbour has it
 * and says so in its summary, so a copy is neither published nor kept at the cost of responses that
 * only this node has. A copy that is used again, validated by the origin, or fetched again becomes
 * an ordinary response of this node.
 */

import { PEER_COPY } from './freshness.ts';
import type { StoredResponse } from './stored-response.ts';

export function isPeerCopy({ flags }: StoredResponse): boolean {
  return (flags & PEER_COPY) !== 0;
}

export function asPeerCopy(response: StoredResponse): StoredResponse {
  return isPeerCopy(response) ? response : { ...response, flags: response.flags | PEER_COPY };
}

/** The same response without the mark. */
export function asOwn(response: StoredResponse): StoredResponse {
  return isPeerCopy(response) ? { ...response, flags: response.flags & ~PEER_COPY } : response;
}
