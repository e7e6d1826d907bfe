/**
 * Decides which objects of this node should have a second holder. With single copies, each object
 * is at the node that fetched it first, and the node that happens to hold the most popular one
 * answers for the whole fleet: at 64 nodes and Zipf's law with exponent 0.8, the first of a million
 * objects alone is nearly as much work as all other questions of a node together. So the holder
 * marks its answer (`Bloomery-Keep`), and the asker stores the object as its own and publishes it.
 * The next askers find two holders.
 *
 * An object is marked if both are true of the last 1,024 exchanges with neighbours:
 *
 * - this node gave more objects than it took, so it does more than its share;
 * - eight or more of them were this object.
 *
 * So it ends by itself: when several nodes hold the object, each gives it less often. At most 127
 * objects of a node can be hot at a time, which is little compared with the thousands that it
 * holds.
 *
 * Refused: a copy by chance (one answer in ten), as groupcache does it. It copies unpopular objects
 * as well, which costs room for single ones. Refused: telling the load of each node to the others,
 * because a node's own balance of given and taken objects says the same without a message.
 *
 * The names of the last 1,024 objects are held: 100 kB for names of 100 bytes.
 */

/** Exchanges that are looked at. */
const WINDOW = 1024;
/** Times that a hot object was given within them. */
const HOT_FROM = 8;

export class HotObjects<Key> {
  /** The objects that were given; null for an object that was taken. */
  readonly #exchanges: (Key | null)[] = [];
  readonly #times = new Map<Key, number>();
  #given = 0;
  #next = 0;

  /** This node got an object from a neighbour. */
  took(): void {
    this.#note(null);
  }

  /** This node gives an object to a neighbour. Returns whether that one should keep it. */
  gave(key: Key): boolean {
    this.#note(key);
    const isFull = this.#exchanges.length === WINDOW;
    return isFull && 2 * this.#given > WINDOW && this.#times.get(key)! >= HOT_FROM;
  }

  #note(key: Key | null): void {
    const oldest = this.#exchanges[this.#next] ?? null;
    if (oldest !== null) {
      this.#given--;
      const times = this.#times.get(oldest)! - 1;
      if (times === 0) this.#times.delete(oldest);
      else this.#times.set(oldest, times);
    }
    this.#exchanges[this.#next] = key;
    this.#next = (this.#next + 1) % WINDOW;
    if (key === null) return;
    this.#given++;
    this.#times.set(key, (this.#times.get(key) ?? 0) + 1);
  }
}
