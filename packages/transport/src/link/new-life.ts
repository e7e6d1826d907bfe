/** A random word for one run of a node, so that a restarted one is not taken for its past self. */

import type { Clock } from '../clock.ts';

/** 72 random bits in base64url: twelve characters. */
export function newLife(clock: Clock): string {
  const words = Array.from({ length: 3 }, () => Math.floor(clock.random() * 2 ** 24));
  return Buffer.from(words.flatMap((word) => [word & 255, (word >> 8) & 255, word >> 16])).toString(
    'base64url',
  );
}
