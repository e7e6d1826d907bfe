// Golomb codes of the gaps between ones: explained, and with its twin, in
// src/kernel/coders/golomb.ts. Reading may go up to eight bytes beyond the end of the source, where
// there are zeros.

// `b` and `cut` follow from the parameter; `target` holds zeros. The source is followed by at least
// seven zeros.
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
      // Without a branch, as in decoding. Of a parameter of 1 there is no remainder: b and cut are
      // 0.
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
      // What follows is in the window already, unless there were many zeros: at least 57 bits of it
      // are from the code.
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
