/**
 * A range coder for decisions whose probabilities are learned on the way. Each decision belongs to
 * a context, a small integer that the caller chooses; each context has its own probability of a
 * one. Writer and reader start every context at one half and learn the same from the same bits, so
 * no table is stored.
 *
 * Why not a coder of the library. Those code whole arrays of bits by a density that is known
 * beforehand (packages/bloomery/src/kernel/coders). The word list of a dictionary has 270,000
 * contexts, most of which see a handful of decisions; sending their densities would take more bytes
 * than the decisions.
 *
 * A probability is a 15-bit integer. The n-th decision of a context moves it by 1/(n + 1.6) of the
 * distance, at least by 1/32: a new context learns quickly, an old one follows slowly. All numbers
 * stay below 2^53, and all products inside `>>` below 2^31, so that every engine gives the same
 * bytes.
 */

export class AdaptiveBitWriter {
  /** The probability of a one in each context, in 1/32768. */
  readonly #ones: Uint16Array;
  /** Number of decisions that each context has seen, up to a limit. */
  readonly #seen: Uint8Array;
  #bytes = new Uint8Array(1 << 16);
  #used = 0;
  #low = 0;
  #range = WHOLE - 1;

  constructor(contexts: number) {
    this.#ones = new Uint16Array(contexts).fill(HALF);
    this.#seen = new Uint8Array(contexts);
  }

  write(bit: number, context: number): void {
    const p = this.#ones[context];
    const n = this.#seen[context];
    const bound = (this.#range >>> 15) * p;
    if (bit === 1) this.#range = bound;
    else {
      this.#low += bound;
      this.#range -= bound;
    }
    this.#ones[context] = p + ((((bit === 1 ? MOST : LEAST) - p) * STEPS[n]) >> 16);
    if (n < LAST_STEP) this.#seen[context] = n + 1;
    while (this.#range < TOP) {
      this.#shift();
      this.#range *= 256;
    }
  }

  /**
   * Writes the lowest `digits` binary digits of a number, the highest first. They take the contexts
   * from `context` to `context + 2^digits - 1`.
   */
  writeNumber(value: number, digits: number, context: number): void {
    for (let i = digits - 1, node = 1; i >= 0; i--) {
      const bit = (value >>> i) & 1;
      this.write(bit, context + node);
      node = 2 * node + bit;
    }
  }

  /** Ends the code and returns it. */
  finish(): Uint8Array {
    for (let i = 0; i < 4; i++) this.#shift();
    return this.#bytes.slice(0, this.#used);
  }

  /** Writes the top byte of `low`, after a carry into the bytes before it. */
  #shift(): void {
    if (this.#low >= WHOLE) {
      let at = this.#used - 1;
      while (this.#bytes[at] === 255) this.#bytes[at--] = 0;
      this.#bytes[at]++;
      this.#low -= WHOLE;
    }
    if (this.#used === this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#used);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#used++] = this.#low / TOP;
    this.#low = (this.#low % TOP) * 256;
  }
}

/**
 * Reads the bits of an `AdaptiveBitWriter`. Bytes after the end of the code are read as zeros. The
 * loop is written out with local variables, which halves the time to unpack a dictionary.
 */
export class AdaptiveBitReader {
  readonly #ones: Uint16Array;
  readonly #seen: Uint8Array;
  readonly #bytes: Uint8Array;
  #used = 4;
  #code = 0;
  #range = WHOLE - 1;

  constructor(bytes: Uint8Array, contexts: number) {
    this.#ones = new Uint16Array(contexts).fill(HALF);
    this.#seen = new Uint8Array(contexts);
    this.#bytes = bytes;
    for (let i = 0; i < 4; i++) this.#code = this.#code * 256 + (bytes[i] ?? 0);
  }

  /** Number of bytes beyond the end that were read. It stays 0 for a sound code. */
  get overrun(): number {
    return Math.max(0, this.#used - this.#bytes.length);
  }

  read(context: number): number {
    // A number of one digit has the context after its base.
    return this.readNumber(1, context - 1);
  }

  readNumber(digits: number, context: number): number {
    const ones = this.#ones;
    const seen = this.#seen;
    const bytes = this.#bytes;
    let code = this.#code;
    let range = this.#range;
    let node = 1;
    for (let i = 0; i < digits; i++) {
      const at = context + node;
      const p = ones[at];
      const n = seen[at];
      const bound = (range >>> 15) * p;
      node *= 2;
      if (code < bound) {
        range = bound;
        ones[at] = p + (((MOST - p) * STEPS[n]) >> 16);
        node++;
      } else {
        code -= bound;
        range -= bound;
        ones[at] = p + (((LEAST - p) * STEPS[n]) >> 16);
      }
      if (n < LAST_STEP) seen[at] = n + 1;
      while (range < TOP) {
        code = code * 256 + (this.#used < bytes.length ? bytes[this.#used] : 0);
        this.#used++;
        range *= 256;
      }
    }
    this.#code = code;
    this.#range = range;
    return node - (1 << digits);
  }
}

const WHOLE = 2 ** 32;
const TOP = 2 ** 24;
const HALF = 1 << 14;
/** Probabilities never reach 0 or 1: such a decision could not be coded. */
const LEAST = 48;
const MOST = (1 << 15) - LEAST;
/** The share of the distance that the n-th decision moves a probability, in 1/65536. */
const STEPS = Int32Array.from({ length: 31 }, (_, n) => Math.floor(65536 / (n + 1.6)));
const LAST_STEP = STEPS.length - 1;
