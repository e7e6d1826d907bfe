// Ones of an array. Twin: countOnes in src/kernel/bits/bit-operations.ts.

// `length` bytes, followed by at least seven zeros.
export function countOnes(source: usize, length: u32): u32 {
  let total: u64 = 0;
  for (let p = source, end = source + length; p < end; p += 8) total += popcnt<u64>(load<u64>(p));
  return <u32>total;
}
