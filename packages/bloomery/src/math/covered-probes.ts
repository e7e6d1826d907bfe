/**
 * The exact probability that all k probes of a non-member key meet bits that are 1, after t random
 * settings of m bits: E[(X/m)^k], X the number of ones.
 *
 * The distribution of X has up to min(m, t) values, and computing it takes t times as many steps.
 * We look from the other side: the k probes of the key point at d distinct bits, and each setting
 * hits one of the r bits among them that are still 0 with probability r/m. So r is a chain that
 * only falls, with k + 1 states, and the rate is the probability that it has reached 0 after t
 * settings. That takes t · k steps: for 64 keys at 1e-9, 58 thousand where the distribution of X
 * takes a million. Every term is positive, so nothing cancels, and the relative error stays near
 * t · 1e-16.
 *
 * We refused the closed form Σ (-1)^i C(d,i) (1-i/m)^t. It alternates, and loses 3^k of its
 * precision in a half-full filter: all digits from k = 33 on.
 */

/** P(r probed bits are 0) for r = 0 … k, before any bit is set: the distinct bits of k probes. */
export function uncoveredProbes(m: number, k: number): Float64Array {
  // The last element stays 0, so that `coverProbes` needs no special case.
  const chance = new Float64Array(k + 2);
  chance[0] = 1;
  for (let probe = 1; probe <= k; probe++) {
    for (let r = probe; r > 0; r--) chance[r] = (chance[r]! * r + chance[r - 1]! * (m - r + 1)) / m;
    chance[0] = 0;
  }
  return chance;
}

/** Carries the distribution over `settings` settings of one of m bits; returns P(r = 0). */
export function coverProbes(chance: Float64Array, m: number, settings: number): number {
  const hit = chance.map((_, r) => r / m);
  for (; settings > 0; settings--) {
    // Upwards, so that chance[r + 1] still belongs to the previous setting.
    let leaving = 0;
    for (let r = 0; r < chance.length - 1; r++) {
      const coming = chance[r + 1]! * hit[r + 1]!;
      chance[r] = chance[r]! - leaving + coming;
      leaving = coming;
    }
  }
  return chance[0]!;
}
