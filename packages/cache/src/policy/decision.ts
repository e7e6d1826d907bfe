/**
 * What the policy tells the proxy to do with a request. Everything here is data: `decide` makes a decision, the proxy carries it out.
 */

import type { StoredResponse } from './stored-response.ts';

/** What to do with a request, before anything is sent. */
export type Decision =
  /** Answer from `response`. `background`: fetch it again meanwhile (stale-while-revalidate). */
  | {
      readonly kind: 'serve';
      readonly response: StoredResponse;
      readonly stale: boolean;
      readonly background: boolean;
    }
  /**
   * Ask the origin whether `response` is still right (if it has no validator, `validationFields` makes a plain request of it).
   * `fallback`: it may be served if the origin cannot be reached; `errorFallback`: also if it answers 500, 502, 503 or 504.
   */
  | {
      readonly kind: 'validate';
      readonly response: StoredResponse;
      readonly fallback: boolean;
      readonly errorFallback: boolean;
      readonly reason: FetchReason;
    }
  /**
   * Ask the origin for it. `shareable`: others that ask for the same may wait for the answer. `partial`: bytes that are here already;
   * `completionFields` asks for the others, `combine` puts them together. Without it, or if the proxy does not, it is a plain fetch.
   */
  | {
      readonly kind: 'fetch';
      readonly reason: FetchReason;
      readonly shareable: boolean;
      readonly partial?: StoredResponse;
    }
  /** only-if-cached, and it is not: 504. */
  | { readonly kind: 'not-cached' };

/** `fwd` of RFC 9211. */
export type FetchReason =
  | 'bypass'
  | 'method'
  | 'uri-miss'
  | 'vary-miss'
  | 'miss'
  | 'request'
  | 'stale'
  | 'partial';
