/**
 * The packets that were seen lately, in memory of a fixed size: for each digest the first TTL, the
 * lowest one, and how many different ones came.
 *
 * Two tables with open addressing, 16 bytes per slot. New packets go into the younger one. When it
 * is three quarters full, or when it has grown older than the window, the older one is emptied and
 * becomes the younger. A packet that is found in the older one moves to the younger, so a packet
 * that goes on looping is never forgotten.
 *
 * What can be missed: a packet whose next sighting comes after more than `window` seconds, or after
 * more other packets than the younger table holds (786,432 in the default 32 MiB). `rememberedS`
 * tells the shortest time that a full table covered.
 *
 * We refused a rotating Bloom filter of (digest, TTL) pairs. It cannot tell the first TTL, only
 * whether a given one was there, so each packet would ask for up to 254 higher ones. And its false
 * positives would be false alarms; here two packets are confused with probability 2^-64 per pair.
 */

/** Bytes of a slot in both generations together. */
const SLOT_BYTES = 32;
const LEAST_SLOTS = 1024;
/** The most TTLs that are counted. */
export const MOST_LEVELS = 127;
const LOOPING = 128;

/** The digest of an empty slot; a packet with this digest is stored under another one. */
const EMPTY = 0;

class Generation {
  readonly low: Int32Array;
  readonly high: Int32Array;
  readonly link: Int32Array;
  readonly first: Uint8Array;
  readonly lowest: Uint8Array;
  readonly turn: Uint8Array;
  /** The number of different TTLs, plus `LOOPING` if the packet is known to loop. */
  readonly levels: Uint8Array;
  used = 0;

  constructor(slots: number) {
    this.low = new Int32Array(slots);
    this.high = new Int32Array(slots);
    this.link = new Int32Array(slots);
    this.first = new Uint8Array(slots);
    this.lowest = new Uint8Array(slots);
    this.turn = new Uint8Array(slots);
    this.levels = new Uint8Array(slots);
  }

  empty(): void {
    if (this.used > 0) {
      this.low.fill(EMPTY);
      this.high.fill(EMPTY);
    }
    this.used = 0;
  }

  /** The slot of a digest: its own, or the empty one where it would go. */
  find(low: number, high: number): number {
    const mask = this.low.length - 1;
    let slot = low & mask;
    while ((this.low[slot] | this.high[slot]) !== EMPTY) {
      if (this.low[slot] === low && this.high[slot] === high) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  holds(slot: number): boolean {
    return (this.low[slot] | this.high[slot]) !== EMPTY;
  }
}

export class SightingTable {
  /** Packets that the table remembers at least, when it is full. */
  readonly capacity: number;
  readonly #window: number;
  #young: Generation;
  #old: Generation;
  #since = Number.NaN;
  #rememberedS = Number.POSITIVE_INFINITY;

  constructor(memoryBytes: number, windowS: number) {
    const slots = 2 ** Math.floor(Math.log2(memoryBytes / SLOT_BYTES));
    if (!(slots >= LEAST_SLOTS && windowS > 0)) {
      throw new RangeError(
        `Cannot make a table of sightings: expected at least ${LEAST_SLOTS * SLOT_BYTES} bytes and a window above 0, got ${memoryBytes} bytes and ${windowS} s`,
      );
    }
    this.capacity = 0.75 * slots;
    this.#window = windowS;
    this.#young = new Generation(slots);
    this.#old = new Generation(slots);
  }

  /** The shortest time that the table covered because it was full; infinite if it never was. */
  get rememberedS(): number {
    return this.#rememberedS;
  }

  /**
   * Records a packet, and returns its slot for the questions below. The slot is valid until the
   * next call. `link` stands for the link header: packets in the other direction have another one.
   */
  see(low: number, high: number, ttl: number, link: number, timeS: number): number {
    this.#keepTime(timeS);
    // The digest 0 means an empty slot.
    const own = (low | high) === EMPTY ? 1 : low;
    const young = this.#young;
    const slot = young.find(own, high);
    if (!young.holds(slot)) {
      const former = this.#old.find(own, high);
      young.low[slot] = own;
      young.high[slot] = high;
      young.used++;
      if (this.#old.holds(former)) this.#move(former, slot);
      else {
        young.first[slot] = ttl;
        young.lowest[slot] = ttl;
        young.turn[slot] = ttl;
        young.link[slot] = link;
        young.levels[slot] = 1;
        return slot;
      }
    }
    if (ttl < young.lowest[slot]) {
      young.lowest[slot] = ttl;
      if ((young.levels[slot] & MOST_LEVELS) < MOST_LEVELS) young.levels[slot]++;
    }
    return slot;
  }

  /** The TTL at the first sighting. */
  firstTtl(slot: number): number {
    return this.#young.first[slot];
  }

  /** The number of different TTLs so far, each lower than all before. */
  levels(slot: number): number {
    return this.#young.levels[slot] & MOST_LEVELS;
  }

  /** The drop of the TTL since the last sighting in the direction of the first one, or 0. */
  dropOfTurn(slot: number, ttl: number, link: number): number {
    const young = this.#young;
    if (young.link[slot] !== link || ttl >= young.turn[slot]) return 0;
    const drop = young.turn[slot] - ttl;
    young.turn[slot] = ttl;
    return drop;
  }

  /** Marks a packet as looping. Returns true if it was not marked before. */
  markLooping(slot: number): boolean {
    const isNew = this.#young.levels[slot] < LOOPING;
    this.#young.levels[slot] |= LOOPING;
    return isNew;
  }

  #move(from: number, to: number): void {
    const [old, young] = [this.#old, this.#young];
    young.first[to] = old.first[from];
    young.lowest[to] = old.lowest[from];
    young.turn[to] = old.turn[from];
    young.link[to] = old.link[from];
    young.levels[to] = old.levels[from];
  }

  /** Exchanges the generations if it is time to. Captures can be merged, and time can go back. */
  #keepTime(timeS: number): void {
    const age = Math.abs(timeS - this.#since);
    const isFull = this.#young.used >= this.capacity;
    if (!(isFull || age > this.#window || Number.isNaN(age))) return;
    if (isFull) this.#rememberedS = Math.min(this.#rememberedS, age);
    const emptied = this.#old;
    emptied.empty();
    this.#old = this.#young;
    this.#young = emptied;
    // A gap of more than two windows leaves nothing that is young enough.
    if (age > 2 * this.#window) this.#old.empty();
    this.#since = timeS;
  }
}
