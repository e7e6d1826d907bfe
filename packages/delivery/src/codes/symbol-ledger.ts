/**
 * The ids that a receiver has, without their bytes: symbols that it holds, and recoded symbols that
 * wait. A recoded symbol is the XOR of several symbols, its constituents. Constituents that are
 * held are taken out, and one that remains alone is a symbol by itself (the substitution rule of
 * Byers, Considine, Mitzenmacher and Rost 2002). The decoder and the simulation share this class,
 * so they count alike.
 */

export interface LedgerEvents {
  /** The symbol in slot `source` is to be added to the one in slot `target`. */
  sum(target: number, source: number): void;
  /** The slot holds the sum of nothing, because all its constituents were known. */
  freed(slot: number): void;
}

/** The effect of a symbol: one or more are known now, it waits, or it says nothing new. */
export type Reception = 'new' | 'waiting' | 'redundant';

interface Blend {
  readonly slot: number;
  readonly unknown: Set<number>;
}

export class SymbolLedger {
  readonly #slots = new Map<number, number>();
  readonly #waiting = new Map<number, Set<Blend>>();
  readonly #blends = new Set<Blend>();
  readonly #events: LedgerEvents;

  constructor(events: LedgerEvents) {
    this.#events = events;
  }

  /** Number of symbols that are held. */
  get size(): number {
    return this.#slots.size;
  }

  /** Number of recoded symbols that wait. */
  get waiting(): number {
    return this.#blends.size;
  }

  has(id: number): boolean {
    return this.#slots.has(id);
  }

  slotOf(id: number): number | undefined {
    return this.#slots.get(id);
  }

  /** Ids and slots of the symbols that are held. */
  entries(): IterableIterator<[id: number, slot: number]> {
    return this.#slots.entries();
  }

  /** Slots of the recoded symbols that wait, with their unknown constituents. */
  blends(): Iterable<{ readonly slot: number; readonly unknown: ReadonlySet<number> }> {
    return this.#blends;
  }

  /** Takes in the XOR of the symbols `ids`, all different, whose bytes are in `slot`. */
  receive(ids: readonly number[], slot: number): Reception {
    const unknown = new Set<number>();
    for (const id of ids) {
      const held = this.#slots.get(id);
      if (held === undefined) unknown.add(id);
      else this.#events.sum(slot, held);
    }
    if (unknown.size === 0) {
      this.#events.freed(slot);
      return 'redundant';
    }
    const blend = { slot, unknown };
    if (unknown.size === 1) {
      this.#settle(blend);
      return 'new';
    }
    this.#blends.add(blend);
    for (const id of unknown) {
      const others = this.#waiting.get(id);
      if (others === undefined) this.#waiting.set(id, new Set([blend]));
      else others.add(blend);
    }
    return 'waiting';
  }

  /** Takes in a symbol, and those that become known by it. */
  #settle(first: Blend): void {
    const queue = [first];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const { slot, unknown } = next;
      const [id] = unknown;
      // Its last constituent became known while it was in the queue.
      if (id === undefined) {
        this.#events.freed(slot);
        continue;
      }
      this.#slots.set(id, slot);
      const others = this.#waiting.get(id);
      if (others === undefined) continue;
      this.#waiting.delete(id);
      for (const blend of others) {
        if (blend === next) continue;
        blend.unknown.delete(id);
        this.#events.sum(blend.slot, slot);
        if (blend.unknown.size !== 1) continue;
        this.#blends.delete(blend);
        queue.push(blend);
      }
    }
  }
}
