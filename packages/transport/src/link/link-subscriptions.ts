/**
 * The subscriptions to one neighbour, by topic. It tells each of them when its link opens and
 * closes, never twice in a row, and passes on the messages that come in between.
 */

import type { Cancel } from '../clock.ts';
import type { Subscription } from '../transport.ts';

interface Entry {
  readonly topic: string;
  readonly on: Subscription;
  isOpen: boolean;
}

export class LinkSubscriptions {
  readonly #entries = new Set<Entry>();

  add(topic: string, on: Subscription): Cancel {
    const entry = { topic, on, isOpen: false };
    this.#entries.add(entry);
    return () => void this.#entries.delete(entry);
  }

  /** The topics that have subscriptions, sorted. */
  topics(): string[] {
    return [...new Set([...this.#entries].map(({ topic }) => topic))].sort();
  }

  /** Whether a topic has subscriptions. */
  has(topic: string): boolean {
    for (const entry of this.#entries) if (entry.topic === topic) return true;
    return false;
  }

  open(topics: readonly string[]): void {
    for (const entry of [...this.#entries]) {
      if (entry.isOpen || !topics.includes(entry.topic)) continue;
      entry.isOpen = true;
      entry.on.open();
    }
  }

  closed(why: string): void {
    for (const entry of [...this.#entries]) {
      if (!entry.isOpen) continue;
      entry.isOpen = false;
      entry.on.closed(why);
    }
  }

  /**
   * Passes a message on. Each receiver gets bytes of its own; `slice` of a Buffer would share them.
   * A subscription that a receiver adds meanwhile is not open yet, so it does not get this message.
   */
  message(topic: string, bytes: Uint8Array): void {
    for (const entry of this.#entries)
      if (entry.isOpen && entry.topic === topic) entry.on.message(new Uint8Array(bytes));
  }
}
