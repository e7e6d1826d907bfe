// The range coder of bit arrays: explained, and with its twin, in src/kernel/coders/range-coder.ts.
// The coders work on a memory of their own; src/kernel/coders/entropy-wasm.ts draws the map.
// Reading may go up to eight bytes beyond the end of the source, where there are zeros.

// @ts-ignore: decorator
@inline
function probability(onesLeft: i64, bitsLeft: i64): u32 {
  const p = (onesLeft << 16) / bitsLeft;
  return <u32>(p < 1 ? 1 : p > 65535 ? 65535 : p);
}

function carry(target: usize): void {
  let p = target - 1;
  while (load<u8>(p) == 255) store<u8>(p--, 0);
  store<u8>(p, load<u8>(p) + 1);
}

export function rangeEncode(source: usize, bits: u32, ones: u32, target: usize): u32 {
  let low: u64 = 0;
  let range: u32 = 0xffffffff;
  let out = target;
  let onesLeft: i64 = ones;
  for (let start: u32 = 0; start < bits; start += 32) {
    const left = bits - start;
    const p = probability(onesLeft, left);
    const count = min<u32>(left, 32);
    let word = load<u32>(source + (start >> 3));
    onesLeft -= popcnt<u32>(word);
    for (let i: u32 = 0; i < count; i++) {
      const bound = (range >> 16) * p;
      const one = word & 1;
      word >>= 1;
      low += select<u32>(0, bound, one);
      range = select<u32>(bound, range - bound, one);
      while (range < 1 << 24) {
        if (low >> 32 != 0) carry(out);
        store<u8>(out++, <u8>(low >> 24));
        low = (low & 0xffffff) << 8;
        range <<= 8;
      }
    }
  }
  return finish(target, out, low, range);
}

function finish(target: usize, end: usize, low: u64, range: u32): u32 {
  let out = end;
  for (let shift: i32 = 32; shift >= 0; shift -= 8) {
    let value = ((low + ((<u64>1 << shift) - 1)) >> shift) << shift;
    if (value >= low + range) continue;
    if (value >> 32 != 0) carry(out);
    value &= 0xffffffff;
    for (; value != 0; value = (value << 8) & 0xffffffff) store<u8>(out++, <u8>(value >> 24));
    break;
  }
  while (out > target && load<u8>(out - 1) == 0) out--;
  return <u32>(out - target);
}

// Bytes beyond `length` are zeros: the first four because the caller cleared them.
export function rangeDecode(code: usize, length: u32, bits: u32, ones: u32, target: usize): bool {
  const end = code + length;
  let range: u32 = 0xffffffff;
  let value = bswap<u32>(load<u32>(code));
  let next = code + 4;
  let onesLeft: i64 = ones;
  for (let start: u32 = 0; start < bits; start += 32) {
    const left = bits - start;
    const p = probability(onesLeft, left);
    const count = min<u32>(left, 32);
    let word: u32 = 0;
    for (let i: u32 = 0; i < count; i++) {
      const bound = (range >> 16) * p;
      const one = <u32>(value < bound);
      word |= one << i;
      value -= select<u32>(0, bound, one);
      range = select<u32>(bound, range - bound, one);
      while (range < 1 << 24) {
        value = (value << 8) | (next < end ? <u32>load<u8>(next) : 0);
        next++;
        range <<= 8;
      }
    }
    onesLeft -= popcnt<u32>(word);
    store<u32>(target + (start >> 3), word);
  }
  return onesLeft == 0;
}
