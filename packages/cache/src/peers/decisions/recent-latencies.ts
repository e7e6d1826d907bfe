/**
 * How long one neighbour takes to answer: a moving average, and the quantiles of the last 64 times.
 *
 * The average is RFC 6298's (2.3: SRTT <- (1 - alpha) * SRTT + alpha * R', alpha = 1/8); it orders
 * neighbours. The quantiles set deadlines. They are exact for a window of 64 times, which are kept
 * sorted: a new time costs a move of at most 64 numbers. We refused the P² algorithm, which keeps
 * five numbers, because it weighs all times since the start alike, and a neighbour that became slow
 * must be seen within seconds. The 95th percentile of 64 times has three times above it, so it is
 * rough: good enough to decide when to ask a second neighbour, not for a report.
 */

const WINDOW = 64;
const ALPHA = 1 / 8;

export class RecentLatencies {
  /** The window in order of arrival, as a ring, and in order of size. */
  readonly #ring = new Float64Array(WINDOW);
  readonly #sorted = new Float64Array(WINDOW);
  #count = 0;
  #next = 0;
  #average = 0;

  /** Times in the window, at most 64. */
  get count(): number {
    return this.#count;
  }

  /** Moving average in ms; 0 if there is no time yet. */
  get averageMs(): number {
    return this.#average;
  }

  add(ms: number): void {
    if (!(ms >= 0 && ms < Infinity)) {
      throw new RangeError(`Cannot note a latency: expected 0 or more milliseconds, got ${ms}`);
    }
    this.#average = this.#count === 0 ? ms : this.#average + ALPHA * (ms - this.#average);
    if (this.#count === WINDOW) this.#remove(this.#ring[this.#next]!);
    this.#insert(ms);
    this.#ring[this.#next] = ms;
    this.#next = (this.#next + 1) % WINDOW;
  }

  /** The smallest time that at least this share of the window does not exceed; 0 if it is empty. */
  quantileMs(share: number): number {
    if (this.#count === 0) return 0;
    return this.#sorted[Math.max(0, Math.ceil(share * this.#count) - 1)]!;
  }

  #remove(ms: number): void {
    const place = this.#sorted.indexOf(ms);
    this.#sorted.copyWithin(place, place + 1, this.#count);
    this.#count--;
  }

  #insert(ms: number): void {
    let place = this.#count;
    for (; place > 0 && this.#sorted[place - 1]! > ms; place--)
      this.#sorted[place] = this.#sorted[place - 1]!;
    this.#sorted[place] = ms;
    this.#count++;
  }
}
