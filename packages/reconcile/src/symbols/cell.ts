/**
 * The cells of symbols. In memory a cell is four int32 side by side, so that one cache line holds
 * it: upper and lower half of the XOR of the ids, XOR of the checks, number of ids. On the wire it
 * is the id (5 to 8 bytes, big-endian), the check (2) and the number modulo 256 (1).
 *
 * The number is sent modulo 256 because peeling asks only for +1 and -1, and the estimate of the
 * difference unwraps it. A 64-bit id with a 32-bit check would take 13 bytes instead of 8.
 */

/** The number of int32 of a cell in memory. */
export const CELL = 4;

/** The number of bytes of a cell on the wire. */
export function cellBytes(idBytes: number): number {
  return idBytes + 3;
}

/** Writes `count` cells from the start of `cells`. */
export function encodeCells(cells: Int32Array, count: number, idBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count * cellBytes(idBytes));
  const view = new DataView(bytes.buffer);
  for (let i = 0, at = 0; i < CELL * count; i += CELL) {
    view.setInt32(at, cells[i]);
    const low = cells[i + 1];
    for (let k = 4; k < idBytes; k++) bytes[at + k] = low >>> (56 - 8 * k);
    at += idBytes;
    bytes[at] = cells[i + 2];
    bytes[at + 1] = cells[i + 2] >>> 8;
    bytes[at + 2] = cells[i + 3];
    at += 3;
  }
  return bytes;
}

/**
 * Subtracts cells that came from cells of our own, in place. The numbers become int8, because the
 * other side sends them modulo 256.
 */
export function subtractCells(own: Int32Array, theirs: Uint8Array, idBytes: number): void {
  const view = new DataView(theirs.buffer, theirs.byteOffset, theirs.length);
  for (let i = 0, at = 0; at < theirs.length; i += CELL) {
    own[i] ^= view.getInt32(at);
    let low = 0;
    for (let k = 4; k < idBytes; k++) low |= theirs[at + k] << (56 - 8 * k);
    own[i + 1] ^= low;
    at += idBytes;
    own[i + 2] ^= theirs[at] | (theirs[at + 1] << 8);
    own[i + 3] = ((own[i + 3] - theirs[at + 2]) << 24) >> 24;
    at += 3;
  }
}
