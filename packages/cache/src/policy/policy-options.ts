/** The operator's choices that the policy depends on, and their defaults. */

import type { FreshnessRule } from './freshness-rules.ts';

/** The operator's choices. */
export interface PolicyOptions {
  /** The name of this cache in Cache-Status and Via. */
  readonly name: string;
  /** Targeted fields to obey, in order of precedence (RFC 9213); `CDN-Cache-Control` by default. */
  readonly targetedFields: readonly string[];
  /**
   * Heuristic freshness: this fraction of the time since Last-Modified (4.2.2), at most
   * `heuristicMaxMs`.
   */
  readonly heuristicFraction: number;
  readonly heuristicMaxMs: number;
  /** The operator's rules, for responses that state no lifetime; the first that matches counts. */
  readonly rules?: readonly FreshnessRule[];
  /**
   * Whether the client's `Forwarded` and `X-Forwarded-…` are forwarded (the default) or dropped,
   * since any client can write them, or replaced by fields that name the client that this node
   * knows, towards origins of the operator.
   */
  readonly forwardedFields?: 'keep' | 'drop' | 'replace';
  /**
   * Responses that were stored before this time are validated before they are used, because this
   * node missed a purge that may have been for them. By default there is no such time.
   */
  readonly validAfter?: () => number;
}

/**
 * Defaults for a shared cache: a tenth of the age, as RFC 9111, 4.2.2 suggests, and at most a day.
 */
export const DEFAULT_POLICY: PolicyOptions = {
  name: 'bloomery',
  targetedFields: ['CDN-Cache-Control'],
  heuristicFraction: 0.1,
  heuristicMaxMs: 24 * 60 * 60 * 1000,
};
