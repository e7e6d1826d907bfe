// The coders of bit arrays. What they do is explained, and has its twins, in src/kernel: range-coder.ts, rans.ts,
// golomb.ts. They work on a memory of their own (src/kernel/coders/entropy-wasm.ts draws the map); reading may go up to
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

// Where the tables of the rANS model stand: see the map in src/kernel/coders/entropy-wasm.ts.
const SYMBOLS: usize = 0; // the byte value of each of the 2^14 slots; the last store may go 15 bytes beyond
const SPREADS: usize = 16640; // 16 masks of 16 bytes
const CLASSES: usize = 16896; // for j ones: 9 words, the frequency; then 9 products of 8 bytes
const PRODUCTS: usize = 16936;
const STATES: usize = 17024; // 16 words
const TABLE: usize = 17408; // for decoding, 256 words: frequency (16 bits) and first slot (16 bits) of each byte value
const STEPS: usize = 18432; // for encoding, 16 bytes each: 2^46 / frequency rounded up (8), frequency (4), first slot (4)

// The tables of the model for a share of ones, out of 2^16; those that only decoding needs if asked for.
export function ransModel(share: u32, decoding: bool): void {
  classFrequencies(share);
  if (!decoding) {
    for (let j: usize = 0; j < 9; j++) {
      const f = <u64>load<u32>(j << 2, CLASSES);
      store<u64>(j << 3, ((1 << 46) + f - 1) / f, PRODUCTS);
    }
  }
  let at: u32 = 0;
  for (let byte: u32 = 0; byte < 256; byte++) {
    const f = load<u32>(<usize>popcnt<u32>(byte) << 2, CLASSES);
    if (decoding) {
      store<u32>(<usize>byte << 2, f | (at << 16), TABLE);
      // Sixteen at a time: what is too much is overwritten by the next byte value.
      const sixteen = i8x16.splat(<i8>byte);
      for (let slot = at; slot < at + f; slot += 16) v128.store(<usize>slot, sixteen, SYMBOLS);
    } else {
      const step = <usize>byte << 4;
      store<u64>(step, load<u64>(<usize>popcnt<u32>(byte) << 3, PRODUCTS), STEPS);
      store<u64>(step, <u64>f | (<u64>at << 32), STEPS + 8);
    }
    at += f;
  }
  if (!decoding) return;
  // For each set of states that need a word: where in the next words each finds its own, and zeros elsewhere.
  for (let need: u32 = 0; need < 16; need++) {
    let word: u32 = 0;
    for (let lane: u32 = 0; lane < 4; lane++) {
      const takes = (need >> lane) & 1;
      store<u32>((<usize>need << 4) + (<usize>lane << 2), takes ? 0xffff0100 + word * 0x0202 : 0xffffffff, SPREADS);
      word += takes;
    }
  }
}

// In integers what rans.ts does in doubles that are exact: shares are 2^38 times as large.
function classFrequencies(share: u32): void {
  let ofOnes: u64 = 1 << 26;
  for (let j: usize = 0; j < 9; j++) {
    let product = ofOnes;
    let ofZeros: u64 = 1 << 26;
    for (let i: usize = 0; i < 8 - j; i++) ofZeros = (ofZeros * (65536 - share)) >> 16;
    product *= ofZeros;
    store<u64>(j << 3, product, PRODUCTS);
    ofOnes = (ofOnes * share) >> 16;
  }
  let left: i32 = 1 << 14;
  for (let j: u32 = 0; j < 9; j++) {
    const f = max<u32>(1, <u32>(load<u64>(<usize>j << 3, PRODUCTS) >> 38));
    store<u32>(<usize>j << 2, f, CLASSES);
    store<i64>(<usize>j << 3, load<i64>(<usize>j << 3, PRODUCTS) - (<i64>f << 38), PRODUCTS);
    left -= classSize(j) * f;
  }
  // What is lost, the largest first; each once.
  for (let n = 0; n < 9; n++) {
    let best: u32 = 0;
    for (let j: u32 = 1; j < 9; j++) {
      if (load<i64>(<usize>j << 3, PRODUCTS) > load<i64>(<usize>best << 3, PRODUCTS)) best = j;
    }
    const loss = load<i64>(<usize>best << 3, PRODUCTS);
    if (loss <= 0) break;
    store<i64>(<usize>best << 3, -1, PRODUCTS);
    if (left < classSize(best)) continue;
    store<u32>(<usize>best << 2, load<u32>(<usize>best << 2, CLASSES) + 1, CLASSES);
    left -= classSize(best);
  }
  const most = CLASSES + (share > 32768 ? 32 : 0);
  store<u32>(most, load<u32>(most) + left);
}

// How many byte values have j ones: 1, 8, 28, 56, 70, 56, 28, 8, 1.
// @ts-ignore: decorator
@inline
function classSize(j: u32): i32 {
  return j == 8 ? 1 : <i32>((<u64>0x081c3846381c0801 >> (j << 3)) & 255);
}

// The code is written backwards from `end`; returns where it begins. Sources are followed by at least 32 zeros. The
// states live in memory: the processor is busy with divisions, and hides the way there and back.
export function ransEncode(source: usize, length: u32, lanes: u32, end: usize): usize {
  const coded: u32 = length > 2 * lanes ? length - 2 * lanes : 0;
  for (let lane: u32 = 0; lane < lanes; lane++) {
    store<u32>(<usize>lane << 2, (1 << 16) | load<u16>(source + coded + (lane << 1)), STATES);
  }
  let out = end;
  let i = coded;
  while (i % 8 != 0) {
    i--;
    out = take(load<u8>(source + i), STATES + (<usize>(i & (lanes - 1)) << 2), out);
  }
  while (i > 0) {
    i -= 8;
    const eight = load<u64>(source + i);
    const states = STATES + (<usize>(i & (lanes - 1)) << 2);
    out = take(<usize>(eight >> 56), states + 28, out);
    out = take(<usize>(eight >> 48) & 255, states + 24, out);
    out = take(<usize>(eight >> 40) & 255, states + 20, out);
    out = take(<usize>(eight >> 32) & 255, states + 16, out);
    out = take(<usize>(eight >> 24) & 255, states + 12, out);
    out = take(<usize>(eight >> 16) & 255, states + 8, out);
    out = take(<usize>(eight >> 8) & 255, states + 4, out);
    out = take(<usize>eight & 255, states, out);
  }
  out -= lanes << 2;
  memory.copy(out, STATES, lanes << 2);
  return out;
}

// A state takes up a byte. Its lower half goes out first if there is no room: written in any case, kept if it counts.
// The quotient by multiplication: y < f * 2^18, so that y * ceil(2^46 / f) stays below 2^64, and is too large by less than
// f * 2^-28 < 1 / f after the shift.
// @ts-ignore: decorator
@inline
function take(byte: usize, state: usize, out: usize): usize {
  const step = byte << 4;
  const rest = load<u64>(step, STEPS + 8);
  const f = <u32>rest;
  const x = load<u32>(state);
  const full = <u32>(x >> 18 >= f);
  store<u16>(out - 2, <u16>x);
  const y = x >> (full << 4);
  const q = <u32>((<u64>y * load<u64>(step, STEPS)) >> 46);
  store<u32>(state, y + q * (16384 - f) + <u32>(rest >> 32));
  return out - (full << 1);
}

// Up to 32 bytes behind the code may be read, and up to 32 behind the target written. The states live in vectors: only
// the lookups go one by one, and four states take their words at once (SPREADS).
export function ransDecode(code: usize, length: u32, lanes: u32, target: usize, count: u32): bool {
  const end = code + length;
  const coded: u32 = count > 2 * lanes ? count - 2 * lanes : 0;
  let x = v128.load(code);
  let y = v128.load(code, 16);
  let next = code + (lanes << 2);
  let i: u32 = 0;
  if (lanes == 16) {
    let z = v128.load(code, 32);
    let w = v128.load(code, 48);
    for (; i + 16 <= coded && next <= end; i += 16) {
      x = unstep(x, target + i);
      y = unstep(y, target + i + 4);
      z = unstep(z, target + i + 8);
      w = unstep(w, target + i + 12);
      const needX = low(x);
      const needY = low(y);
      const needZ = low(z);
      const needW = low(w);
      x = refill(x, needX, next);
      next += taken(needX);
      y = refill(y, needY, next);
      next += taken(needY);
      z = refill(z, needZ, next);
      next += taken(needZ);
      w = refill(w, needW, next);
      next += taken(needW);
    }
    v128.store(STATES, z, 32);
    v128.store(STATES, w, 48);
  } else {
    for (; i + 8 <= coded && next <= end; i += 8) {
      x = unstep(x, target + i);
      y = unstep(y, target + i + 4);
      const needX = low(x);
      const needY = low(y);
      x = refill(x, needX, next);
      next += taken(needX);
      y = refill(y, needY, next);
      next += taken(needY);
    }
  }
  v128.store(STATES, x);
  v128.store(STATES, y, 16);
  // The bytes that do not fill a round.
  for (; i < coded && next <= end; i++) {
    const lane = <usize>(i & (lanes - 1)) << 2;
    let one = load<u32>(lane, STATES);
    const s = load<u8>(<usize>(one & 0x3fff), SYMBOLS);
    store<u8>(target + i, s);
    const entry = load<u32>(<usize>s << 2, TABLE);
    one = (entry & 0xffff) * (one >> 14) + (one & 0x3fff) - (entry >> 16);
    if (one >> 16 == 0) {
      one = (one << 16) | load<u16>(next);
      next += 2;
    }
    store<u32>(lane, one, STATES);
  }
  if (i < coded || next != end) return false;
  for (let lane: u32 = 0; lane < lanes; lane++) {
    const one = load<u32>(<usize>lane << 2, STATES);
    if (one >> 16 != 1) return false;
    store<u16>(target + coded + (lane << 1), <u16>one);
  }
  // What a piece shorter than the states does not have must be zeros.
  for (let p = target + count, stop = target + coded + 2 * lanes; p < stop; p++) {
    if (load<u8>(p) != 0) return false;
  }
  return true;
}

// Four states give a byte each, which go to `target`.
// @ts-ignore: decorator
@inline
function unstep(x: v128, target: usize): v128 {
  const slot = v128.and(x, i32x4.splat(0x3fff));
  let s: usize = load<u8>(<usize>i32x4.extract_lane(slot, 0), SYMBOLS);
  store<u8>(target, <u8>s);
  let entry = v128.load32_zero(s << 2, TABLE);
  s = load<u8>(<usize>i32x4.extract_lane(slot, 1), SYMBOLS);
  store<u8>(target, <u8>s, 1);
  entry = v128.load_lane<u32>(s << 2, entry, 1, TABLE);
  s = load<u8>(<usize>i32x4.extract_lane(slot, 2), SYMBOLS);
  store<u8>(target, <u8>s, 2);
  entry = v128.load_lane<u32>(s << 2, entry, 2, TABLE);
  s = load<u8>(<usize>i32x4.extract_lane(slot, 3), SYMBOLS);
  store<u8>(target, <u8>s, 3);
  entry = v128.load_lane<u32>(s << 2, entry, 3, TABLE);
  const frequency = v128.and(entry, i32x4.splat(0xffff));
  return i32x4.add(i32x4.mul(frequency, i32x4.shr_u(x, 14)), i32x4.sub(slot, i32x4.shr_u(entry, 16)));
}

// Which states are below 2^16.
// @ts-ignore: decorator
@inline
function low(x: v128): v128 {
  return i32x4.eq(i32x4.shr_u(x, 16), i32x4.splat(0));
}

// @ts-ignore: decorator
@inline
function refill(x: v128, need: v128, next: usize): v128 {
  const spread = v128.load(<usize>i32x4.bitmask(need) << 4, SPREADS);
  return v128.bitselect(v128.or(i32x4.shl(x, 16), v128.swizzle(v128.load64_zero(next), spread)), x, need);
}

// @ts-ignore: decorator
@inline
function taken(need: v128): usize {
  return popcnt<usize>(<usize>i32x4.bitmask(need)) << 1;
}

// `b` and `cut` follow from the parameter; `target` holds zeros. The source is followed by at least seven zeros.
export function golombEncode(source: usize, length: u32, parameter: u32, b: u32, cut: u32, target: usize): u32 {
  let at: u64 = 0;
  let next: u32 = 0;
  for (let i: u32 = 0; i < length; i += 8) {
    let word = load<u64>(source + i);
    while (word != 0) {
      const position: u32 = (i << 3) + <u32>ctz<u64>(word);
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
    const zeros = ctz<u64>(window);
    at += zeros;
    const quotient = at - start;
    at++;
    let remainder: u32 = 0;
    if (b > 0) {
      // What follows is in the window already, unless there were many zeros: at least 57 bits of it are from the code.
      const rest = zeros + b < 56 ? window >> (zeros + 1) : load<u64>(code + <usize>(at >> 3)) >> (at & 7);
      // Without a branch: which of the two lengths it is cannot be foreseen.
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

// `length` bytes, followed by at least seven zeros.
export function countOnes(source: usize, length: u32): u32 {
  let total: u64 = 0;
  for (let p = source, end = source + length; p < end; p += 8) total += popcnt<u64>(load<u64>(p));
  return <u32>total;
}
