/**
 * The head of a plain hit, built once and reused while it stays the same.
 *
 * Two answers from one stored response within the same second have equal fields, including Age and
 * the `ttl` in Cache-Status, because both count whole seconds. The list is therefore kept, with the
 * time until which it is valid, and passed to `writeHead` again, which does not change it. This
 * saves copying the list and building three strings on each hit.
 *
 * Plain means GET without Range and without conditions, and no fields to map. `answerFrom` builds
 * all other answers each time.
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
  /** Whether it has fields that depend on the route. */
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

  /**
   * The fields for the whole stored response, or null if the request is not plain or the response
   * has no body to send in one piece.
   */
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
    // Valid until the next whole second of the age, or of the remaining lifetime, whichever is
    // sooner.
    const age = currentAge(stored, now);
    const left = stored.lifetimeMs - age;
    const until = now + Math.min(1000 - (age % 1000), left > 0 ? (left % 1000) + 1 : 1);
    return { headers: answer.headers, mapped: hasMappedFields(answer.headers), from: now, until };
  }
}
