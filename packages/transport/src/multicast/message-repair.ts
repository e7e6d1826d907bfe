/**
 * Asks for messages that did not come. A datagram that a switch dropped is missing at all receivers
 * at once, so each of them waits for a random time before it asks. The first one to ask makes the
 * publisher send the message to the group again, and the others find it there before their time is
 * over:
 *
 *     gap ──random pause──► ask, "to the group" ──pause──► ask, "to me" ──► next gap
 *                │                                 │            │ gone, unreachable
 *                └── the message has come ─────────┘            ▼
 *                                                   closed, open: the topic catches up
 *
 * The pauses grow with the number of neighbours (spread.ts). If the repeated message is there 4 ms
 * after the ask, about two receivers ask, however many there are.
 *
 * One request names all messages that are missing by then, up to 32. We asked for one gap after the
 * other first. With many losses a receiver then fell behind the messages that the publisher keeps.
 *
 * A message that is too long for a datagram is asked for by every receiver for itself, after the
 * same random pause. A gap of more than 32 messages is not repaired: the protocol of the topic
 * catches up with one answer.
 */

import type { Cancel, Clock } from '../clock.ts';
import { MessageSequence, type NumberedMessage } from './decisions/message-sequence.ts';
import { MOST_REPAIRED } from './repair-message.ts';
import { spreadMs } from './spread.ts';

export interface MessageRepairOptions {
  readonly clock: Clock;
  /** The number of the last message that needs no delivery. */
  readonly delivered: number;
  /** The number of neighbours now, which ask as well. */
  readonly neighbours: () => number;
  /** Asks the publisher to send messages to the group again. False if they are gone. */
  readonly repeat: (numbers: readonly number[]) => Promise<boolean>;
  /** Fetches one message from the publisher. Rejects if it is gone. */
  readonly fetch: (number: number) => Promise<Uint8Array>;
  readonly deliver: (message: NumberedMessage) => void;
  /** Messages up to this number will not come. */
  readonly lost: (upTo: number) => void;
  /** This many datagrams are missing that were not before. */
  readonly missed?: (datagrams: number) => void;
  /** One that was missing has come, because it was repeated or fetched. */
  readonly repaired?: () => void;
}

/** Time for a message that was sent again to come. */
const GRACE_MS = 50;

export class MessageRepair {
  readonly #options: MessageRepairOptions;
  readonly #sequence: MessageSequence;
  /** The first message of the gap that is being repaired; 0 if there is none. */
  #repairing = 0;
  /** Datagrams that did not come. */
  readonly #missing = new Set<number>();
  #isClosed = false;
  #stopTimer: Cancel = () => {};

  constructor(options: MessageRepairOptions) {
    this.#options = options;
    this.#sequence = new MessageSequence(options.delivered);
  }

  take(number: number, bytes: Uint8Array): void {
    if (this.#missing.delete(number)) this.#options.repaired?.();
    this.#deliver(this.#sequence.take(number, bytes));
    this.#follow();
  }

  announced(number: number): void {
    this.#sequence.announced(number);
    this.#follow();
  }

  known(number: number): void {
    this.#sequence.known(number);
    this.#follow();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
  }

  /** Begins to repair the first gap, unless that is under way. */
  #follow(): void {
    if (this.#isClosed) return;
    for (;;) {
      const gap = this.#sequence.gap();
      if (gap === null) {
        this.#repairing = 0;
        this.#stopTimer();
        return;
      }
      this.#noteMissing();
      const isSmall = gap.last - gap.first < MOST_REPAIRED && !this.#sequence.isFull;
      if (!isSmall) {
        this.#giveUp();
        continue;
      }
      if (gap.first === this.#repairing) return;
      this.#repairing = gap.first;
      this.#pause(gap.isLong);
      return;
    }
  }

  #noteMissing(): void {
    const before = this.#missing.size;
    for (const number of this.#sequence.lost(MOST_REPAIRED)) this.#missing.add(number);
    if (this.#missing.size > before) this.#options.missed?.(this.#missing.size - before);
  }

  /** Waits for a while, and asks if the message has not come. */
  #pause(isDirect: boolean, leastMs = 0): void {
    const { clock, neighbours } = this.#options;
    this.#stopTimer();
    this.#stopTimer = clock.after(leastMs + spreadMs(clock, neighbours()), () => void this.#ask(isDirect));
  }

  async #ask(isDirect: boolean): Promise<void> {
    const gap = this.#sequence.gap();
    if (gap === null || this.#isClosed) return;
    const { first } = gap;
    const { repeat, fetch } = this.#options;
    // Any failure, a deadline as well, leaves the rest to the protocol of the topic.
    const asked = isDirect ? fetch(first) : repeat(this.#sequence.missing(MOST_REPAIRED));
    const answer = await asked.catch(() => false as const);
    if (this.#isClosed || this.#sequence.gap()?.first !== first) return;
    if (answer === true) this.#pause(true, GRACE_MS);
    else if (answer !== false) this.take(first, answer);
    else {
      this.#giveUp();
      this.#follow();
    }
  }

  #giveUp(): void {
    const gap = this.#sequence.gap();
    if (gap === null) return;
    const ready = this.#sequence.giveUp();
    for (const number of this.#missing) if (number <= gap.last) this.#missing.delete(number);
    this.#options.lost(gap.last);
    this.#deliver(ready);
  }

  #deliver(ready: readonly NumberedMessage[]): void {
    for (const message of ready) this.#options.deliver(message);
  }
}
