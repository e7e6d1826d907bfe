// Probes of a bit-sliced table: explained, and with its twin, in src/kernel/bits/sliced.ts.

import { probeIndex } from './probe-index';

// Scratch of one call (wasm-kernel.ts): the addresses of the rows of a lookup, at most 255.
const ROWS: usize = 9216;

// Sets the bits of a chunk of hashes in one column. Returns how many keys changed a bit, and leaves
// the number of changed bits, as a double, at `changed`.
export function slicedAdd(
  hashes: usize, count: u32, table: usize, rows: f64, k: u32, rowBits: u32, column: u32, changed: usize,
): u32 {
  const range = <u64>rows;
  let fresh: u32 = 0;
  let bits: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const a = load<u32>(hashes + (j << 3));
    const b = load<u32>(hashes + (j << 3), 4);
    let zeros: u32 = 0;
    for (let i: u32 = 0; i < k; i++) {
      const bit = probeIndex(a, b, i, range) * rowBits + column;
      const p = table + <usize>(bit >> 3);
      const old = <u32>load<u8>(p);
      zeros += (old >> (<u32>bit & 7) & 1) ^ 1;
      store<u8>(p, <u8>(old | (1 << (<u32>bit & 7))));
    }
    bits += zeros;
    fresh += <u32>(zeros != 0);
  }
  store<f64>(changed, <f64>bits);
  return fresh;
}

// Rows of less than a word: returns the row itself.
export function slicedNarrow(a: u32, b: u32, table: usize, rows: f64, k: u32, rowBits: u32): u32 {
  const range = <u64>rows;
  let row = part(table, range * rowBits) & ((1 << rowBits) - 1);
  for (let i: u32 = 0; i < k; i++) row &= part(table, probeIndex(a, b, i, range) * rowBits);
  return row;
}

// @ts-ignore: decorator
@inline
function part(table: usize, bit: u64): u32 {
  return load<u32>(table + (<usize>(bit >> 5) << 2)) >> (<u32>bit & 31);
}

// Rows of whole words: leaves the result in the last row, and returns the number of ones.
export function slicedWide(a: u32, b: u32, table: usize, rows: f64, k: u32, rowBits: u32): u32 {
  const range = <u64>rows;
  const rowBytes = <usize>(rowBits >> 3);
  for (let i: u32 = 0; i < k; i++) {
    store<u32>(ROWS + (i << 2), <u32>(table + <usize>probeIndex(a, b, i, range) * rowBytes));
  }
  const live = table + <usize>range * rowBytes;
  const result = live + rowBytes;
  const end = ROWS + (k << 2);
  let found: u32 = 0;
  let at: usize = 0;
  for (; at + 16 <= rowBytes; at += 16) {
    let row = v128.load(live + at);
    for (let p = ROWS; p < end; p += 4) row = v128.and(row, v128.load(<usize>load<u32>(p) + at));
    v128.store(result + at, row);
    if (v128.any_true(row)) {
      found += <u32>(popcnt(i64x2.extract_lane(row, 0)) + popcnt(i64x2.extract_lane(row, 1)));
    }
  }
  for (; at < rowBytes; at += 4) {
    let row = load<u32>(live + at);
    for (let p = ROWS; p < end; p += 4) row &= load<u32>(<usize>load<u32>(p) + at);
    store<u32>(result + at, row);
    found += popcnt(row);
  }
  return found;
}
