/** Times in classes of a tenth of a millisecond: a mean and percentiles in fixed memory. */

const CLASS_MS = 0.1;
const CLASSES = 100_000;

export class DelayHistogram {
  readonly #counts = new Uint32Array(CLASSES);
  #sumMs = 0;
  #count = 0;

  add(ms: number): void {
    this.#counts[Math.min(CLASSES - 1, Math.floor(ms / CLASS_MS))]++;
    this.#sumMs += ms;
    this.#count++;
  }

  get meanMs(): number {
    return this.#count === 0 ? 0 : this.#sumMs / this.#count;
  }

  /** The time that this share of all times does not exceed, up to the width of a class. */
  percentileMs(share: number): number {
    let left = share * this.#count;
    for (let i = 0; i < CLASSES; i++) {
      left -= this.#counts[i];
      if (left <= 0) return this.#count === 0 ? 0 : (i + 1) * CLASS_MS;
    }
    return CLASSES * CLASS_MS;
  }
}
