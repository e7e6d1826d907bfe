/**
 * The cells of symbols. In memory a cell is four int32 side by side, so that one cache line holds
 * it: upper and lower half of the XOR of the ids, XOR of the checks, number of ids.
 *
 * On the wire a cell has 5 to 11 bytes, its *width*: the id, big-endian, and a tail. A session
 * takes the narrowest cells that rarely fail for its sets, because the symbols are most of its
 * bytes. A failure is noticed by the closing sum and costs another attempt.
 *
 * - 5, 6 or 7 bytes: ids of 3, 4 or 5 bytes, a check of 12 bits and the number modulo 16. For 300
 *   differences the check fails in 0.5 % of the sessions, for 3000 in some per cent.
 * - 8 to 11 bytes: ids of 5 to 8 bytes, a check of 16 bits and the number modulo 256. Any number of
 *   differences.
 *
 * A number may be modulo 16: peeling asks only whether it is +1 or -1, and the estimate of the
 * difference unwraps it. A 64-bit id with a 32-bit check and a whole number would take 13 bytes.
 */

/** The number of int32 of a cell in memory. */
export const CELL = 4;

/** The widths of cells on the wire, and the narrowest one with a long tail. */
export const LEAST_WIDTH = 5;
export const LONG_TAIL = 8;
export const MOST_WIDTH = 11;

/** Bytes of an id in cells of `width` bytes. */
export function idBytesOf(width: number): number {
  return width - (width < LONG_TAIL ? 2 : 3);
}

/** Bits of the number of ids in cells of `width` bytes. */
export function countBits(width: number): number {
  return width < LONG_TAIL ? 4 : 8;
}

/** The bits of the check that cells of `width` bytes hold. */
export function checkMask(width: number): number {
  return 0xffff >> (8 - countBits(width));
}

/** Writes `count` cells from the start of `cells`. */
export function encodeCells(cells: Int32Array, count: number, width: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count * width);
  const view = new DataView(bytes.buffer);
  const idBytes = idBytesOf(width);
  for (let i = 0, at = 0; i < CELL * count; i += CELL, at += width) {
    // Some writes are a byte too long, and the next write covers that byte: the check covers the
    // fourth byte of an id of 3, the number covers the second byte of a check of 12 bits.
    view.setInt32(at, cells[i]);
    for (let k = 4; k < idBytes; k++) bytes[at + k] = cells[i + 1] >>> (56 - 8 * k);
    const [check, number] = [cells[i + 2], cells[i + 3]];
    view.setUint16(at + idBytes, check, true);
    bytes[at + width - 1] = width < LONG_TAIL ? ((check >> 8) & 15) | (number << 4) : number;
  }
  return bytes;
}

/**
 * Subtracts cells that came from cells of our own, in place. Checks and numbers are cut to the bits
 * that the other side sends.
 */
export function subtractCells(own: Int32Array, theirs: Uint8Array, width: number): void {
  const view = new DataView(theirs.buffer, theirs.byteOffset, theirs.length);
  const idBytes = idBytesOf(width);
  // With an id of 3 bytes, the fourth byte belongs to the tail.
  const high = idBytes < 4 ? -256 : -1;
  const mask = checkMask(width);
  const spare = 32 - countBits(width);
  for (let i = 0, at = 0; at < theirs.length; i += CELL, at += width) {
    own[i] ^= view.getInt32(at) & high;
    let low = 0;
    for (let k = 4; k < idBytes; k++) low |= theirs[at + k] << (56 - 8 * k);
    own[i + 1] ^= low;
    own[i + 2] = (own[i + 2] ^ view.getUint16(at + idBytes, true)) & mask;
    // A number of 4 bits is the upper half of the last byte.
    own[i + 3] = ((own[i + 3] - (theirs[at + width - 1] >> (spare - 24))) << spare) >> spare;
  }
}
