/**
 * The events that wait, ordered by time, and by the order in which they were added if their times
 * are equal. Nothing is allocated for an event except the closure of its caller: the fields lie in
 * typed arrays, and the slots of events that are over are used again.
 *
 * Why this variant. A heap of four children per node is half as deep as a binary one, and its keys
 * lie beside each other, so a step down reads one cache line. Times and orders move within the heap
 * itself; the other fields stay in the slab. `npm --prefix bench run bench:engine` measures it.
 * A calendar queue would be faster for equal spacings, and slower for timeouts of ten seconds
 * beside deliveries of one millisecond, which is what systems set.
 *
 * Orders are 64-bit floats. A 32-bit counter would wrap after 4.3 billion events, about 40 minutes
 * of a fast run, and then change the order of ties without an error.
 *
 * Cancelling marks the slot and leaves its key where it is. When more than half of the keys are
 * marked, the heap is rebuilt without them. So a cancellation costs O(1) amortised, and timeouts
 * that are always cancelled do not fill the memory.
 */

export type Run = () => void;

const FIRST_CAPACITY = 1024;
const SMALLEST_REBUILD = 64;
const FREE = -1;

export class EventHeap {
  /** Fields of the event that `pop` took out. */
  timeMs = 0;
  owner = 0;
  kind = 0;
  run: Run = nothing;

  #times = new Float64Array(FIRST_CAPACITY);
  #orders = new Float64Array(FIRST_CAPACITY);
  #slots = new Uint32Array(FIRST_CAPACITY);
  #size = 0;
  #nextOrder = 0;
  #cancelled = 0;

  /**
   * Slab: the order of the event in a slot, or FREE. A cancelled event keeps its slot and loses its
   * run.
   */
  #stamps = new Float64Array(FIRST_CAPACITY).fill(FREE);
  #owners = new Uint32Array(FIRST_CAPACITY);
  #kinds = new Uint8Array(FIRST_CAPACITY);
  readonly #runs: (Run | undefined)[] = [];
  readonly #freeSlots: number[] = [];

  /** Events that wait, without the cancelled ones. */
  get size(): number {
    return this.#size - this.#cancelled;
  }

  /** Adds an event. Returns its slot, which together with `orderOf` names it for `cancel`. */
  push(timeMs: number, owner: number, kind: number, run: Run): number {
    const slot = this.#freeSlots.pop() ?? this.#runs.length;
    const order = this.#nextOrder++;
    if (this.#size === this.#times.length || slot >= this.#stamps.length) this.#grow();
    this.#stamps[slot] = order;
    this.#owners[slot] = owner;
    this.#kinds[slot] = kind;
    this.#runs[slot] = run;
    this.#up(this.#size++, timeMs, order, slot);
    return slot;
  }

  orderOf(slot: number): number {
    return this.#stamps[slot];
  }

  /** Cancels an event, unless it has been taken out or cancelled before. */
  cancel(slot: number, order: number): void {
    if (this.#stamps[slot] !== order || this.#runs[slot] === undefined) return;
    this.#runs[slot] = undefined;
    this.#cancelled++;
    if (this.#cancelled > SMALLEST_REBUILD && 2 * this.#cancelled > this.#size) this.#rebuild();
  }

  /** Cancels all events of an owner, in time for all events that wait. */
  cancelOwner(owner: number): void {
    for (let slot = 0; slot < this.#runs.length; slot++)
      if (this.#stamps[slot] !== FREE && this.#owners[slot] === owner) this.cancel(slot, this.#stamps[slot]);
  }

  /** The time of the next event, or Infinity if none waits. */
  nextMs(): number {
    while (this.#size > 0 && this.#runs[this.#slots[0]] === undefined) {
      this.#cancelled--;
      this.#release(this.#slots[0]);
      this.#removeFirst();
    }
    return this.#size > 0 ? this.#times[0] : Infinity;
  }

  /** Takes the next event out, into the fields of this object. `nextMs` has just found one. */
  pop(): void {
    const slot = this.#slots[0];
    this.timeMs = this.#times[0];
    this.owner = this.#owners[slot];
    this.kind = this.#kinds[slot];
    this.run = this.#runs[slot] ?? nothing;
    this.#release(slot);
    this.#removeFirst();
  }

  #release(slot: number): void {
    this.#stamps[slot] = FREE;
    this.#runs[slot] = undefined;
    this.#freeSlots.push(slot);
  }

  #removeFirst(): void {
    const last = --this.#size;
    if (last > 0) this.#down(0, this.#times[last], this.#orders[last], this.#slots[last]);
  }

  /** Puts a key into the heap at `at` or above. */
  #up(at: number, timeMs: number, order: number, slot: number): void {
    const [times, orders, slots] = [this.#times, this.#orders, this.#slots];
    while (at > 0) {
      const parent = (at - 1) >> 2;
      const parentMs = times[parent];
      if (parentMs < timeMs || (parentMs === timeMs && orders[parent] < order)) break;
      times[at] = parentMs;
      orders[at] = orders[parent];
      slots[at] = slots[parent];
      at = parent;
    }
    times[at] = timeMs;
    orders[at] = order;
    slots[at] = slot;
  }

  /** Puts a key into the heap at `at` or below. */
  #down(at: number, timeMs: number, order: number, slot: number): void {
    const [times, orders, slots, size] = [this.#times, this.#orders, this.#slots, this.#size];
    for (;;) {
      const first = 4 * at + 1;
      if (first >= size) break;
      let least = first;
      let leastMs = times[first];
      const end = Math.min(first + 4, size);
      for (let child = first + 1; child < end; child++) {
        const childMs = times[child];
        if (childMs < leastMs || (childMs === leastMs && orders[child] < orders[least])) {
          least = child;
          leastMs = childMs;
        }
      }
      if (timeMs < leastMs || (timeMs === leastMs && order < orders[least])) break;
      times[at] = leastMs;
      orders[at] = orders[least];
      slots[at] = slots[least];
      at = least;
    }
    times[at] = timeMs;
    orders[at] = order;
    slots[at] = slot;
  }

  /** Takes the cancelled keys out, and orders the others again. */
  #rebuild(): void {
    let kept = 0;
    for (let at = 0; at < this.#size; at++) {
      const slot = this.#slots[at];
      if (this.#runs[slot] === undefined) {
        this.#release(slot);
        continue;
      }
      this.#times[kept] = this.#times[at];
      this.#orders[kept] = this.#orders[at];
      this.#slots[kept++] = slot;
    }
    this.#size = kept;
    this.#cancelled = 0;
    for (let at = (kept - 2) >> 2; at >= 0; at--)
      this.#down(at, this.#times[at], this.#orders[at], this.#slots[at]);
  }

  #grow(): void {
    const capacity = 2 * this.#times.length;
    this.#times = copyInto(new Float64Array(capacity), this.#times);
    this.#orders = copyInto(new Float64Array(capacity), this.#orders);
    this.#slots = copyInto(new Uint32Array(capacity), this.#slots);
    this.#stamps = copyInto(new Float64Array(capacity).fill(FREE), this.#stamps);
    this.#owners = copyInto(new Uint32Array(capacity), this.#owners);
    this.#kinds = copyInto(new Uint8Array(capacity), this.#kinds);
  }
}

function nothing(): void {}

function copyInto<A extends Float64Array | Uint32Array | Uint8Array>(into: A, from: A): A {
  into.set(from);
  return into;
}
