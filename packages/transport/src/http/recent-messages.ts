/**
 * The latest published messages, for neighbours that cannot keep a stream open and pull instead.
 * Each message has a number. A neighbour asks for those after the last number that it knows, and is
 * told if some of them are gone; then it catches up by a request, as after a broken stream.
 */

interface Entry {
  readonly topic: string;
  readonly message: Uint8Array;
}

/** A neighbour pulls every second, and a summary is published at most four times a second. */
const MOST_MESSAGES = 64;
const MOST_BYTES = 1024 * 1024;

export interface Missed {
  readonly messages: readonly Entry[];
  /** True if some are gone. */
  readonly gap: boolean;
}

export class RecentMessages {
  readonly #entries: Entry[] = [];
  #bytes = 0;
  #next = 0;

  /** The number that the next message gets. */
  get next(): number {
    return this.#next;
  }

  add(topic: string, message: Uint8Array): void {
    this.#next++;
    this.#entries.push({ topic, message });
    this.#bytes += message.length;
    while (this.#entries.length > MOST_MESSAGES || this.#bytes > MOST_BYTES)
      this.#bytes -= this.#entries.shift()?.message.length ?? 0;
  }

  /** The messages of some topics from a number on. */
  since(number: number, topics: readonly string[]): Missed {
    const first = this.#next - this.#entries.length;
    if (number < first || number > this.#next) return { messages: [], gap: true };
    const messages = this.#entries.slice(number - first).filter(({ topic }) => topics.includes(topic));
    return { messages, gap: false };
  }
}
