// Looking up hashes in a sorted list of packed positions: explained, and with its twin, in
// src/kernel/lists/sorted-list.ts.

// The `probeIndex` of filters in memory multiplies in 64 bits, which is exact for ranges up to
// 2^32. A list may have a range of 2^36, so here the product is taken in two pieces, as the
// JavaScript twin does.

const INTERPOLATIONS: u32 = 12;

// @ts-ignore: decorator
@inline
function probeIndex(a: u32, b: u32, i: u32, range: u64): u64 {
  let x = a + i * b;
  x ^= x >> 16;
  x *= 0x7feb352d;
  x ^= x >> 15;
  x *= 0x846ca68b;
  const y = <u64>((b + 2 * i * a) >> 16);
  const low = <u64>(x & 0xffff) * range + ((y * range) >> 16);
  return (<u64>(x >> 16) * range + (low >> 16)) >> 16;
}

// @ts-ignore: decorator
@inline
function read(list: usize, width: u32, mask: u64, i: i32): f64 {
  const bit = <u64>i * width;
  // A width of 36 and a shift of 7 fit into 64 bits.
  return <f64>((load<u64>(list + <usize>(bit >> 3)) >> (bit & 7)) & mask);
}

// @ts-ignore: decorator
@inline
function includes(list: usize, width: u32, mask: u64, length: i32, m: f64, position: f64): bool {
  let low: i32 = -1;
  let lowValue: f64 = -1;
  let high = length;
  let highValue = m;
  for (let look: u32 = 0; high - low > 1; look++) {
    let at: i32;
    if (look >= INTERPOLATIONS) {
      at = low + ((high - low) >> 1);
    } else {
      const share = (position - lowValue) / (highValue - lowValue);
      at = low + <i32>(share * <f64>(high - low));
      at = at <= low ? low + 1 : at >= high ? high - 1 : at;
    }
    const value = read(list, width, mask, at);
    if (value == position) return true;
    if (value < position) {
      low = at;
      lowValue = value;
    } else {
      high = at;
      highValue = value;
    }
  }
  return false;
}

export function listHas(
  hashes: usize, count: u32, list: usize, width: u32, length: i32, range: f64, k: u32, results: usize,
): void {
  const m = <u64>range;
  const mask = (<u64>1 << width) - 1;
  for (let j: u32 = 0; j < count; j++) {
    const a = load<u32>(hashes + (j << 3));
    const b = load<u32>(hashes + (j << 3), 4);
    let found = true;
    for (let i: u32 = 0; i < k && found; i++) {
      found = includes(list, width, mask, length, range, <f64>probeIndex(a, b, i, m));
    }
    store<u8>(results + j, <u8>found);
  }
}
