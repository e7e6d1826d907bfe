/**
 * The natural logarithm by additions, multiplications and divisions only, which IEEE 754 defines to
 * the last bit. `Math.log` may differ in the last bit between engines, and both sides of a coded
 * transfer must derive the same degrees. The relative error is below 1e-15.
 */

/** ln(x) for x > 0. */
export function naturalLog(x: number): number {
  let rest = x;
  let powers = 0;
  for (; rest > 1.5; rest /= 2) powers++;
  for (; rest < 0.75; rest *= 2) powers--;
  // ln(rest) = 2 artanh(z), and |z| is at most 1/5.
  const z = (rest - 1) / (rest + 1);
  let term = z;
  let sum = z;
  for (let odd = 3; odd <= 45; odd += 2) {
    term *= z * z;
    sum += term / odd;
  }
  return 2 * sum + powers * Math.LN2;
}
