/**
 * The mean time from the overflow of a counter to its first false negative, under the rule of
 * survey 2.5: a counter that overflows is left at its maximum, and is lowered when keys leave.
 *
 * The set has n keys; in each step a random one leaves and a new one comes, which uses the counter
 * with probability q. A counter that holds s and has lost d increments stands for s + d keys, so
 * the key that leaves is one of them with probability (s + d)/n. It starts at its maximum with d =
 * 1. When s comes to 0, d keys in the set are denied. The pair (s, d) is a Markov chain, and d
 * rises only at the maximum, so the mean times are tridiagonal systems, one for each d, solved from
 * the largest d downwards.
 */

/** More lost increments than this do not occur; the chain is cut there. */
const MOST_LOST = 60;

/** Mean number of steps until a counter of this maximum that has just overflowed comes to 0. */
export function stepsToLoss(options: {
  /** 2^b - 1 for counters of b bits. */
  readonly maximum: number;
  /** n */
  readonly keys: number;
  /** The probability that a new key uses the counter. */
  readonly share: number;
}): number {
  const { maximum, keys, share } = options;
  let above = 0;
  for (let lost = Math.min(MOST_LOST, keys - maximum); lost >= 1; lost--) {
    // x[s] = 1 + down·x[s-1] + up·x[s+1] + stay·x[s], from s = 1, with x[0] = 0. Each x[s] is kept
    // as a·x[s+1] + b. A key that leaves is gone before the new one comes, so x[0] ends the chain
    // even if the new key uses the counter.
    let a = 0;
    let b = 0;
    for (let s = 1; s < maximum; s++) {
      const { down, up } = moves((s + lost) / keys, share, s);
      const rest = down + up - down * a;
      a = up / rest;
      b = (1 + down * b) / rest;
    }
    const { down, up } = moves((maximum + lost) / keys, share, maximum);
    // At the maximum an increment is lost.
    above = (1 + down * b + up * above) / (down + up - down * a);
  }
  return above;
}

/** Probabilities that a step lowers or raises a counter which a leaving key uses with `leaves`. */
function moves(leaves: number, share: number, held: number): { down: number; up: number } {
  return { down: held === 1 ? leaves : leaves * (1 - share), up: (1 - leaves) * share };
}
