/**
 * The codings of a bit code and the sizes of its pieces, on which its writer and its reader must
 * agree (docs/spec/wire.md).
 */

export type Coding = 'plain' | 'empty' | 'full' | 'range' | 'rans' | 'gaps' | 'sparse';
/** The codings that are cut into pieces. */
export type PiecedCoding = 'range' | 'rans' | 'gaps';

/** The codings in the order of their numbers. */
export const CODINGS: readonly Coding[] = ['plain', 'empty', 'full', 'range', 'rans', 'gaps', 'sparse'];
export const PIECED: readonly Coding[] = ['range', 'rans', 'gaps'];
/** Pieces have 2^15 to 2^24 bits. */
export const LEAST_LOG = 15;
export const MOST_LOG = 24;

/** The number of interleaved rANS states: more if a piece is long enough to pay for them. */
export function lanesOf(pieceBits: number): number {
  return pieceBits >= 2 ** 17 ? 16 : 8;
}
