/**
 * The purges that an operator ordered at this node, for neighbours that have not confirmed them.
 *
 * Each purge has a number, from 1 on, under an epoch that names this journal. The last 1,024 are
 * kept. A neighbour says up to which number it is current, and gets the rest. One that missed more
 * than are kept is told so (`isReset`), and must validate everything that it stored before: it
 * cannot know which of its responses were purged.
 *
 * We refused to drop purges that all neighbours confirmed: a neighbour may come back with an older
 * disk, and a list of 1,024 URLs costs nothing. We refused one journal for the fleet, which would
 * need a leader: nodes order purges independently, and a purge is idempotent.
 */

/** The last purge of a journal up to which a node is current. */
export interface PurgePosition {
  readonly epoch: string;
  readonly sequence: number;
}

/** Purges number `after + 1` to `after + keys.length` of a journal. */
export interface PurgeMessage {
  readonly epoch: string;
  readonly after: number;
  readonly keys: readonly string[];
  /** The purges up to `after` cannot be sent any more. */
  readonly isReset: boolean;
}

/** The state of a journal, which survives JSON. */
export interface PurgeJournalState {
  readonly epoch: string;
  readonly dropped: number;
  readonly keys: readonly string[];
}

const MOST_KEPT = 1024;
/** Limits of one message. */
const MOST_KEYS = 256;
const MOST_TEXT = 1 << 20;

export class PurgeJournal {
  readonly epoch: string;
  readonly #limit: number;
  /** Purges that are no longer kept. */
  #dropped: number;
  readonly #keys: string[];

  /** `state` is that of an earlier life of the node, or has only a new epoch. */
  constructor({ epoch, dropped, keys }: PurgeJournalState, limit = MOST_KEPT) {
    this.epoch = epoch;
    this.#limit = limit;
    this.#dropped = dropped;
    this.#keys = [...keys];
  }

  /** The number of the last purge; 0 if there was none. */
  get sequence(): number {
    return this.#dropped + this.#keys.length;
  }

  get state(): PurgeJournalState {
    return { epoch: this.epoch, dropped: this.#dropped, keys: [...this.#keys] };
  }

  /** Notes a purge. Returns its number. */
  add(key: string): number {
    this.#keys.push(key);
    while (this.#keys.length > this.#limit) {
      this.#keys.shift();
      this.#dropped++;
    }
    return this.sequence;
  }

  isCurrent(position: PurgePosition | null): boolean {
    if (this.sequence === 0) return true;
    return position !== null && position.epoch === this.epoch && position.sequence >= this.sequence;
  }

  /**
   * The next message to a neighbour. A position that is not known (null) is asked for by a message
   * without purges.
   */
  messageFor(position: PurgePosition | null): PurgeMessage {
    const { epoch, sequence } = this;
    if (position === null) return { epoch, after: sequence, keys: [], isReset: false };
    const isReset = position.epoch !== epoch || position.sequence < this.#dropped;
    const after = isReset ? this.#dropped : Math.min(position.sequence, sequence);
    const keys: string[] = [];
    let text = 0;
    for (const key of this.#keys.slice(after - this.#dropped, after - this.#dropped + MOST_KEYS)) {
      text += key.length;
      if (keys.length > 0 && text > MOST_TEXT) break;
      keys.push(key);
    }
    return { epoch, after, keys, isReset };
  }
}
