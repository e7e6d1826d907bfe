/**
 * Grams: the short pieces of a line that a text index remembers, and the bit that stands for each.
 *
 * A gram is `gram` bytes in a row, with ASCII letters in lower case, and never crosses a newline. A
 * block of text has a filter of 2^bitsLog2 bits with one hash function, and ends where `limit` of
 * the bits are set. With half of them set, a gram that the block does not contain passes with
 * probability 1/2. A needle of q grams passes a block without it with probability 2^-q.
 *
 * Digits are the weak spot: after some hundred kilobytes of log, most pieces of five digits occur
 * somewhere. So longer grams, of `extra` bytes, are added where digits are. `extraRule` says where:
 *
 *     'digit'   at least one of the last `gram` bytes is a digit
 *     'run'     all `extra` bytes are digits or dots
 *
 * A rule looks at the bytes of the gram alone, so it gives the same answer in a needle as in a
 * text. bench/text compares the schemes.
 */

export type ExtraRule = 'none' | 'digit' | 'run';

export interface GramScheme {
  /** Bytes of a gram, from 3 to 8. */
  readonly gram: number;
  /** Bytes of the longer grams, above `gram` and up to 8; 0 with the rule 'none'. */
  readonly extra: number;
  readonly extraRule: ExtraRule;
  /** Logarithm to base 2 of the bits of a block, from 10 to 20. */
  readonly bitsLog2: number;
  /** Bits that are set when a block ends. */
  readonly limit: number;
}

export const EXTRA_RULES: readonly ExtraRule[] = ['none', 'digit', 'run'];

/** The scheme of `bloomery index`. */
export const DEFAULT_SCHEME: GramScheme = {
  gram: 5,
  extra: 8,
  extraRule: 'run',
  bitsLog2: 17,
  limit: 1 << 16,
};

/** The scheme of `bloomery index --precise`: a third of the bits is set, and a gram tells more. */
export const PRECISE_SCHEME: GramScheme = {
  gram: 5,
  extra: 8,
  extraRule: 'run',
  bitsLog2: 17,
  limit: 43_690,
};

/** Whether the parameters are within their bounds. */
export function isScheme({ gram, extra, extraRule, bitsLog2, limit }: GramScheme): boolean {
  return (
    isBetween(gram, 3, 8) &&
    isBetween(bitsLog2, 10, 20) &&
    isBetween(limit, 1, 2 ** bitsLog2) &&
    EXTRA_RULES.includes(extraRule) &&
    (extraRule === 'none' ? extra === 0 : isBetween(extra, gram + 1, 8))
  );
}

function isBetween(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

/**
 * The bit of a gram, from its last four bytes and the up to four bytes before them, both
 * big-endian. Three multiplications; twin: `gramBit` of assembly/text/grams.ts.
 */
function gramBit(last: number, before: number, seed: number, shift: number): number {
  let h = last ^ Math.imul(before + seed, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 16), 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 15), 0xc2b2ae35);
  return h >>> shift;
}

/** Seeds of the two kinds of grams, so that they do not share bits. */
const GRAM_SEED = 1;
const EXTRA_SEED = 0x5bd1e995;

const DIGIT = 1;
const DOT = 2;

/** Each byte in lower case. */
export const FOLDED = /* @__PURE__ */ Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 65 && byte <= 90 ? byte + 32 : byte,
);

/** Whether a byte counts for the rule: a digit, or for 'run' a digit or a dot. */
export function ruleClasses(rule: ExtraRule): Uint8Array {
  const classes = new Uint8Array(256);
  if (rule === 'none') return classes;
  for (let byte = 48; byte < 58; byte++) classes[byte] = DIGIT;
  if (rule === 'run') classes[46] = DOT;
  return classes;
}

/**
 * The bits of all grams of a needle, each once. An empty answer says that the needle is too short
 * for the index: every block may contain it.
 */
export function needleBits(needle: Uint8Array, scheme: GramScheme): number[] {
  const bits = new Set<number>();
  const window = new GramWindow(scheme);
  for (const byte of needle) {
    if (byte === 10) throw new RangeError('Cannot search: expected a needle within one line, got a newline');
    window.push(byte, (bit) => bits.add(bit));
  }
  return [...bits];
}

/** The last eight bytes of a line, and the grams that end with the last of them. */
export class GramWindow {
  readonly #gram: number;
  readonly #extra: number;
  readonly #all: boolean;
  readonly #shift: number;
  readonly #lastMask: number;
  readonly #beforeMask: number;
  readonly #extraBeforeMask: number;
  readonly #ruleMask: number;
  readonly #classes: Uint8Array;
  #last = 0;
  #before = 0;
  #run = 0;
  #marks = 0;

  constructor({ gram, extra, extraRule, bitsLog2 }: GramScheme) {
    this.#gram = gram;
    this.#extra = extraRule === 'none' ? Number.MAX_SAFE_INTEGER : extra;
    this.#all = extraRule === 'run';
    this.#shift = 32 - bitsLog2;
    this.#lastMask = lowBytes(Math.min(gram, 4));
    this.#beforeMask = lowBytes(gram - 4);
    this.#extraBeforeMask = lowBytes(extra - 4);
    this.#ruleMask = (1 << (this.#all ? extra : gram)) - 1;
    this.#classes = ruleClasses(extraRule);
  }

  /** Starts a new line. */
  clear(): void {
    this.#last = 0;
    this.#before = 0;
    this.#run = 0;
    this.#marks = 0;
  }

  /** Adds a byte of the line, and visits the bits of the grams that it ends. */
  push(byte: number, visit: (bit: number) => void): void {
    this.#before = (this.#before << 8) | (this.#last >>> 24);
    this.#last = (this.#last << 8) | FOLDED[byte];
    this.#marks = (this.#marks << 1) | (this.#classes[byte] === 0 ? 0 : 1);
    if (this.#run < 8) this.#run++;
    if (this.#run < this.#gram) return;
    visit(gramBit(this.#last & this.#lastMask, this.#before & this.#beforeMask, GRAM_SEED, this.#shift));
    if (this.#run < this.#extra) return;
    const marks = this.#marks & this.#ruleMask;
    if (this.#all ? marks === this.#ruleMask : marks !== 0)
      visit(gramBit(this.#last, this.#before & this.#extraBeforeMask, EXTRA_SEED, this.#shift));
  }
}

/** A mask of the lowest bytes of a word. */
export function lowBytes(count: number): number {
  if (count <= 0) return 0;
  return count >= 4 ? -1 : (1 << (8 * count)) - 1;
}
