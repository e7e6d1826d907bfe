/**
 * Symbols that peeling needs, and the number that a responder sends unasked.
 *
 * For d differences peeling takes 1.36·d + 1.1·√d symbols on average, with a standard deviation of
 * about √d: 1.7 per difference for 10 of them, 1.47 for 100, 1.36 for 10,000. The responder knows d
 * only from an estimate that is off by a third. A session that is to save bytes gets too few
 * symbols at first and asks for the rest, because symbols that are not needed cannot be taken back.
 * A session that is to save round trips gets a quarter more than expected.
 */

/** The expected number of symbols for `difference` differences. */
export function symbolsNeeded(difference: number): number {
  return 1.36 * difference + 1.1 * Math.sqrt(difference);
}

/** The most symbols in a summary: 32 kB, so that an estimate far too large costs no more. */
export const MOST_FIRST_SYMBOLS = 4096;

/**
 * Number of symbols to send unasked. `known` says that the difference is known better than by an
 * estimate from a hello, as it is after a filter.
 */
export function firstSymbols(difference: number, eager: boolean, known: boolean): number {
  const needed = symbolsNeeded(difference);
  return Math.min(MOST_FIRST_SYMBOLS, Math.ceil(eager ? 1.25 * needed + 3 : (known ? 0.95 : 0.75) * needed));
}

/**
 * Number of symbols to have in all, if `size` have come and were not enough. The steps grow with
 * `asked`, the number of earlier requests, so that unlucky sessions end.
 */
export function nextSymbols(size: number, difference: number, eager: boolean, asked: number): number {
  const needed = (eager ? 1.1 : 0.97) * symbolsNeeded(difference);
  const step = Math.sqrt(size) * (eager ? 2 : 0.4) * (asked + 1);
  return Math.ceil(Math.max(size + 2 + step, needed));
}

/** Number of symbols after which decoding has certainly failed. */
export function mostSymbols(difference: number): number {
  return 3 * difference + 300;
}
