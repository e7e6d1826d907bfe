/**
 * Positions that wait to be merged into a sorted list, so that adding one does not move the whole
 * list. The tail is sorted itself, in doubles. A lookup is a binary search, and an insertion moves
 * a few kilobytes at most.
 */

export class SortedTail {
  count = 0;
  #positions = new Float64Array(0);

  get byteLength(): number {
    return this.#positions.byteLength;
  }

  has(position: number): boolean {
    return this.count > 0 && this.#positions[this.#placeOf(position)] === position;
  }

  /** Inserts a position that must not be in the tail yet. */
  insert(position: number): void {
    if (this.count === this.#positions.length) {
      const larger = new Float64Array(Math.max(16, 2 * this.count)).fill(Number.POSITIVE_INFINITY);
      larger.set(this.#positions);
      this.#positions = larger;
    }
    const at = this.#placeOf(position);
    this.#positions.copyWithin(at + 1, at, this.count);
    this.#positions[at] = position;
    this.count++;
  }

  /** Returns the positions and empties the tail. */
  take(): Float64Array {
    const positions = this.#positions.subarray(0, this.count);
    this.#positions = new Float64Array(0);
    this.count = 0;
    return positions;
  }

  /** The index of the first position that is not smaller. Unused places hold Infinity. */
  #placeOf(position: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#positions[middle] < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
