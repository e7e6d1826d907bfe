// The coders of bit arrays. What they do is explained, and has its twins, in src/kernel: range-coder.ts, rans.ts,
// golomb.ts. They work on a memory of their own (src/kernel/entropy-wasm.ts draws the map); reading may go up to
// eight bytes beyond the end of the source, where there are zeros.

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

// `table`: for each byte value its frequency (16 bits) and its first slot (16 bits). The code is written backwards from
// `end`; returns where it begins.
export function ransEncode(source: usize, length: u32, table: usize, lanes: u32, end: usize): usize {
  let x0: u32 = 1 << 16;
  let x1: u32 = 1 << 16;
  let x2: u32 = 1 << 16;
  let x3: u32 = 1 << 16;
  let out = end;
  let i = length;
  if (lanes == 4) {
    while (i % 4 != 0) {
      i--;
      const entry = load<u32>(table + (<usize>load<u8>(source + i) << 2));
      if (i % 4 == 0) {
        out = spill(x0, entry, out);
        x0 = step(x0, entry);
      } else if (i % 4 == 1) {
        out = spill(x1, entry, out);
        x1 = step(x1, entry);
      } else {
        out = spill(x2, entry, out);
        x2 = step(x2, entry);
      }
    }
    while (i > 0) {
      i -= 4;
      const four = load<u32>(source + i);
      const e3 = load<u32>(table + ((four >> 24) << 2));
      const e2 = load<u32>(table + (((four >> 16) & 255) << 2));
      const e1 = load<u32>(table + (((four >> 8) & 255) << 2));
      const e0 = load<u32>(table + ((four & 255) << 2));
      out = spill(x3, e3, out);
      x3 = step(x3, e3);
      out = spill(x2, e2, out);
      x2 = step(x2, e2);
      out = spill(x1, e1, out);
      x1 = step(x1, e1);
      out = spill(x0, e0, out);
      x0 = step(x0, e0);
    }
    store<u32>(out - 4, x3);
    store<u32>(out - 8, x2);
    store<u32>(out - 12, x1);
    store<u32>(out - 16, x0);
    return out - 16;
  }
  while (i > 0) {
    const entry = load<u32>(table + (<usize>load<u8>(source + --i) << 2));
    out = spill(x0, entry, out);
    x0 = step(x0, entry);
  }
  store<u32>(out - 4, x0);
  return out - 4;
}

// Puts the lower half of a state out if it has no room for the byte. Written in any case, kept if it counts.
// @ts-ignore: decorator
@inline
function spill(x: u32, entry: u32, out: usize): usize {
  store<u16>(out - 2, <u16>x);
  return out - (<usize>(<u64>x >= (<u64>(entry & 0xffff) << 18)) << 1);
}

// @ts-ignore: decorator
@inline
function step(x: u32, entry: u32): u32 {
  const f = entry & 0xffff;
  const y = <u64>x >= <u64>f << 18 ? x >> 16 : x;
  const q = y / f;
  return (q << 14) + (y - q * f) + (entry >> 16);
}

// `symbols`: the byte value of each of the 2^14 slots.
export function ransDecode(
  code: usize, length: u32, table: usize, symbols: usize, lanes: u32, target: usize, count: u32,
): bool {
  const end = code + length;
  let x0 = load<u32>(code);
  let next = code + 4;
  let i: u32 = 0;
  if (lanes == 4) {
    let x1 = load<u32>(code, 4);
    let x2 = load<u32>(code, 8);
    let x3 = load<u32>(code, 12);
    next = code + 16;
    for (; i + 4 <= count && next <= end; i += 4) {
      const s0 = load<u8>(symbols + (x0 & 0x3fff));
      const s1 = load<u8>(symbols + (x1 & 0x3fff));
      const s2 = load<u8>(symbols + (x2 & 0x3fff));
      const s3 = load<u8>(symbols + (x3 & 0x3fff));
      store<u32>(target + i, <u32>s0 | (<u32>s1 << 8) | (<u32>s2 << 16) | (<u32>s3 << 24));
      x0 = unstep(x0, load<u32>(table + (<usize>s0 << 2)));
      x1 = unstep(x1, load<u32>(table + (<usize>s1 << 2)));
      x2 = unstep(x2, load<u32>(table + (<usize>s2 << 2)));
      x3 = unstep(x3, load<u32>(table + (<usize>s3 << 2)));
      let need = <u32>(x0 >> 16 == 0);
      x0 = select<u32>((x0 << 16) | load<u16>(next), x0, need);
      next += <usize>need << 1;
      need = <u32>(x1 >> 16 == 0);
      x1 = select<u32>((x1 << 16) | load<u16>(next), x1, need);
      next += <usize>need << 1;
      need = <u32>(x2 >> 16 == 0);
      x2 = select<u32>((x2 << 16) | load<u16>(next), x2, need);
      next += <usize>need << 1;
      need = <u32>(x3 >> 16 == 0);
      x3 = select<u32>((x3 << 16) | load<u16>(next), x3, need);
      next += <usize>need << 1;
    }
    for (; i < count && next <= end; i++) {
      const s = load<u8>(symbols + (x0 & 0x3fff));
      store<u8>(target + i, s);
      x0 = unstep(x0, load<u32>(table + (<usize>s << 2)));
      if (x0 >> 16 == 0) {
        x0 = (x0 << 16) | load<u16>(next);
        next += 2;
      }
      const first = x0;
      x0 = x1;
      x1 = x2;
      x2 = x3;
      x3 = first;
    }
    return i == count && next == end && (x0 & x1 & x2 & x3) == 1 << 16 && (x0 | x1 | x2 | x3) == 1 << 16;
  }
  for (; i < count && next <= end; i++) {
    const s = load<u8>(symbols + (x0 & 0x3fff));
    store<u8>(target + i, s);
    x0 = unstep(x0, load<u32>(table + (<usize>s << 2)));
    if (x0 >> 16 == 0) {
      x0 = (x0 << 16) | load<u16>(next);
      next += 2;
    }
  }
  return i == count && next == end && x0 == 1 << 16;
}

// @ts-ignore: decorator
@inline
function unstep(x: u32, entry: u32): u32 {
  return (entry & 0xffff) * (x >> 14) + (x & 0x3fff) - (entry >> 16);
}

// `b` and `cut` follow from the parameter; `target` holds zeros.
export function golombEncode(source: usize, words: u32, parameter: u32, b: u32, cut: u32, target: usize): u32 {
  let at: u64 = 0;
  let next: u32 = 0;
  for (let i: u32 = 0; i < words; i++) {
    let word = load<u32>(source + (i << 2));
    while (word != 0) {
      const position: u32 = (i << 5) + <u32>ctz<u32>(word);
      word &= word - 1;
      const gap: u32 = position - next;
      next = position + 1;
      const quotient: u32 = gap / parameter;
      const remainder: u32 = gap - quotient * parameter;
      at += quotient;
      // Without a branch, as in decoding. Of a parameter of 1 there is no remainder: b and cut are 0.
      const long = <u32>(remainder >= cut) & <u32>(b > 0);
      const w = remainder + cut;
      const put = 1 | select<u64>((<u64>(w >> 1) << 1) | (<u64>(w & 1) << b), <u64>remainder << 1, long);
      const width = max<u32>(b, 1) + long;
      const p = target + <usize>(at >> 3);
      store<u64>(p, load<u64>(p) | (put << (at & 7)));
      at += width;
    }
  }
  return <u32>((at + 7) >> 3);
}

export function golombDecode(
  code: usize, length: u32, bits: u32, ones: u32, parameter: u32, b: u32, cut: u32, target: usize,
): bool {
  const end = <u64>length << 3;
  let at: u64 = 0;
  let next: u64 = 0;
  for (let n: u32 = 0; n < ones; n++) {
    const start = at;
    let window = load<u64>(code + <usize>(at >> 3)) >> (at & 7);
    while (window == 0) {
      // At least 57 bits were looked at.
      at = (at & ~7) + 64;
      if (at >= end) return false;
      window = load<u64>(code + <usize>(at >> 3));
    }
    at += ctz<u64>(window);
    const quotient = at - start;
    at++;
    let remainder: u32 = 0;
    if (b > 0) {
      // Without a branch: which of the two lengths it is cannot be foreseen.
      const rest = load<u64>(code + <usize>(at >> 3)) >> (at & 7);
      const short = <u32>rest & ((1 << (b - 1)) - 1);
      const long = <u32>(short >= cut);
      remainder = select<u32>(2 * short + (<u32>(rest >> (b - 1)) & 1) - cut, short, long);
      at += b - 1 + long;
    }
    const position = next + quotient * parameter + remainder;
    if (at > end || position >= bits) return false;
    const p = target + ((<usize>position >> 5) << 2);
    store<u32>(p, load<u32>(p) | (1 << (<u32>position & 31)));
    next = position + 1;
  }
  if (end - at >= 8) return false;
  return at == end || load<u8>(code + <usize>(at >> 3)) >> (<u8>at & 7) == 0;
}
