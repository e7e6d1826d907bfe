/**
 * Decides whether a filter has more false hits than it promised. False hits among n absent keys are
 * binomial, so the count lies within five standard deviations of n·p all but once in some million
 * looks. A look after every lookup would be many looks, so the absent keys are taken in windows.
 *
 * A window is twice as long as the one before, from 64 keys to a million. Each one is judged by
 * itself: a filter that goes bad after a long time is noticed within a window, and one that was
 * rebuilt is not blamed for the past.
 *
 * The usual causes: the filter holds more keys than it was made for, rows were deleted and the
 * filter was not rebuilt, or a client asks for keys that were chosen to pass, or for one key that
 * passes again and again.
 */

export interface RateProblem {
  /** False hits among `absent`. */
  readonly falseHits: number;
  /** Keys of this window that were asked for and are not in the store. */
  readonly absent: number;
  readonly measuredRate: number;
  readonly promisedRate: number;
}

const FIRST_WINDOW = 64;
const LAST_WINDOW = 2 ** 20;
const DEVIATIONS = 5;
/** With fewer false hits than this, a rate of nearly 0 would be exceeded by bad luck. */
const LEAST_FALSE_HITS = 5;

export class RateWatch {
  #window = FIRST_WINDOW;
  #falseHits = 0;
  #absent = 0;

  /**
   * Counts an absent key. Returns the problem at the end of a window, if there is one.
   * `promisedRate` is asked only then, because a filter may have to count its bits for it.
   */
  count(isFalseHit: boolean, promisedRate: () => number | undefined): RateProblem | undefined {
    this.#absent++;
    if (isFalseHit) this.#falseHits++;
    if (this.#absent < this.#window) return undefined;
    const [falseHits, absent] = [this.#falseHits, this.#absent];
    this.#window = Math.min(LAST_WINDOW, 2 * this.#window);
    this.#falseHits = 0;
    this.#absent = 0;
    if (falseHits < LEAST_FALSE_HITS) return undefined;
    const promised = promisedRate();
    if (promised === undefined) return undefined;
    const deviation = Math.sqrt(absent * promised * (1 - promised));
    if (falseHits <= absent * promised + DEVIATIONS * deviation) return undefined;
    return { falseHits, absent, measuredRate: falseHits / absent, promisedRate: promised };
  }
}
