/**
 * Balls into bins: how many of m bins are occupied after t balls have been thrown at random.
 *
 * This is a Bloom filter seen from its bit array (t = kn balls, m bits). All randomness in a
 * filter's rate, its size estimate and its compressed size comes from this one number X.
 *
 * - `occupancyDistribution`: the whole distribution, ball by ball. Every term is positive, so
 *   nothing cancels and the relative error stays near t · 1e-16; the price is up to t · min(m, t)
 *   steps.
 * - `occupancyMean`, `occupancyVariance`: exact closed forms, for any size.
 *   The textbook variance m(m-1)(1-2/m)^t + m(1-1/m)^t - m²(1-1/m)^(2t) subtracts numbers near m²:
 *   at m = 2^37 no digit would be left. With y = -t·ln(1-1/m) and w = -t·ln(1-1/(m-1)²), and since
 *   1-2/m = (1-1/m)²·(1-1/(m-1)²), it can be rewritten as
 *
 *       Var X = (E Z)² · V,   V = [ (e^y - 1) - (m-1)(1 - e^-w) ] / m,   Z = m - X the zeros,
 *
 *   and the bracket, about y²/2 for small y, is summed as a series there.
 * - `zeroCovariance`: two sets of balls P and Q thrown into the same bins, sharing s balls.
 *   Counting pairs of bins as for the variance gives Cov(Z_P, Z_Q) = (1-1/m)^|P△Q| · Var(s balls).
 *   Hence the relative covariance is V(s): it depends only on the shared balls. Estimators and
 *   deltas rest on this.
 */

import { checkInteger, checkNumber } from './checks.ts';

/**
 * P(X = x) for x = 0 … min(m, t), computed ball by ball. Probabilities below 1e-60 are returned as
 * 0.
 */
export function occupancyDistribution(m: number, t: number): Float64Array {
  checkInteger('m', m, 1);
  checkInteger('t', t);
  const bins = emptyBins(m, t);
  for (let ball = 1; ball <= t; ball++) throwBall(bins);
  return bins.chance;
}

/** The distribution between two throws. Outside low … high all probabilities are 0. */
interface Bins {
  readonly m: number;
  readonly chance: Float64Array;
  low: number;
  high: number;
}

/** m empty bins, with room for the distribution after at most `t` balls. */
function emptyBins(m: number, t: number): Bins {
  const chance = new Float64Array(Math.min(m, t) + 1);
  chance[0] = 1;
  return { m, chance, low: 0, high: 0 };
}

/**
 * Throws one more ball. It hits an occupied bin with probability x/m, otherwise one more bin is
 * occupied.
 */
function throwBall(bins: Bins): void {
  const { m, chance } = bins;
  let { low, high } = bins;
  if (high < chance.length - 1) high++;
  // Downwards, so that chance[x - 1] still belongs to the previous throw.
  for (let x = high; x > low; x--) {
    chance[x] = (chance[x]! * x + chance[x - 1]! * (m - x + 1)) / m;
  }
  chance[low]! *= low / m;
  // The distribution is narrow, and its tails would cost most of the steps.
  while (chance[low]! < IMPOSSIBLE) chance[low++] = 0;
  while (chance[high]! < IMPOSSIBLE) chance[high--] = 0;
  bins.low = low;
  bins.high = high;
}

/** E X = m(1 - (1-1/m)^t). */
export function occupancyMean(m: number, t: number): number {
  checkBalls(m, t);
  return t === 0 ? 0 : -m * Math.expm1(t * Math.log1p(-1 / m));
}

/**
 * Var X, which is also the variance of the number of zeros. For real t below 1 no such variance
 * exists, and it is 0.
 */
export function occupancyVariance(m: number, t: number): number {
  checkBalls(m, t);
  if (t <= 1 || m === 1) return 0;
  const y = -t * Math.log1p(-1 / m);
  if (y < 1) return m * Math.exp(-2 * y) * bracket(m, t, y);
  // e^y may overflow, so it is multiplied out. The terms differ by a factor (1 + y)/e^y < 3/4, so
  // this is safe.
  const notHit = Math.exp(-y);
  return Math.max(0, m * notHit * (-Math.expm1(-y) - notHit * (m - 1) * bothMissed(m, t)));
}

/**
 * V(t) = Var Z / (E Z)², the relative variance of the number of zeros Z, about (e^λ - 1 - λ)/m with
 * λ = t/m.
 */
export function relativeZeroVariance(m: number, t: number): number {
  checkBalls(m, t);
  if (t <= 1 || m === 1) return 0;
  return bracket(m, t, -t * Math.log1p(-1 / m)) / m;
}

/**
 * Cov(Z_P, Z_Q) for two sets of balls with `shared` balls in common and `different` in exactly one
 * of them.
 */
export function zeroCovariance(m: number, shared: number, different: number): number {
  if (different === 0) return occupancyVariance(m, shared);
  return Math.exp(different * Math.log1p(-1 / m)) * occupancyVariance(m, shared);
}

/** Sixteen standard deviations out. Smaller probabilities cannot change any rate of interest. */
const IMPOSSIBLE = 1e-60;

function checkBalls(m: number, t: number): void {
  checkInteger('m', m, 1);
  checkNumber('t', t);
}

/** (e^y - 1) - (m-1)(1 - e^-w), of which the leading terms y and (m-1)w cancel when y is small. */
function bracket(m: number, t: number, y: number): number {
  if (y >= 1 || m < 32) return Math.expm1(y) - (m - 1) * bothMissed(m, t);
  // (m-1)(1 - e^-w) = (m-1)w - (m-1)·(w²/2 - …): here w < 1/30, and the second part is a small
  // correction.
  const v = 1 / (m - 1);
  const w = -t * Math.log1p(-v * v);
  return tail(y) + t * leadingDifference(v) + (m - 1) * tail(-w);
}

/**
 * 1 - e^-w, the probability that two given bins are not as independent as they look. It is 1 for m
 * = 2.
 */
function bothMissed(m: number, t: number): number {
  return m === 2 ? 1 : -Math.expm1(t * Math.log1p(-1 / ((m - 1) * (m - 1))));
}

/** (y - (m-1)w)/t as a power series in v = 1/(m-1): ln(1+v) - v - v³/2 - v⁵/3 - …, about -v²/2. */
function leadingDifference(v: number): number {
  let sum = 0;
  // v <= 1/31: fourteen terms reach 1e-21 of the first.
  for (let i = 15; i >= 2; i--) {
    sum += (i % 2 === 0 ? -1 / i : 1 / i - 2 / (i + 1)) * v ** i;
  }
  return sum;
}

/** e^x - 1 - x without cancellation. */
function tail(x: number): number {
  if (Math.abs(x) > 1) return Math.expm1(x) - x;
  let term = (x * x) / 2;
  let sum = term;
  for (let i = 3; Math.abs(term) > 1e-17 * Math.abs(sum); i++) sum += term *= x / i;
  return sum;
}
