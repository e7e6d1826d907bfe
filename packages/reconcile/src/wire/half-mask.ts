/**
 * The first bits of hashes and ids. Both are held as two halves of 32 bits, upper and lower, of
 * which ids and prefixes use some bits only.
 */

/** The first `bits` bits of a half: all if there are more, none if there are fewer. */
export function halfMask(bits: number): number {
  return bits >= 32 ? -1 : bits <= 0 ? 0 : -1 << (32 - bits);
}
