/**
 * Symbols that peeling needs, and the number that a responder sends unasked.
 *
 * For d differences peeling takes 1 + 1.36·(d-1) + 1.1·√(d-1) symbols on average, with a standard
 * deviation of about √d: 1 for one, 1.7 per difference for 10, 1.46 for 100, 1.36 for 10,000. The
 * responder knows d only from an estimate. A session that is to save bytes gets too few symbols at
 * first and asks for the rest, because symbols that are not needed cannot be taken back. A session
 * that is to save round trips gets a quarter more than expected.
 *
 * Constants stand before the functions, because bundlers replace a constant by its value only in
 * code that follows it.
 */

/** The number of differences that a responder expects if the hello says nothing about them. */
export const BLIND_ESTIMATE = 45;

/** The least number of differences that counters may fail to show, if the sets are of one size. */
export const LEAST_UNSEEN = 2;

/**
 * A session with a filter sends all counters first if it is expected to take at least this many
 * bytes. A sketch may be off by half, which makes the filter too large or too small: a session of
 * 100 kB took 3 to 7 % more than with the counters, which are 256 bytes.
 */
export const COUNTERS_PAY = 16_384;

/** The most symbols in a message: about 32 kB, which bounds what a wrong estimate costs. */
export const MOST_FIRST_SYMBOLS = 4096;

/**
 * The most requests for symbols in an attempt. Each costs the responder a pass over its keys. The
 * steps of `nextSymbols` grow, so that 150 of them reach 2^22 symbols at any estimate.
 */
export const MOST_REQUESTS = 255;

/** The most differences that the fine counters of a sketch can tell. */
const MOST_FINE = 220;

/** The most symbols after a sketch alone, which may be off by half. */
const MOST_UNSURE = 1024;

/** The expected number of symbols for `difference` differences. */
export function symbolsNeeded(difference: number): number {
  const more = Math.max(0, difference - 1);
  return 1 + 1.36 * more + 1.1 * Math.sqrt(more);
}

/** Number of symbols to send unasked. */
export function firstSymbols(difference: number, eager: boolean): number {
  const needed = symbolsNeeded(difference);
  let count = 0.75 * needed + Math.min(10, needed / 6);
  // Enough for 99 of 100 sessions with 100 differences, if the estimate is off by 9 %.
  if (eager) count = difference > MOST_FINE ? needed : Math.max(1.2 * needed + 4, 1.38 * needed - 4);
  return Math.min(MOST_FIRST_SYMBOLS, Math.ceil(count));
}

/** Number of symbols in a summary, if no filter is to come first. */
export function symbolsInSummary(difference: number, eager: boolean): number {
  return Math.min(MOST_UNSURE, firstSymbols(difference, eager));
}

/**
 * Number of symbols to have in all, if `size` have come and were not enough. The steps grow with
 * `asked`, the number of earlier requests, so that unlucky sessions end. 0 if there are so many
 * that decoding has certainly failed.
 *
 * From 500 symbols on the steps are longer. With 100,000 keys and 10,000 differences, a session
 * then took 5 round trips instead of 8, and as many bytes. With 1000 differences it took 4 instead
 * of 6, and 1 % more bytes.
 */
export function nextSymbols(size: number, difference: number, eager: boolean, asked: number): number {
  if (size > 3 * difference + 60) return 0;
  const hasty = eager || size > 500;
  const needed = (hasty ? 1 : 0.97) * symbolsNeeded(difference);
  const step = Math.sqrt(size) * (hasty ? 1.2 : 0.4) * (asked + 1);
  return Math.ceil(Math.max(size + 2 + step, needed));
}
