/**
 * The share of requests at which a second neighbour may be asked before the first has answered.
 *
 * A hedge at the 95th percentile of the latency is sent for 5 % of the requests in quiet times. If
 * all neighbours become slow at once, it would be sent for nearly all of them, and would double the
 * load of a fleet that is slow because of its load (Dean and Barroso, "The Tail at Scale", 2013,
 * limit it to about 5 % for this reason). Each request earns a twentieth of a hedge. At most ten
 * are saved up, so a burst after a quiet night sends ten hedges more than its share.
 */

const EARNED_PER_REQUEST = 0.05;
const MOST_SAVED = 10;

export class HedgeBudget {
  /** In twentieths, because sums of 0.05 are not exact. */
  #twentieths = 0;

  /** Notes that a request is sent to a neighbour. */
  earn(): void {
    this.#twentieths = Math.min(MOST_SAVED / EARNED_PER_REQUEST, this.#twentieths + 1);
  }

  get mayHedge(): boolean {
    return this.#twentieths >= 1 / EARNED_PER_REQUEST;
  }

  /** Notes that a hedge is sent. Returns false if there is none left, and then it must not be. */
  spend(): boolean {
    if (!this.mayHedge) return false;
    this.#twentieths -= 1 / EARNED_PER_REQUEST;
    return true;
  }
}
