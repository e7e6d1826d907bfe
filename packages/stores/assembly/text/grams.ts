// Grams of text into the bits of a block: explained, and with its twin, in src/text/gram-scheme.ts
// and src/text/gram-scanner.ts. The layout of the memory is in src/text/gram-wasm.ts.
//
// `scan` goes byte by byte for schemes of any kind. Lines that lie in the source as a whole go
// through lines.ts, if the scheme is one of those that it knows.

import { EXTRA_SEED, GRAM_SEED, gramBit, setBit } from './gram-bits';
import { addLine, foldedLineEnd, isForLines } from './lines';

const FOLDED: usize = 256;
const CLASSES: usize = 512;

// The state of the line, the counters, and the scheme.
const LAST: usize = 0;
const BEFORE: usize = 4;
const RUN: usize = 8;
const MARKS: usize = 12;
const ONES: usize = 16;
const FULL: usize = 20;
const LINES: usize = 24;
const SCHEME: usize = 64;

// Scans up to `length` bytes, and stops behind the newline with which the block is full. Returns
// how many bytes were scanned.
export function scan(source: usize, length: u32, room: u32): u32 {
  const gram = load<u32>(SCHEME);
  const extra = load<u32>(SCHEME, 4);
  const all = load<u32>(SCHEME, 8) == 2;
  const shift = load<u32>(SCHEME, 12);
  const lastMask = load<u32>(SCHEME, 16);
  const beforeMask = load<u32>(SCHEME, 20);
  const extraBeforeMask = load<u32>(SCHEME, 24);
  const ruleMask = load<u32>(SCHEME, 28);
  const limit = load<u32>(SCHEME, 32);
  const byLines = isForLines(gram, extra, load<u32>(SCHEME, 8));
  let last = load<u32>(LAST);
  let before = load<u32>(BEFORE);
  let run = load<u32>(RUN);
  let marks = load<u32>(MARKS);
  let ones = load<u32>(ONES);
  let lines: u64 = load<u64>(LINES);
  let at: u32 = 0;
  while (at < length) {
    if (byLines && run == 0) {
      const end = foldedLineEnd(source + at, source + length);
      if (end != 0) {
        ones += addLine(source + at, end, extra, shift);
        lines++;
        at = <u32>(end + 1 - source);
        if (ones >= limit || at >= room) {
          store<u32>(FULL, 1);
          break;
        }
        continue;
      }
    }
    const byte = <u32>load<u8>(source + at);
    at++;
    if (byte == 10) {
      last = 0;
      before = 0;
      run = 0;
      marks = 0;
      lines++;
      if (ones >= limit || at >= room) {
        store<u32>(FULL, 1);
        break;
      }
      continue;
    }
    before = (before << 8) | (last >> 24);
    last = (last << 8) | <u32>load<u8>(FOLDED + byte);
    marks = (marks << 1) | <u32>(load<u8>(CLASSES + byte) != 0);
    if (run < 8) run++;
    if (run < gram) continue;
    ones += setBit(gramBit(last & lastMask, before & beforeMask, GRAM_SEED, shift));
    if (run < extra) continue;
    const marked = marks & ruleMask;
    if (all ? marked == ruleMask : marked != 0) {
      ones += setBit(gramBit(last, before & extraBeforeMask, EXTRA_SEED, shift));
    }
  }
  store<u32>(LAST, last);
  store<u32>(BEFORE, before);
  store<u32>(RUN, run);
  store<u32>(MARKS, marks);
  store<u32>(ONES, ones);
  store<u64>(LINES, lines);
  return at;
}
