/**
 * Golomb codes (1966) of the gaps between ones: the fast coding for sparse arrays, such as the
 * changes of a filter. Twin: assembly/coders/golomb.ts.
 *
 * The gaps of independent bits are geometric, and for those Golomb's codes are the best that code
 * one gap at a time. A gap g (the zeros before a one) is written in two parts. The first is floor(g
 * / M) in unary: that many zeros and a one. The second is g mod M in truncated binary: with 2^b the
 * smallest power of two not below M and c = 2^b - M, a remainder below c takes b - 1 bits. The
 * others take b bits: remainder + c without its last bit in b - 1 bits, and then that bit. Numbers
 * are written least significant bit first, and bits fill bytes from the least significant on, as in
 * a filter.
 *
 * M is about ln 2 / density. Rice's codes, where M is a power of two, save a multiplication and are
 * up to 1.7 % larger than the entropy where the best M lies between two powers. Golomb's codes stay
 * within half a per cent below 3 % of ones.
 */

/** The parameter for `ones` ones among `bits` bits. */
export function golombParameter(ones: number, bits: number): number {
  return Math.min(2 ** 30, Math.max(1, Math.round((bits * Math.LN2) / ones)));
}

/** Upper bound on the number of bits of `golombEncode`. */
export function golombBound(ones: number, bits: number, parameter: number): number {
  return ones * (remainderBits(parameter) + 1) + Math.ceil(bits / parameter);
}

/**
 * Codes the gaps between the ones of `source`. Returns the number of bytes; `target` must hold
 * zeros and be long enough.
 */
export function golombEncode(source: Uint32Array, parameter: number, target: Uint8Array): number {
  const b = remainderBits(parameter);
  const cut = 2 ** b - parameter;
  let at = 0; // in bits
  let next = 0; // the bit after the last one
  const put = (value: number, width: number) => {
    for (let i = 0; i < width; i++, at++) if ((value >>> i) & 1) target[at >>> 3] |= 1 << (at & 7);
  };
  for (let i = 0; i < source.length; i++) {
    for (let word = source[i]; word !== 0; word &= word - 1) {
      const position = 32 * i + 31 - Math.clz32(word & -word);
      const gap = position - next;
      next = position + 1;
      const quotient = Math.floor(gap / parameter);
      const remainder = gap - quotient * parameter;
      at += quotient;
      put(1, 1);
      if (remainder < cut) {
        put(remainder, b - 1);
      } else if (b > 0) {
        put((remainder + cut) >>> 1, b - 1);
        put((remainder + cut) & 1, 1);
      }
    }
  }
  return (at + 7) >>> 3;
}

/**
 * Decodes: sets `ones` ones in `target`, which must hold zeros. Returns false if the code gives
 * other positions, or is longer.
 */
export function golombDecode(
  code: Uint8Array,
  bits: number,
  ones: number,
  parameter: number,
  target: Uint32Array,
): boolean {
  const b = remainderBits(parameter);
  const cut = 2 ** b - parameter;
  const end = 8 * code.length;
  let at = 0;
  let next = 0;
  const take = (width: number): number => {
    let value = 0;
    for (let i = 0; i < width; i++, at++) value |= ((code[at >>> 3] >>> (at & 7)) & 1) << i;
    return value;
  };
  for (let n = 0; n < ones; n++) {
    const start = at;
    let found = 0;
    while (at < end && found === 0) found = take(1);
    if (found === 0) return false;
    const quotient = at - start - 1;
    let remainder = b > 0 ? take(b - 1) : 0;
    if (b > 0 && remainder >= cut) remainder = 2 * remainder + take(1) - cut;
    const position = next + quotient * parameter + remainder;
    if (at > end || position >= bits) return false;
    target[position >>> 5] |= 1 << (position & 31);
    next = position + 1;
  }
  // Only zeros of less than a byte may follow.
  return end - at < 8 && (at === end || code[at >>> 3] >>> (at & 7) === 0);
}

/** b, the smallest integer with 2^b >= parameter. */
export function remainderBits(parameter: number): number {
  return 32 - Math.clz32(parameter - 1);
}
