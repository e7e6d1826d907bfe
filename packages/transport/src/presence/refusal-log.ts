/**
 * Counts messages that were not taken, and tells the operator of each reason at most once a minute:
 * a node with another secret beats every 5 s, and an attacker may send as fast as the network.
 */

import type { Clock } from '../clock.ts';
import type { NatsEvent } from './nats-status.ts';
import type { EnvelopeRefusal } from './sealed-envelopes.ts';

const TELL_EVERY_MS = 60_000;

const ADVICE: Record<EnvelopeRefusal, string> = {
  unreadable: 'another program uses the subjects of this fleet',
  version: 'a node of a later version is in the fleet',
  signature: 'a node has another secret, or a user of the server forges messages',
  clock: 'the clock of the sender or of this node is wrong by more than 30 s',
  replayed: 'a user of the server repeats messages',
};

export class RefusalLog {
  readonly #clock: Clock;
  readonly #event: NatsEvent;
  readonly #counts: Partial<Record<EnvelopeRefusal, number>> = {};
  readonly #toldAt = new Map<EnvelopeRefusal, number>();

  constructor(clock: Clock, event: NatsEvent) {
    this.#clock = clock;
    this.#event = event;
  }

  get counts(): Readonly<Record<string, number>> {
    return { ...this.#counts };
  }

  count(why: EnvelopeRefusal, subject: string): void {
    const count = (this.#counts[why] ?? 0) + 1;
    this.#counts[why] = count;
    const now = this.#clock.monotonic();
    if (now - (this.#toldAt.get(why) ?? Number.NEGATIVE_INFINITY) < TELL_EVERY_MS) return;
    this.#toldAt.set(why, now);
    this.#event('warn', 'nats-refused', { why, count, subject, advice: ADVICE[why] });
  }
}
