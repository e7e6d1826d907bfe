/**
 * The decisions that the policy returns to the proxy. They are plain data: `decide` makes a
 * decision, the proxy carries it out.
 */

import type { StoredResponse } from './stored-response.ts';

/** How to handle a request, decided before anything is sent. */
export type Decision =
  /**
   * Answer from `response`. `background`: also fetch it again in the background
   * (stale-while-revalidate).
   */
  | {
      readonly kind: 'serve';
      readonly response: StoredResponse;
      readonly stale: boolean;
      readonly background: boolean;
    }
  /**
   * Ask the origin whether `response` is still valid. If it has no validator, `validationFields`
   * yields a plain request. `fallback`: the response may be served if the origin cannot be reached.
   * `errorFallback`: it may also be served if the origin answers 500, 502, 503 or 504.
   */
  | {
      readonly kind: 'validate';
      readonly response: StoredResponse;
      readonly fallback: boolean;
      readonly errorFallback: boolean;
      readonly reason: FetchReason;
    }
  /**
   * Fetch from the origin. `shareable`: other clients that ask for the same resource may wait for
   * this answer. `partial`: a stored response with some of the bytes. `completionFields` asks for
   * the rest, and `combine` joins both. Without `partial`, or if the proxy ignores it, this is a
   * plain fetch. `variedBy`: the fields that select among the stored responses of the key, none of
   * which matches; requests that differ in them probably get different responses.
   */
  | {
      readonly kind: 'fetch';
      readonly reason: FetchReason;
      readonly shareable: boolean;
      readonly partial?: StoredResponse;
      readonly variedBy?: readonly string[];
    }
  /** The client sent only-if-cached and no stored response can answer: 504. */
  | { readonly kind: 'not-cached' };

/** The `fwd` parameter of RFC 9211. */
export type FetchReason =
  | 'bypass'
  | 'method'
  | 'uri-miss'
  | 'vary-miss'
  | 'miss'
  | 'request'
  | 'stale'
  | 'partial';
