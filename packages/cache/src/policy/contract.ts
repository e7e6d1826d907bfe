/**
 * What the proxy asks of the policy, and what it is told. Everything here is pure: no clock, no I/O; `now` is passed in.
 */

import type { FieldList, StoredResponse } from './stored-response.ts';

/** The head of a request as the policy sees it. */
export interface RequestHead {
  readonly method: string;
  /** The cache key: of `policy/cache-key.ts`. */
  readonly key: string;
  readonly headers: FieldList;
}

export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: FieldList;
}

/** What the operator chose. */
export interface PolicyOptions {
  /** Named in Cache-Status and Via. */
  readonly name: string;
  /** Targeted fields that are obeyed, in their order (RFC 9213); by default `CDN-Cache-Control`. */
  readonly targetedFields: readonly string[];
  /** Heuristic freshness: this part of the time since Last-Modified (4.2.2), at most `heuristicMaxMs`. */
  readonly heuristicFraction: number;
  readonly heuristicMaxMs: number;
  /** What becomes of `Forwarded` and `X-Forwarded-…` of the client: passed on (by default), or dropped since anybody can write them. */
  readonly forwardedFields?: 'keep' | 'drop';
}

/** Sensible for a shared cache: a tenth of the age, as RFC 9111, 4.2.2 suggests, and never more than a day. */
export const DEFAULT_POLICY: PolicyOptions = {
  name: 'bloomery',
  targetedFields: ['CDN-Cache-Control'],
  heuristicFraction: 0.1,
  heuristicMaxMs: 24 * 60 * 60 * 1000,
};

/** What to do with a request, before anything is sent. */
export type Decision =
  /** Answer from `response`. `background`: fetch it anew meanwhile (stale-while-revalidate). */
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

/** Which bytes of the stored body an answer has. */
export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string[];
  /** `none`: no body (304, 412, 416, HEAD). `all`: the stored bytes. `part`: from start to end (exclusive) of the stored bytes. `parts`: multipart/byteranges. */
  readonly body:
    | { readonly kind: 'none' }
    | { readonly kind: 'all' }
    | { readonly kind: 'part'; readonly start: number; readonly end: number }
    | {
        readonly kind: 'parts';
        /** Text before each part (one byte a character, latin1), then its bytes; `tail` at the end. */
        readonly parts: readonly { readonly head: string; readonly start: number; readonly end: number }[];
        readonly tail: string;
        readonly contentLength: number;
      };
}
