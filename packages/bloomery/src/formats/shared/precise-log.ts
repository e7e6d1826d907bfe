/**
 * The natural logarithm, rounded correctly. C libraries agree with it to the last bit in all cases
 * but one in many thousands. `Math.log` of V8 is off by one unit in the last place for 3 of 100
 * numbers, and RedisBloom writes a logarithm into its header. It uses BigInt with 128 bits after
 * the point, and takes some microseconds, once per link.
 */

import { wrongValue } from '../../math/checks.ts';

/** The natural logarithm of a positive number. */
export function preciseLog(x: number): number {
  if (!(x > 0 && x < Number.POSITIVE_INFINITY)) throw wrongValue('x', 'a positive number', x);
  let exponent = 0;
  let m = x; // to [1, 2): each step is exact
  for (; m < 1; m *= 2) exponent--;
  for (; m >= 2; m /= 2) exponent++;
  const fraction = (BigInt(m * 2 ** 52) << (PLACES - 52n)) - ONE;
  const sum = BigInt(exponent) * twiceArtanh(ONE) + twiceArtanh(fraction);
  return Number(sum) / 2 ** Number(PLACES);
}

const PLACES = 128n;
const ONE = 1n << PLACES;

/** ln(1 + f) = 2 artanh(f / (2 + f)), by its series. */
function twiceArtanh(f: bigint): bigint {
  const z = (f << PLACES) / (2n * ONE + f);
  const square = (z * z) >> PLACES;
  let sum = 0n;
  for (let power = z, i = 1n; power > 0n; i += 2n, power = (power * square) >> PLACES) sum += power / i;
  return 2n * sum;
}
