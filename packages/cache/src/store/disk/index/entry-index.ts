/**
 * The index of stored entries, in typed arrays: 44 bytes per entry and no object. A million entries
 * are 44 MB that the garbage collector never scans, and a snapshot is a copy of columns.
 *
 * A slot is one entry: its number (`ids`, unique in the lifetime of a folder and kept when its
 * record moves), the 64-bit hash of its key, the position of its record (pack, offset, bytes), its
 * body file (0: the body is in the record), and the time of its last use. Entries in the same
 * bucket are linked by `next`; several variants of one key are simply several entries with one
 * hash. The key itself is only in the record: a look-up reads the record and compares the keys. Two
 * keys with the same hash are thus never confused; they only cost one more read.
 *
 * Slots do not move while they are in use, because a snapshot walks over them while entries are
 * added and removed (index-journal.ts).
 *
 * Eviction order: the least recently used of a few slots chosen at random. With 16, the expected
 * victim is among the oldest 6 % (the least of 16 uniform draws lies at 1/17). It needs four bytes
 * per entry and no list, and a hit costs only one store. Up to 64 slots, all are examined, so small
 * stores have exact order. If so few of many slots are in use that the draw finds none, the used
 * ones are collected in one scan and drawn from. We refused a linked list (8 bytes per entry, and
 * two cache misses per hit).
 */

const FREE = 0;
const NONE = 0xffffffff;
const SAMPLES = 16;
const SMALL = 64;

export interface Entry {
  readonly id: number;
  readonly low: number;
  readonly high: number;
  readonly pack: number;
  readonly offset: number;
  readonly recordBytes: number;
  /** Number of the body file, or 0 if there is none. */
  readonly body: number;
  readonly recency: number;
}

export class EntryIndex {
  /** Number of entries. */
  count = 0;
  /** All slots in use are below this. */
  bound = 0;
  ids = new Float64Array(64);
  low = new Uint32Array(64);
  high = new Uint32Array(64);
  pack = new Uint32Array(64);
  offset = new Uint32Array(64);
  recordBytes = new Uint32Array(64);
  body = new Uint32Array(64);
  recency = new Uint32Array(64);
  #next = new Uint32Array(64);
  #buckets = new Uint32Array(64).fill(NONE);
  #free = NONE;
  #clock = 0;
  #random = 0x9e3779b9;

  /** The first slot with this hash, or -1 if there is none. */
  first(low: number, high: number): number {
    return this.#match(this.#buckets[low & (this.#buckets.length - 1)], low, high);
  }

  /** The next slot with the same hash, or -1 if there is none. */
  following(slot: number): number {
    return this.#match(this.#next[slot], this.low[slot], this.high[slot]);
  }

  /** The slot of an entry, or -1 if it is not stored. */
  find(id: number, low: number, high: number): number {
    let slot = this.first(low, high);
    while (slot >= 0 && this.ids[slot] !== id) slot = this.following(slot);
    return slot;
  }

  /**
   * Reserves room for `count` entries at once; growing step by step would link all of them again
   * each time.
   */
  reserve(count: number): void {
    while (this.ids.length < count) this.#grow();
  }

  /**
   * Adds an entry, or changes the one with the same number, which is in slot `known`. Returns its
   * slot.
   */
  put(entry: Entry, known = this.find(entry.id, entry.low, entry.high)): number {
    let slot = known;
    if (slot < 0) {
      slot = this.#take();
      this.ids[slot] = entry.id;
      this.low[slot] = entry.low;
      this.high[slot] = entry.high;
      this.#link(slot);
      this.count++;
    }
    this.pack[slot] = entry.pack;
    this.offset[slot] = entry.offset;
    this.recordBytes[slot] = entry.recordBytes;
    this.body[slot] = entry.body;
    this.recency[slot] = entry.recency;
    if (entry.recency > this.#clock) this.#clock = entry.recency;
    return slot;
  }

  delete(slot: number): void {
    const bucket = this.low[slot] & (this.#buckets.length - 1);
    let at = this.#buckets[bucket];
    if (at === slot) this.#buckets[bucket] = this.#next[slot];
    else {
      while (this.#next[at] !== slot) at = this.#next[at];
      this.#next[at] = this.#next[slot];
    }
    this.ids[slot] = FREE;
    this.#next[slot] = this.#free;
    this.#free = slot;
    this.count--;
  }

  used(slot: number): boolean {
    return this.ids[slot] !== FREE;
  }

  /** A time stamp for an entry that is used now. */
  tick(): number {
    if (this.#clock === NONE) this.#halve();
    return ++this.#clock;
  }

  touch(slot: number): void {
    this.recency[slot] = this.tick();
  }

  /**
   * The slots to evict, one after the other, each once. No entry may be added or removed during the
   * iteration.
   */
  *victims(): Generator<number> {
    const given = new Set<number>();
    while (this.bound > SMALL) {
      const slot = this.#sample(given);
      if (slot < 0) break;
      given.add(slot);
      yield slot;
    }
    // There are few slots, or nearly all are free and the draw found none: the rest is collected
    // once, and drawn from.
    const rest: number[] = [];
    for (let slot = 0; slot < this.bound; slot++) if (this.used(slot) && !given.has(slot)) rest.push(slot);
    while (rest.length > 0) {
      const at = this.#oldestAmong(rest);
      const slot = rest[at];
      rest[at] = rest[rest.length - 1];
      rest.pop();
      yield slot;
    }
  }

  clear(): void {
    this.count = this.bound = 0;
    this.#free = NONE;
    this.#buckets.fill(NONE);
    this.ids.fill(FREE);
  }

  /** Memory of the index in bytes. */
  get memoryBytes(): number {
    return this.ids.length * 40 + this.#buckets.length * 4;
  }

  /**
   * The least recently used of some slots chosen at random, or -1 if all of them are free or
   * spared.
   */
  #sample(spared: ReadonlySet<number>): number {
    let best = -1;
    for (let i = 0; i < SAMPLES; i++) {
      const slot = this.#draw() % this.bound;
      if (!this.used(slot) || spared.has(slot)) continue;
      if (best < 0 || this.recency[slot] < this.recency[best]) best = slot;
    }
    return best;
  }

  /** The same for a list. Returns the position in it. */
  #oldestAmong(slots: readonly number[]): number {
    let best = 0;
    const all = slots.length <= SMALL;
    for (let i = 0; i < (all ? slots.length : SAMPLES); i++) {
      const at = all ? i : this.#draw() % slots.length;
      if (this.recency[slots[at]] < this.recency[slots[best]]) best = at;
    }
    return best;
  }

  #match(slot: number, low: number, high: number): number {
    while (slot !== NONE && (this.low[slot] !== low || this.high[slot] !== high)) slot = this.#next[slot];
    return slot === NONE ? -1 : slot;
  }

  #link(slot: number): void {
    const bucket = this.low[slot] & (this.#buckets.length - 1);
    this.#next[slot] = this.#buckets[bucket];
    this.#buckets[bucket] = slot;
  }

  #take(): number {
    if (this.#free !== NONE) {
      const slot = this.#free;
      this.#free = this.#next[slot];
      return slot;
    }
    if (this.bound === this.ids.length) this.#grow();
    return this.bound++;
  }

  #grow(): void {
    const size = this.ids.length * 2;
    const ids = new Float64Array(size);
    ids.set(this.ids);
    this.ids = ids;
    this.low = larger(this.low, size);
    this.high = larger(this.high, size);
    this.pack = larger(this.pack, size);
    this.offset = larger(this.offset, size);
    this.recordBytes = larger(this.recordBytes, size);
    this.body = larger(this.body, size);
    this.recency = larger(this.recency, size);
    this.#next = larger(this.#next, size);
    // It grows only when no slot is free (or none was ever used), so all slots below `bound` are
    // linked again.
    this.#buckets = new Uint32Array(size).fill(NONE);
    for (let slot = 0; slot < this.bound; slot++) this.#link(slot);
  }

  /** After four billion uses the time stamps are used up: all are halved, and their order stays. */
  #halve(): void {
    for (let slot = 0; slot < this.bound; slot++) this.recency[slot] >>>= 1;
    this.#clock >>>= 1;
  }

  /** Xorshift, after Marsaglia: the choice of entries need not be secret, only evenly spread. */
  #draw(): number {
    let x = this.#random;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#random = x;
    return x >>> 0;
  }
}

function larger(column: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const wide = new Uint32Array(size);
  wide.set(column);
  return wide;
}
