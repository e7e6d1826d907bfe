/**
 * The messages of one life of a node on one topic, put in order by their numbers. A message that
 * comes early is held until those before it have come, or until they are given up. It decides
 * nothing about time: `message-repair.ts` asks for what is missing and says when to give up.
 *
 * A message that does not fit into a datagram is announced by its number alone. It counts as
 * missing until it is fetched.
 *
 * Memory is bounded: at most 256 messages with 1 MiB together are held, and then the gap before
 * them is given up (`isFull`). A held message is at most one datagram long, or was asked for.
 */

export interface NumberedMessage {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** The first messages that are missing, one after the other. */
export interface Gap {
  readonly first: number;
  readonly last: number;
  /** True if the first one is too long for a datagram, so that it has to be fetched. */
  readonly isLong: boolean;
}

const MOST_HELD = 256;
const MOST_HELD_BYTES = 1024 * 1024;

export class MessageSequence {
  #delivered: number;
  /** The highest number that is known to have been published. */
  #last: number;
  readonly #held = new Map<number, Uint8Array>();
  readonly #long = new Set<number>();
  #heldBytes = 0;

  /** `delivered` is the number of the last message that needs no delivery. */
  constructor(delivered: number) {
    this.#delivered = delivered;
    this.#last = delivered;
  }

  get delivered(): number {
    return this.#delivered;
  }

  /** Takes a message, and returns those that can be delivered now, in order. */
  take(number: number, bytes: Uint8Array): NumberedMessage[] {
    this.known(number);
    if (number <= this.#delivered || this.#held.has(number)) return [];
    this.#held.set(number, bytes);
    this.#heldBytes += bytes.length;
    return this.#ready();
  }

  /** A message with this number was published. */
  known(number: number): void {
    this.#last = Math.max(this.#last, number);
  }

  /** A message with this number was published, and is too long for a datagram. */
  announced(number: number): void {
    this.known(number);
    if (number > this.#delivered && !this.#held.has(number) && this.#long.size < MOST_HELD)
      this.#long.add(number);
  }

  /** The first gap, or null if all messages that are known have been delivered. */
  gap(): Gap | null {
    if (this.#last === this.#delivered) return null;
    const first = this.#delivered + 1;
    const next = Math.min(this.#last + 1, ...this.#held.keys());
    return { first, last: next - 1, isLong: this.#long.has(first) };
  }

  /** The first numbers that are missing, at most `most` of them. */
  missing(most: number): number[] {
    const numbers: number[] = [];
    for (let number = this.#delivered + 1; number <= this.#last && numbers.length < most; number++)
      if (!this.#held.has(number)) numbers.push(number);
    return numbers;
  }

  /**
   * Those of the numbers of `missing` whose messages fit into a datagram: they were sent and did
   * not come.
   */
  lost(most: number): number[] {
    return this.missing(most).filter((number) => !this.#long.has(number));
  }

  /** Whether more is held than may be. */
  get isFull(): boolean {
    return this.#held.size > MOST_HELD || this.#heldBytes > MOST_HELD_BYTES;
  }

  /** Gives the first gap up, and returns the messages after it that can be delivered now. */
  giveUp(): NumberedMessage[] {
    const gap = this.gap();
    if (gap === null) return [];
    this.#delivered = gap.last;
    return this.#ready();
  }

  #ready(): NumberedMessage[] {
    const ready: NumberedMessage[] = [];
    for (;;) {
      const number = this.#delivered + 1;
      const bytes = this.#held.get(number);
      if (bytes === undefined) break;
      this.#held.delete(number);
      this.#heldBytes -= bytes.length;
      this.#delivered = number;
      ready.push({ number, bytes });
    }
    for (const number of this.#long) if (number <= this.#delivered) this.#long.delete(number);
    return ready;
  }
}
