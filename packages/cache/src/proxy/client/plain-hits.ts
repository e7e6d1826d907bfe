/**
 * The head of a plain hit, made once for as long as it stays the same.
 *
 * Of two answers from one stored response within the same second only the bytes on the wire are new: the fields are equal, Age and the `ttl` in
 * Cache-Status included, for both count whole seconds. So the list is kept, with the time until which it is right, and handed to
 * `writeHead` again, which does not change it. This saves the copy of the list and the making of three strings on each hit.
 *
 * Plain: GET without Range and without conditions, and nothing to map. `answerFrom` makes all others again.
 */

import {
  answerFrom,
  currentAge,
  hitStatus,
  type PolicyOptions,
  type RequestHead,
} from '../../policy/index.ts';
import { requestFacts } from '../../policy/request-facts.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { hasMappedFields, type Route } from '../route.ts';

interface Kept {
  readonly headers: string[];
  /** Has fields that differ by the route. */
  readonly mapped: boolean;
  readonly from: number;
  readonly until: number;
}

export class PlainHits {
  readonly #policy: PolicyOptions;
  readonly #kept = new WeakMap<StoredResponse, Kept>();

  constructor(policy: PolicyOptions) {
    this.#policy = policy;
  }

  /** The fields for all of a stored response; null: the request is not plain, or the response has no body to send in one piece. */
  headersFor(request: RequestHead, route: Route, stored: StoredResponse, now: number): string[] | null {
    if (request.method !== 'GET' || stored.range !== null) return null;
    const facts = requestFacts(request.headers);
    if (facts.range !== undefined || facts.ifNoneMatch !== undefined || facts.ifModifiedSince !== undefined) {
      return null;
    }
    let kept = this.#kept.get(stored);
    if (kept === undefined || now < kept.from || now >= kept.until) {
      const made = this.#make(request, stored, now);
      if (made === null) return null;
      this.#kept.set(stored, (kept = made));
    }
    return kept.mapped && route.mapping !== null ? null : kept.headers;
  }

  #make(request: RequestHead, stored: StoredResponse, now: number): Kept | null {
    const status = hitStatus(this.#policy.name, stored, now);
    const answer = answerFrom(request, stored, now, { stale: false, status }, this.#policy);
    if (answer === null || answer.body.kind !== 'all') return null;
    // Until the next whole second of the age, or of what is left of the lifetime, whichever is sooner.
    const age = currentAge(stored, now);
    const left = stored.lifetimeMs - age;
    const until = now + Math.min(1000 - (age % 1000), left > 0 ? (left % 1000) + 1 : 1);
    return { headers: answer.headers, mapped: hasMappedFields(answer.headers), from: now, until };
  }
}
