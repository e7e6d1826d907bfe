/**
 * A clock that stands still and draws the given nonces, for the examples of a specification. A
 * nonce is twelve bytes as base64url, from three draws of 32 bits each, so the examples do not
 * depend on a generator of random numbers.
 */

import type { Clock } from '@bloomery/transport';

export function nonceClock(now: number, nonces: readonly string[]): Clock {
  const draws = nonces.flatMap((nonce) => {
    const bytes = Buffer.from(nonce, 'base64url');
    return [0, 4, 8].map((at) => bytes.readUInt32LE(at) / 2 ** 32);
  });
  return {
    now: () => now,
    monotonic: () => 0,
    after: () => () => {},
    random: () => {
      const drawn = draws.shift();
      if (drawn === undefined)
        throw new RangeError(`Cannot draw a nonce: expected at most ${nonces.length}, got more`);
      return drawn;
    },
  };
}
