/**
 * Turns the filters of blocks (columns) into rows: bit b of row r says whether bit r of block b is
 * set. Tiles of 64 bytes of each column keep both sides in the cache.
 */

/**
 * Transposes `columns`, all of the same length, into `rows`: one row for each bit of a column, of
 * `width` bytes each, in `rows` at `place(row)`.
 */
export function transposeBits(
  columns: readonly Uint8Array[],
  rows: Uint8Array,
  width: number,
  place: (row: number) => number,
): void {
  const bytes = columns.length === 0 ? 0 : columns[0].length;
  const low = new Uint32Array(1);
  const high = new Uint32Array(1);
  for (let tile = 0; tile < bytes; tile += TILE) {
    const end = Math.min(bytes, tile + TILE);
    for (let group = 0; group < width; group++) {
      const of = columns.slice(8 * group, 8 * group + 8);
      for (let q = tile; q < end; q++) {
        gather(of, q, low, high);
        if (low[0] === 0 && high[0] === 0) continue;
        const [a, b] = transposed(low[0], high[0]);
        for (let bit = 0; bit < 4; bit++) {
          rows[place(8 * q + bit) + group] = a >>> (8 * bit);
          rows[place(8 * q + 4 + bit) + group] = b >>> (8 * bit);
        }
      }
    }
  }
}

const TILE = 64;

/** One byte of each of eight columns, in two words. */
function gather(columns: readonly Uint8Array[], q: number, low: Uint32Array, high: Uint32Array): void {
  let a = 0;
  let b = 0;
  for (let i = 0; i < columns.length; i++) {
    if (i < 4) a |= columns[i][q] << (8 * i);
    else b |= columns[i][q] << (8 * (i - 4));
  }
  low[0] = a;
  high[0] = b;
}

/** Transposes 8 times 8 bits, by the exchanges of Hacker's Delight, section 7-3. */
function transposed(low: number, high: number): [number, number] {
  let a = low;
  let b = high;
  let t = (a ^ (a >>> 7)) & 0x00aa00aa;
  a = a ^ t ^ (t << 7);
  t = (b ^ (b >>> 7)) & 0x00aa00aa;
  b = b ^ t ^ (t << 7);
  t = (a ^ (a >>> 14)) & 0x0000cccc;
  a = a ^ t ^ (t << 14);
  t = (b ^ (b >>> 14)) & 0x0000cccc;
  b = b ^ t ^ (t << 14);
  const low4 = (a & 0x0f0f0f0f) | ((b & 0x0f0f0f0f) << 4);
  const high4 = ((a >>> 4) & 0x0f0f0f0f) | (b & 0xf0f0f0f0);
  return [low4 >>> 0, high4 >>> 0];
}
