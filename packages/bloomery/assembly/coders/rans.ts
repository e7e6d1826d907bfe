// The rANS coder of bit arrays: explained, and with its twin, in src/kernel/coders/rans.ts. The
// coders work on a memory of their own; src/kernel/coders/entropy-wasm.ts draws the map.

import { CLASSES, classFrequencies, PRODUCTS } from './class-frequencies';

// Where the tables of the rANS model stand: see the map in src/kernel/coders/entropy-wasm.ts.
// The byte value of each of the 2^14 slots; the last store may go 15 bytes beyond.
const SYMBOLS: usize = 0;
const SPREADS: usize = 16640; // 16 masks of 16 bytes
const STATES: usize = 17024; // 16 words
// For decoding, 256 words: frequency (16 bits) and first slot (16 bits) of each byte value.
const TABLE: usize = 17408;
// For encoding, 16 bytes each: 2^46 / frequency rounded up (8), frequency (4), first slot (4).
const STEPS: usize = 18432;

// The tables of the model for a share of ones, out of 2^16; those that only decoding needs if asked
// for.
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
  // For each set of states that need a word: where in the next words each finds its own, and zeros
  // elsewhere.
  for (let need: u32 = 0; need < 16; need++) {
    let word: u32 = 0;
    for (let lane: u32 = 0; lane < 4; lane++) {
      const takes = (need >> lane) & 1;
      store<u32>((<usize>need << 4) + (<usize>lane << 2), takes ? 0xffff0100 + word * 0x0202 : 0xffffffff, SPREADS);
      word += takes;
    }
  }
}

// The code is written backwards from `end`; returns where it begins. Sources are followed by at
// least 32 zeros. The states live in memory: the processor is busy with divisions, and hides the
// way there and back.
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

// A state takes up a byte. Its lower half goes out first if there is no room: written in any case,
// kept if it counts. The quotient by multiplication: y < f * 2^18, so that y * ceil(2^46 / f) stays
// below 2^64, and is too large by less than f * 2^-28 < 1 / f after the shift.
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

// Up to 32 bytes behind the code may be read, and up to 32 behind the target written. The states
// live in vectors: only the lookups go one by one, and four states take their words at once
// (SPREADS).
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
