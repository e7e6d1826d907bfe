/** The operator's choices that the policy depends on, and their defaults. */

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
