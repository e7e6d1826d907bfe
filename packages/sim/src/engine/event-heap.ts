/**
 * The events that wait, ordered by time, and by the order in which they were added if their times
 * are equal. Nothing is allocated for an event except the closure of its caller: the fields lie in
 * typed arrays, and the slots of events that are over are used again.
 *
 * Why this variant. A heap of four children per node is half as deep as a binary one, and the keys
 * of the four lie side by side, so a step down reads one cache line. Times and orders move within
 * the heap itself; the other fields stay in the slab. `npm --prefix bench run bench:engine`
 * measures it. A calendar queue would be faster for equal spacings, and slower for timeouts of ten
 * seconds beside deliveries of one millisecond, which is what systems set.
 *
 * Orders are 64-bit floats. A 32-bit counter would wrap after 4.3 billion events, about 40 minutes
 * of a fast run, and then change the order of ties without an error.
 *
 * Cancelling marks the slot and leaves its key where it is. When more than half of the keys are
 * marked, the heap is rebuilt without them. So a cancellation costs O(1) amortised, and timeouts
 * that are always cancelled do not fill the memory.
 *
 * A batch is several events of one time that follow each other, such as the deliveries of one
 * message to 99 nodes. It takes one key and one slot. The heap hands its events out one by one, as
 * if each had been added by itself: an event of the same time that is added meanwhile has a later
 * order, so none comes in between.
 */

export type Run = () => void;

export interface EventBatch {
  readonly length: number;
  ownerOf(index: number): number;
  /** True if the event does not run any more. The heap asks when its turn has come. */
  isCancelled(index: number): boolean;
  run(index: number): void;
}

const FIRST_CAPACITY = 1024;
const SMALLEST_REBUILD = 64;
const FREE = -1;
/** The owner of a batch in the slab: no node has this number. */
const MANY = 2 ** 32 - 1;

export class EventHeap {
  /** Fields of the event that `pop` took out. */
  timeMs = 0;
  owner = 0;
  kind = 0;
  #taken: Run | EventBatch = nothing;
  #takenIndex = 0;

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
  readonly #runs: (Run | EventBatch | undefined)[] = [];
  /** The next event of a batch. */
  #cursors = new Uint32Array(FIRST_CAPACITY);
  /** Events of batches that wait, beyond the first of each. */
  #inBatches = 0;
  readonly #freeSlots: number[] = [];

  /** Events that wait, without the cancelled ones. Those of a batch count until their turn. */
  get size(): number {
    return this.#size - this.#cancelled + this.#inBatches;
  }

  /** Adds an event. Returns its slot, which together with `orderOf` names it for `cancel`. */
  push(timeMs: number, owner: number, kind: number, run: Run | EventBatch): number {
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

  /** Adds the events of a batch, which must not change. */
  pushBatch(timeMs: number, kind: number, batch: EventBatch): void {
    if (batch.length === 0) return;
    this.#cursors[this.push(timeMs, MANY, kind, batch)] = 0;
    this.#inBatches += batch.length - 1;
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

  /**
   * Cancels all events of an owner. It takes time proportional to the number of all events that
   * wait.
   */
  cancelOwner(owner: number): void {
    for (let slot = 0; slot < this.#runs.length; slot++)
      if (this.#stamps[slot] !== FREE && this.#owners[slot] === owner) this.cancel(slot, this.#stamps[slot]);
  }

  /** The time of the next event, or Infinity if none waits. */
  nextMs(): number {
    while (this.#size > 0) {
      const slot = this.#slots[0];
      const run = this.#runs[slot];
      if (typeof run === 'function') return this.#times[0];
      if (run === undefined) {
        this.#cancelled--;
        this.#release(slot);
        this.#removeFirst();
      } else if (run.isCancelled(this.#cursors[slot])) this.#advance(slot, run);
      else return this.#times[0];
    }
    return Infinity;
  }

  /** Takes the next event out, into the fields of this object. `nextMs` has just found one. */
  pop(): void {
    const slot = this.#slots[0];
    const run = this.#runs[slot] ?? nothing;
    this.timeMs = this.#times[0];
    this.kind = this.#kinds[slot];
    this.#taken = run;
    if (typeof run === 'function') {
      this.owner = this.#owners[slot];
      this.#release(slot);
      this.#removeFirst();
    } else {
      this.#takenIndex = this.#cursors[slot];
      this.owner = run.ownerOf(this.#takenIndex);
      this.#advance(slot, run);
    }
  }

  /** Runs the event that was taken out. */
  run(): void {
    const run = this.#taken;
    if (typeof run === 'function') run();
    else run.run(this.#takenIndex);
  }

  /** Goes on to the next event of the batch that is first. */
  #advance(slot: number, batch: EventBatch): void {
    if (++this.#cursors[slot] < batch.length) {
      this.#inBatches--;
      return;
    }
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
    this.#cursors = copyInto(new Uint32Array(capacity), this.#cursors);
    this.#kinds = copyInto(new Uint8Array(capacity), this.#kinds);
  }
}

function nothing(): void {}

function copyInto<A extends Float64Array | Uint32Array | Uint8Array>(into: A, from: A): A {
  into.set(from);
  return into;
}
