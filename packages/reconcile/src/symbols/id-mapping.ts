/**
 * The symbols in which an id takes part: symbol 0, and a rising sequence in which symbol i occurs
 * with probability 1 / (1 + i/2). That is the mapping of rateless IBLTs (Yang, Gilad, Alizadeh:
 * "Practical rateless set reconciliation", arXiv 2402.02668).
 *
 * From symbol i, the next one is further away than g with the probability
 *
 *     (i + 1)(i + 2) / ((i + g + 1)(i + g + 2))   or nearly   ((i + 1.5) / (i + g + 1.5))^2
 *
 * and the step below inverts the second form for a uniform u, as the paper does. It reaches symbol
 * 1 with probability 0.64 instead of 0.67, symbol 8 with 0.1995 instead of 0.2. We had the first
 * form before: it needs as many symbols, and its square root waits for the step before, which made
 * sequences twice as slow.
 *
 * The state has 64 bits. With 32 bits, two of 100,000 differing keys share their whole sequence
 * often, and such twins never peel. The generator is xoroshiro64* (Blackman and Vigna), because it
 * needs no 64-bit arithmetic. Ids come from a keyed hash, so the mixing here needs no key.
 *
 * `SymbolSource` has the step of this class in its loop, for speed. Tests compare the two.
 */

/** An id is kept as two int32: the upper half, and the lower half with unused bits 0. */
export class IdMapping {
  high = 0;
  low = 0;
  /** The side that holds the id, for a peeler: 1 ours, -1 theirs. */
  sign = 0;
  /** The next symbol of the sequence. */
  index = 0;
  /** 16 bits that depend on the whole id. */
  check = 0;
  s0 = 0;
  s1 = 0;

  /** Starts the sequence of an id at symbol 0. */
  start(high: number, low: number): void {
    this.high = high;
    this.low = low;
    const b = low ^ mix32(high ^ 0x243f6a88);
    const s0 = high ^ mix32(b ^ 0x85a308d3);
    const s1 = b ^ mix32(s0 ^ 0x13198a2e);
    this.check = mix32((s0 + s1) ^ 0x03707344) >>> 16;
    this.s0 = s0;
    this.s1 = (s0 | s1) === 0 ? 1 : s1;
    this.index = 0;
  }

  /** Goes to the next symbol of the sequence. */
  step(): void {
    const u = Math.imul(this.s0, 0x9e3779bb) >>> 0;
    const a = this.s0;
    const b = this.s1 ^ a;
    this.s0 = ((a << 26) | (a >>> 6)) ^ b ^ (b << 9);
    this.s1 = (b << 13) | (b >>> 19);
    this.index = Math.floor((this.index + 1.5) * (65536 / Math.sqrt(u + 0.5)) - 0.5);
  }
}

/** A bijection of 32 bits in which every input bit changes half of the output bits. */
function mix32(value: number): number {
  let x = value ^ (value >>> 16);
  x = Math.imul(x, 0x21f0aaad);
  x ^= x >>> 15;
  x = Math.imul(x, 0x735a2d97);
  return x ^ (x >>> 15);
}
