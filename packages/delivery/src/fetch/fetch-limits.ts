/** The limits and times of a fetch. Tests pass shorter ones. */

import { PLAN_LIMITS, type PlanLimits } from '../decisions/delivery-plan.ts';

export interface FetchLimits extends PlanLimits {
  /** Bytes per second of all downloads together; null is no limit. */
  readonly bytesPerSecond: number | null;
  /** Peers that are followed, and addresses that are remembered. */
  readonly follow: number;
  readonly addresses: number;
  readonly connectMs: number;
  /** A source that sends nothing for this long is given up, and so is a block after `blockMs`. */
  readonly stallMs: number;
  readonly blockMs: number;
  /** Time for the first answers of the peers before a hypothesis is chosen. */
  readonly settleMs: number;
  /**
   * Time without any byte of a block after which a fetch ends with an error. A fetch whose bytes do
   * not make a block ends after five times as long.
   */
  readonly patienceMs: number;
  /** Hypotheses that are tried. */
  readonly rounds: number;
}

export const FETCH_LIMITS: FetchLimits = {
  ...PLAN_LIMITS,
  bytesPerSecond: null,
  follow: 64,
  addresses: 256,
  connectMs: 3000,
  stallMs: 5000,
  blockMs: 60_000,
  settleMs: 1000,
  patienceMs: 60_000,
  rounds: 8,
};
