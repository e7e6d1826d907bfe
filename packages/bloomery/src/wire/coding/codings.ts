/** The codings of a bit code and the sizes of its pieces: what its writer and its reader must agree on (docs/spec/wire.md). */

export type Coding = 'plain' | 'empty' | 'full' | 'range' | 'rans' | 'gaps';
/** Those that are cut in pieces. */
export type PiecedCoding = 'range' | 'rans' | 'gaps';

/** By their numbers. */
export const CODINGS: readonly Coding[] = ['plain', 'empty', 'full', 'range', 'rans', 'gaps'];
export const PIECED: readonly Coding[] = ['range', 'rans', 'gaps'];
/** Pieces are 2^15 to 2^24 bits. */
export const LEAST_LOG = 15;
export const MOST_LOG = 24;

/** How many rANS states take turns: more where a piece is long enough to pay for them. */
export function lanesOf(pieceBits: number): number {
  return pieceBits >= 2 ** 17 ? 16 : 8;
}
