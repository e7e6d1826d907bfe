// Whole lines into the bits of a block, sixteen bytes at a time, for grams of five bytes, without
// longer ones or with those of eight digits and dots: the schemes of `bloomery index`. The bits are
// those of grams.ts, which goes byte by byte and takes about twice the time.

import { EXTRA_SEED, GRAM_SEED, gramBit, setBit } from './gram-bits';

const ALL_DIGITS: u32 = 2;

// @ts-ignore: decorator
@inline
export function isForLines(gram: u32, extra: u32, rule: u32): bool {
  return gram == 5 && (rule == 0 || (rule == ALL_DIGITS && extra == 8));
}

// The place of the next newline, or 0 if there is none before `end`. Letters up to it, and up to 15
// bytes after it, become lower case.
export function foldedLineEnd(start: usize, end: usize): usize {
  for (let at = start; at < end; at += 16) {
    const bytes = v128.load(at);
    const isUpper = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(65)), i8x16.splat(26));
    v128.store(at, v128.or(bytes, v128.and(isUpper, i8x16.splat(32))));
    const newlines = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(10)));
    if (newlines != 0) {
      const place = at + <usize>ctz(newlines);
      return place < end ? place : 0;
    }
  }
  return 0;
}

// Adds the grams of a line of folded bytes. Returns how many bits were not set before.
export function addLine(start: usize, end: usize, extra: u32, shift: u32): u32 {
  const grams = <i32>(end - start) - 4;
  if (grams <= 0) return 0;
  let ones: u32 = 0;
  let at = start;
  const last = start + <usize>grams;
  for (; at + 4 <= last; at += 4) {
    const bits = fourBits(at, shift);
    ones += setBit(<u32>i32x4.extract_lane(bits, 0));
    ones += setBit(<u32>i32x4.extract_lane(bits, 1));
    ones += setBit(<u32>i32x4.extract_lane(bits, 2));
    ones += setBit(<u32>i32x4.extract_lane(bits, 3));
  }
  if (at < last) {
    const bits = fourBits(at, shift);
    ones += setBit(<u32>i32x4.extract_lane(bits, 0));
    if (at + 1 < last) ones += setBit(<u32>i32x4.extract_lane(bits, 1));
    if (at + 2 < last) ones += setBit(<u32>i32x4.extract_lane(bits, 2));
  }
  return extra == 8 && grams >= 4 ? ones + addDigits(start, end, shift) : ones;
}

// The bits of the four grams that begin at a place and at the three bytes after it: `gramBit` in
// four lanes.
// @ts-ignore: decorator
@inline
function fourBits(at: usize, shift: u32): v128 {
  const bytes = v128.load64_zero(at);
  const last = i8x16.shuffle(bytes, bytes, 4, 3, 2, 1, 5, 4, 3, 2, 6, 5, 4, 3, 7, 6, 5, 4);
  const before = i8x16.shuffle(bytes, bytes, 0, 8, 8, 8, 1, 8, 8, 8, 2, 8, 8, 8, 3, 8, 8, 8);
  let h = v128.xor(
    last,
    i32x4.mul(i32x4.add(before, i32x4.splat(<i32>GRAM_SEED)), i32x4.splat(<i32>0x85ebca6b)),
  );
  h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 16)), i32x4.splat(<i32>0x9e3779b1));
  h = i32x4.mul(v128.xor(h, i32x4.shr_u(h, 15)), i32x4.splat(<i32>0xc2b2ae35));
  return i32x4.shr_u(h, <i32>shift);
}

// The grams of eight digits and dots. `ends` has a bit for each byte with which such a gram ends:
// the byte and the seven before it are all digits or dots.
function addDigits(start: usize, end: usize, shift: u32): u32 {
  let ones: u32 = 0;
  let former: u32 = 0;
  for (let at = start; at < end; at += 16) {
    const bytes = v128.load(at);
    const isDigit = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(48)), i8x16.splat(10));
    const digits = <u32>i8x16.bitmask(v128.or(isDigit, i8x16.eq(bytes, i8x16.splat(46))));
    const marks = former | (digits << 8);
    former = digits >> 8;
    let ends = marks & (marks << 1);
    ends &= ends << 2;
    ends &= ends << 4;
    ends >>= 8;
    while (ends != 0) {
      const place = at + <usize>ctz(ends);
      if (place >= end) break;
      ends &= ends - 1;
      const a = bswap<u32>(load<u32>(place - 3));
      const b = bswap<u32>(load<u32>(place - 7));
      ones += setBit(gramBit(a, b, EXTRA_SEED, shift));
    }
  }
  return ones;
}
