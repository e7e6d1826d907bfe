/**
 * The latest messages of this node by topic, for receivers that missed some, and the limit on how
 * often they are sent again. Without a limit, a receiver behind a bad cable would fill the network
 * of all others.
 *
 * A message goes to the group again at most once in 100 ms, and at most 50 messages a second are
 * repeated in all. Beyond that nothing is sent, and a receiver that still lacks a message fetches
 * it for itself.
 *
 * The last message of a topic is always kept. Others are kept while they are among the last 256 of
 * their topic and have at most 1 MiB together. `RecentMessages` of the HTTP adapter numbers the
 * messages of all topics together. Here each topic has numbers of its own, because a receiver does
 * not repair topics that it does not follow.
 */

import type { Clock } from '../clock.ts';

interface Kept {
  readonly message: Uint8Array;
  /** The last time at which it went to the group again. */
  repeatedAt: number;
}

interface Topic {
  /** The messages by number, the oldest first. */
  readonly kept: Map<number, Kept>;
  last: number;
  bytes: number;
}

const MOST_MESSAGES = 256;
const MOST_BYTES = 1024 * 1024;
const REPEAT_EVERY_MS = 100;
const REPEATS_PER_SECOND = 50;

export class KeptMessages {
  readonly #clock: Clock;
  readonly #topics = new Map<string, Topic>();
  #secondAt = Number.NEGATIVE_INFINITY;
  #repeats = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of the last message of each topic. */
  numbers(): Record<string, number> {
    return Object.fromEntries([...this.#topics].map(([topic, { last }]) => [topic, last]));
  }

  /** Keeps a message that goes to the group now. Returns its number. */
  add(topic: string, message: Uint8Array): number {
    let entry = this.#topics.get(topic);
    if (entry === undefined) this.#topics.set(topic, (entry = { kept: new Map(), last: 0, bytes: 0 }));
    const number = ++entry.last;
    entry.kept.set(number, { message, repeatedAt: Number.NEGATIVE_INFINITY });
    entry.bytes += message.length;
    for (const [old, { message: dropped }] of entry.kept) {
      const isMany = entry.kept.size > MOST_MESSAGES || entry.bytes > MOST_BYTES;
      if (!isMany || old === number) break;
      entry.kept.delete(old);
      entry.bytes -= dropped.length;
    }
    return number;
  }

  get(topic: string, number: number): Uint8Array | undefined {
    return this.#topics.get(topic)?.kept.get(number)?.message;
  }

  /**
   * Calls `send` for each of these messages that may go to the group again now. Returns false if
   * one of them is not kept.
   */
  repeat(
    topic: string,
    numbers: readonly number[],
    send: (number: number, message: Uint8Array) => void,
  ): boolean {
    let areKept = true;
    for (const number of numbers) {
      const kept = this.#topics.get(topic)?.kept.get(number);
      if (kept === undefined) areKept = false;
      else if (this.#mayRepeat(kept)) send(number, kept.message);
    }
    return areKept;
  }

  #mayRepeat(kept: Kept): boolean {
    const now = this.#clock.monotonic();
    if (now - kept.repeatedAt < REPEAT_EVERY_MS) return false;
    if (now - this.#secondAt >= 1000) {
      this.#secondAt = now;
      this.#repeats = 0;
    }
    if (this.#repeats >= REPEATS_PER_SECOND) return false;
    this.#repeats++;
    kept.repeatedAt = now;
    return true;
  }
}
