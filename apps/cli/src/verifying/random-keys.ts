/**
 * Generates non-member keys from a seed: 18 random decimal digits each. Every filter can be asked
 * for digits, including filters of integers. A random key is in a given set of a billion such keys
 * with a probability of one in a billion. Squid's digests hold URLs, so their keys get a prefix.
 *
 * The generator is AES in counter mode with a key derived from the seed. It is independent of every
 * hash in a filter, fast, and gives the same keys on every machine.
 */

import { createCipheriv, createHash } from 'node:crypto';
import type { KeyLines } from 'bloomery';

/** Yields the keys in chunks of lines. The same seed gives the same keys. */
export function* randomKeys(
  count: number,
  seed: number,
  prefix = '',
): Generator<KeyLines & { readonly count: number }> {
  const key = createHash('sha256').update(`bloomery verify ${seed}`).digest().subarray(0, 16);
  const cipher = createCipheriv('aes-128-ctr', key, Buffer.alloc(16));
  const start = Buffer.from(prefix);
  const length = start.length + DIGITS + 1;
  for (let done = 0; done < count; done += CHUNK) {
    const size = Math.min(CHUNK, count - done);
    const random = cipher.update(Buffer.alloc(size * DIGITS));
    const lines = new Uint8Array(size * length);
    for (let i = 0, at = 0, from = 0; i < size; i++) {
      for (let j = 0; j < start.length; j++) lines[at++] = start[j];
      for (let j = 0; j < DIGITS; j++) lines[at++] = ZERO + (random[from++] % 10);
      lines[at++] = NEWLINE;
    }
    yield { lines, count: size };
  }
}

const CHUNK = 1 << 15;
const DIGITS = 18;
const ZERO = 48;
const NEWLINE = 10;
