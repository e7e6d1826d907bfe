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

/** Words of a slot: the two of the digest, the hash of the link header, and four bytes. */
const SLOT_WORDS = 4;
/** The four bytes, counted from the start of the slot. */
const FIRST = 12;
const LOWEST = 13;
const TURN = 14;
/** The number of different TTLs, plus `LOOPING` if the packet is known to loop. */
const LEVELS = 15;

/**
 * Packets up to which a table is emptied one by one. A capture whose clock jumps empties it again
 * and again, and a sender can write such a capture.
 */
const FEW = 4096;
/** Packets in a row with an earlier time after which the time of the table follows them. */
const BACK = 1024;

/**
 * A slot is 16 bytes in one piece. With a column for each property, a new packet touched seven
 * lines of the processor's cache, and the detector took 1.4 times as long.
 */
class Generation {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
  readonly #mask: number;
  /** Slots of the first packets. */
  readonly #few = new Float64Array(FEW);
  used = 0;

  constructor(slots: number) {
    this.words = new Int32Array(SLOT_WORDS * slots);
    this.bytes = new Uint8Array(this.words.buffer);
    this.#mask = slots - 1;
  }

  /** Notes that a slot was taken. */
  take(slot: number): void {
    if (this.used < FEW) this.#few[this.used] = slot;
    this.used++;
  }

  /** Forgets all packets. A table with few of them is not written as a whole. */
  empty(): void {
    if (this.used > FEW) this.words.fill(EMPTY);
    else
      for (let i = 0; i < this.used; i++)
        this.words.fill(EMPTY, this.#few[i] >> 2, (this.#few[i] >> 2) + SLOT_WORDS);
    this.used = 0;
  }

  /** The slot of a digest, as its first byte: its own, or the empty one where it would go. */
  find(low: number, high: number): number {
    const { words } = this;
    let slot = low & this.#mask;
    for (;;) {
      const word = SLOT_WORDS * slot;
      if (words[word] === low && words[word + 1] === high) break;
      if ((words[word] | words[word + 1]) === EMPTY) break;
      slot = (slot + 1) & this.#mask;
    }
    return 4 * SLOT_WORDS * slot;
  }

  /** Reads the first slots of digests. The sum keeps the compiler from leaving the reads out. */
  touch(digests: Int32Array, from: number, to: number): number {
    const { words } = this;
    const mask = this.#mask;
    let sum = 0;
    for (let i = from; i < to; i++) sum += words[SLOT_WORDS * (digests[2 * i] & mask)];
    return sum;
  }

  holds(slot: number): boolean {
    const word = slot >> 2;
    return (this.words[word] | this.words[word + 1]) !== EMPTY;
  }
}

export class SightingTable {
  /** Packets that the table remembers at least, when it is full. */
  readonly capacity: number;
  /** Sum of the words that `prefetch` read; it has no meaning. */
  touched = 0;
  readonly #window: number;
  #young: Generation;
  #old: Generation;
  #since = Number.NaN;
  /** Packets in a row that were earlier than the window. */
  #back = 0;
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
   * Fetches the memory for packets that are about to be seen: digests `from` to `to`, two words
   * each. A slot is a random place in 32 MiB. When a loop only reads, the processor waits for many
   * of them at the same time; `see` alone would wait for one after the other.
   */
  prefetch(digests: Int32Array, from: number, to: number): void {
    this.touched = this.#young.touch(digests, from, to);
    if (this.#old.used > 0) this.touched += this.#old.touch(digests, from, to);
  }

  /**
   * Records a packet, and returns its slot for the questions below. The slot is valid until the
   * next call. `link` stands for the link header: packets in the other direction have another one.
   */
  see(low: number, high: number, ttl: number, link: number, timeS: number): number {
    this.#keepTime(timeS);
    // The digest 0 means an empty slot.
    const own = (low | high) === EMPTY ? 1 : low;
    const { words, bytes } = this.#young;
    const slot = this.#young.find(own, high);
    if (!this.#young.holds(slot)) {
      const word = slot >> 2;
      words[word] = own;
      words[word + 1] = high;
      this.#young.take(slot);
      if (!this.#recall(own, high, word)) {
        words[word + 2] = link;
        bytes[slot + FIRST] = ttl;
        bytes[slot + LOWEST] = ttl;
        bytes[slot + TURN] = ttl;
        bytes[slot + LEVELS] = 1;
        return slot;
      }
    }
    if (ttl < bytes[slot + LOWEST]) {
      bytes[slot + LOWEST] = ttl;
      if ((bytes[slot + LEVELS] & MOST_LEVELS) < MOST_LEVELS) bytes[slot + LEVELS]++;
    }
    return slot;
  }

  /** The TTL at the first sighting. */
  firstTtl(slot: number): number {
    return this.#young.bytes[slot + FIRST];
  }

  /** The number of different TTLs so far, each lower than all before. */
  levels(slot: number): number {
    return this.#young.bytes[slot + LEVELS] & MOST_LEVELS;
  }

  /** The drop of the TTL since the last sighting in the direction of the first one, or 0. */
  dropOfTurn(slot: number, ttl: number, link: number): number {
    const { words, bytes } = this.#young;
    if (words[(slot >> 2) + 2] !== link || ttl >= bytes[slot + TURN]) return 0;
    const drop = bytes[slot + TURN] - ttl;
    bytes[slot + TURN] = ttl;
    return drop;
  }

  /** Marks a packet as looping. Returns true if it was not marked before. */
  markLooping(slot: number): boolean {
    const { bytes } = this.#young;
    const isNew = bytes[slot + LEVELS] < LOOPING;
    bytes[slot + LEVELS] |= LOOPING;
    return isNew;
  }

  /** Copies a packet from the older generation to a word of the younger. False if it has none. */
  #recall(low: number, high: number, to: number): boolean {
    const old = this.#old;
    if (old.used === 0) return false;
    const slot = old.find(low, high);
    if (!old.holds(slot)) return false;
    this.#young.words[to + 2] = old.words[(slot >> 2) + 2];
    this.#young.words[to + 3] = old.words[(slot >> 2) + 3];
    return true;
  }

  /**
   * Exchanges the generations if it is time to. Time can go back. If the clocks of two interfaces
   * differ, it goes back with every second packet, and the later clock counts. If a second, earlier
   * capture follows the first, the time stays back, and after `BACK` packets the table follows it.
   */
  #keepTime(timeS: number): void {
    const isBack = timeS < this.#since - this.#window;
    this.#back = isBack ? this.#back + 1 : 0;
    const age = Math.abs(timeS - this.#since);
    const isFull = this.#young.used >= this.capacity;
    const isOver = isBack ? this.#back >= BACK : age > this.#window;
    if (!(isFull || isOver || Number.isNaN(age))) return;
    if (isFull && !isBack) this.#rememberedS = Math.min(this.#rememberedS, age);
    const emptied = this.#old;
    emptied.empty();
    this.#old = this.#young;
    this.#young = emptied;
    // A gap of more than two windows leaves nothing that is young enough.
    if (isOver && age > 2 * this.#window) this.#old.empty();
    // A full table is exchanged early, by a packet of any clock; the time does not follow it.
    if (isOver || !isBack) this.#since = timeS;
  }
}
