/**
 * Counts messages that were not taken, and tells the operator of each reason at most once a minute:
 * a node with another secret beats every 5 s, and an attacker may send as fast as the network.
 */

import type { Clock } from '../clock.ts';
import type { EnvelopeRefusal } from './sealed-envelopes.ts';

const TELL_EVERY_MS = 60_000;

export class RefusalLog {
  readonly #clock: Clock;
  readonly #tell: (fields: Record<string, unknown>) => void;
  readonly #advice: Readonly<Record<EnvelopeRefusal, string>>;
  readonly #counts: Partial<Record<EnvelopeRefusal, number>> = {};
  readonly #toldAt = new Map<EnvelopeRefusal, number>();

  /** `advice` is the probable cause of each reason on this network, in words for an operator. */
  constructor(
    clock: Clock,
    tell: (fields: Record<string, unknown>) => void,
    advice: Readonly<Record<EnvelopeRefusal, string>>,
  ) {
    this.#clock = clock;
    this.#tell = tell;
    this.#advice = advice;
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
    this.#tell({ why, count, subject, advice: this.#advice[why] });
  }
}
