// Newlines, sixteen bytes at a time. The twin, and what it is for: src/kernel/batches/lines.ts.
// Reading may go up to 15 bytes beyond the end, where there are no newlines.

// @ts-ignore: decorator
@inline
function newlines(at: usize): u32 {
  return <u32>i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(10)));
}

export function countNewlines(source: usize, length: u32): u32 {
  let count: u32 = 0;
  for (let at = source, end = source + length; at < end; at += 16) count += popcnt<u32>(newlines(at));
  return count;
}

// Writes base + the place behind each newline; returns how many there are.
export function findNewlines(source: usize, length: u32, base: u32, target: usize): u32 {
  let out = target;
  for (let i: u32 = 0; i < length; i += 16) {
    for (let found = newlines(source + i); found != 0; found &= found - 1) {
      store<u32>(out, base + i + ctz<u32>(found) + 1);
      out += 4;
    }
  }
  return <u32>((out - target) >> 2);
}
