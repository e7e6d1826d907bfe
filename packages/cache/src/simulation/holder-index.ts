/**
 * How many nodes of a simulated fleet hold each object. No node knows this; the simulation does,
 * and finds by it which fetches from the origin were unnecessary, and how many different objects
 * the fleet holds.
 */

export class HolderIndex {
  #counts = new Uint16Array(1024);
  #distinct = 0;
  #all = 0;

  get distinct(): number {
    return this.#distinct;
  }

  get all(): number {
    return this.#all;
  }

  /** Nodes that hold the object. */
  of(object: number): number {
    return object < this.#counts.length ? this.#counts[object]! : 0;
  }

  added(object: number): void {
    if (object >= this.#counts.length) {
      const wider = new Uint16Array(2 ** Math.ceil(Math.log2(object + 1)));
      wider.set(this.#counts);
      this.#counts = wider;
    }
    if (this.#counts[object]!++ === 0) this.#distinct++;
    this.#all++;
  }

  removed(object: number): void {
    if (--this.#counts[object]! === 0) this.#distinct--;
    this.#all--;
  }
}
