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

const NONE: readonly Entry[] = [];

export class LinkSubscriptions {
  /** Replaced at each change, so that a walk over it goes on undisturbed. Most links have one. */
  #entries: readonly Entry[] = NONE;

  add(topic: string, on: Subscription): Cancel {
    const entry = { topic, on, isOpen: false };
    this.#entries = [...this.#entries, entry];
    return () => {
      // A walk that is under way may still come to it.
      entry.isOpen = false;
      this.#entries = this.#entries.filter((each) => each !== entry);
    };
  }

  /** The topics that have subscriptions, sorted. */
  topics(): string[] {
    return [...new Set(this.#entries.map(({ topic }) => topic))].sort();
  }

  /** Whether a topic has subscriptions. */
  has(topic: string): boolean {
    return this.#entries.some((entry) => entry.topic === topic);
  }

  /** Opens the topics. `stateOf` gives the state that the neighbour left on a topic, or null. */
  open(topics: readonly string[], stateOf?: (topic: string) => Uint8Array | null): void {
    for (const entry of this.#entries) {
      if (entry.isOpen || !topics.includes(entry.topic)) continue;
      const state = stateOf?.(entry.topic) ?? null;
      if (state !== null) entry.on.state?.(new Uint8Array(state));
      entry.isOpen = true;
      entry.on.open();
    }
  }

  /** Tells a sign of life of the neighbour that is no message. */
  heard(): void {
    for (const entry of this.#entries) if (entry.isOpen) entry.on.heard?.();
  }

  closed(why: string): void {
    for (const entry of this.#entries) {
      if (!entry.isOpen) continue;
      entry.isOpen = false;
      entry.on.closed(why);
    }
  }

  /**
   * Passes a message on. Each receiver gets bytes of its own; `slice` of a Buffer would share them.
   */
  message(topic: string, bytes: Uint8Array): void {
    for (const entry of this.#entries)
      if (entry.isOpen && entry.topic === topic) entry.on.message(new Uint8Array(bytes));
  }
}
