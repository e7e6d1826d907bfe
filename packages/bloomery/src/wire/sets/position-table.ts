/**
 * A table from positions to small integers other than 0: the changes of a set that are not
 * published, and the keys beyond the first of a position (counted-set.ts).
 *
 * Why not a `Map`. Positions above 2^31 are objects on the heap when they are keys of a `Map`, and
 * changes wait for some seconds. A publisher of a million positions, of which 5 % are replaced each
 * second, holds some 400,000 of them, and the garbage collector copied each of them twice while the
 * event loop stood still. The two typed arrays hold nothing that it visits, and take 18 to 96 bytes
 * per position.
 *
 * How. Open addressing with linear steps, at most two thirds full. A position that goes is replaced
 * by later ones of its run, so no marks of deleted ones are left. The table shrinks as well. A
 * table without positions holds no memory of its own, because a set has hundreds of tables and a
 * simulation thousands of sets.
 *
 * The slot of a position follows from its lowest 32 bits. A client that can choose hashes can make
 * the runs long, as with a `Map`; so a summary of untrusted keys needs a secret key.
 */

export class PositionTable {
  #positions = NO_POSITIONS;
  /** The integer of each slot, 0 in a free one. */
  #values = NO_VALUES;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The integer of a position, or 0 if it is not in the table. */
  get(position: number): number {
    return this.#values[this.#slotOf(position)];
  }

  /** Sets the integer of a position: an int32. Zero removes it. */
  set(position: number, value: number): void {
    const slot = this.#slotOf(position);
    const isKnown = this.#values[slot] !== 0;
    if (value === 0) {
      if (isKnown) this.#remove(slot);
    } else if (isKnown) {
      this.#values[slot] = value;
    } else {
      this.#insert(slot, position, value);
    }
  }

  /** The positions that have this integer, rising. */
  positionsOf(value: number): Float64Array {
    if (this.#size === 0) return NO_POSITIONS.subarray(1);
    const found = new Float64Array(this.#size);
    let count = 0;
    for (let slot = 0; slot < this.#values.length; slot++) {
      if (this.#values[slot] === value) found[count++] = this.#positions[slot];
    }
    return found.subarray(0, count).sort();
  }

  #insert(slot: number, position: number, value: number): void {
    let free = slot;
    if (3 * (this.#size + 1) > 2 * this.#values.length) {
      this.#resize(Math.max(LEAST_SLOTS, 2 * this.#values.length));
      free = this.#slotOf(position);
    }
    this.#positions[free] = position;
    this.#values[free] = value;
    this.#size++;
  }

  /** Frees a slot, and moves later positions of its run up, so that no search ends early. */
  #remove(freed: number): void {
    const positions = this.#positions;
    const values = this.#values;
    const mask = values.length - 1;
    let hole = freed;
    for (let slot = (hole + 1) & mask; values[slot] !== 0; slot = (slot + 1) & mask) {
      const home = homeOf(positions[slot], mask);
      // A position whose home lies behind the hole stays.
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
      positions[hole] = positions[slot];
      values[hole] = values[slot];
      hole = slot;
    }
    values[hole] = 0;
    this.#size--;
    if (8 * this.#size < values.length) this.#resize(values.length / 2);
  }

  #resize(slots: number): void {
    const positions = this.#positions;
    const values = this.#values;
    const isEmpty = slots < LEAST_SLOTS;
    this.#positions = isEmpty ? NO_POSITIONS : new Float64Array(slots);
    this.#values = isEmpty ? NO_VALUES : new Int32Array(slots);
    for (let old = 0; old < values.length; old++) {
      if (values[old] === 0) continue;
      const slot = this.#slotOf(positions[old]);
      this.#positions[slot] = positions[old];
      this.#values[slot] = values[old];
    }
  }

  /** The slot of a position, or the free one where it belongs. */
  #slotOf(position: number): number {
    const positions = this.#positions;
    const values = this.#values;
    const mask = values.length - 1;
    let slot = homeOf(position, mask);
    while (values[slot] !== 0 && positions[slot] !== position) slot = (slot + 1) & mask;
    return slot;
  }
}

const LEAST_SLOTS = 8;
/** The arrays of all empty tables: one slot, which stays free. */
const NO_POSITIONS = /* @__PURE__ */ new Float64Array(1);
const NO_VALUES = /* @__PURE__ */ new Int32Array(1);

/** The slot at which the search for a position begins. */
function homeOf(position: number, mask: number): number {
  // The upper bits of a product depend on all bits of its factors.
  const mixed = Math.imul(position | 0, 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) & mask;
}
