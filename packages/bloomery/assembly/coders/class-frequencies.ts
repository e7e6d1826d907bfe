// The frequencies of the rANS model: bytes with equally many ones form a class, and share one
// frequency. Twin: classFrequencies in src/kernel/coders/rans.ts.

// Where the frequencies and the working values stand: see the map in
// src/kernel/coders/entropy-wasm.ts.
// For j ones: 9 words, the frequency; then 9 products of 8 bytes.
export const CLASSES: usize = 16896;
export const PRODUCTS: usize = 16936;

// Integers here, exact doubles in the twin: shares are 2^38 times as large.
export function classFrequencies(share: u32): void {
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
