/**
 * The scores of neighbours that have left the fleet with bad marks, by their addresses. A neighbour
 * that joins again has its score back (`PeerScore.rejoined`), so leaving and joining is no way for
 * a liar to be asked more often than at one occasion in 32.
 *
 * The last 256 are kept, of some hundred bytes each. Where it breaks down: a node that joins each
 * time at another address is another neighbour each time. Only a node that has the secret of the
 * fleet can do that.
 */

import type { PeerScore } from './peer-score.ts';

const MOST_KEPT = 256;

export class LeftScores {
  readonly #scores = new Map<string, PeerScore>();

  set(address: string, score: PeerScore): void {
    this.#scores.delete(address);
    this.#scores.set(address, score);
    for (const oldest of this.#scores.keys()) {
      if (this.#scores.size <= MOST_KEPT) return;
      this.#scores.delete(oldest);
    }
  }

  /** Returns the score of a neighbour that is back, and forgets it; undefined if there is none. */
  take(address: string): PeerScore | undefined {
    const score = this.#scores.get(address);
    this.#scores.delete(address);
    return score;
  }
}
