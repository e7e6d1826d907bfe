/**
 * Limits the questions to a collector: so many per second with a burst, and so many at a time. A
 * question reads one block from each table of its window, up to some thousand reads, so a client
 * that asks without pause would keep the collector from its packets.
 */

export interface GateOptions {
  /** Questions per second on average. Default 50. */
  readonly perSecond?: number;
  /** Questions that may come at once after a pause. Default 100. */
  readonly burst?: number;
  /** Questions that are being answered at the same time. Default 8. */
  readonly atOnce?: number;
}

/** The verdict on a question: it may pass, it comes too early, or too many are being answered. */
export type GateVerdict = 'pass' | 'rate' | 'busy';

export class QuestionGate {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #atOnce: number;
  #tokens: number;
  #lastMs: number;
  #running = 0;

  constructor({ perSecond = 50, burst = 100, atOnce = 8 }: GateOptions, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#atOnce = atOnce;
    this.#tokens = burst;
    this.#lastMs = nowMs;
  }

  /** Lets a question in, or not. The caller calls `leave` after each one that passed. */
  enter(nowMs: number): GateVerdict {
    const passed = Math.max(0, nowMs - this.#lastMs);
    this.#tokens = Math.min(this.#burst, this.#tokens + passed * this.#perMs);
    this.#lastMs = nowMs;
    if (this.#tokens < 1) return 'rate';
    if (this.#running >= this.#atOnce) return 'busy';
    this.#tokens--;
    this.#running++;
    return 'pass';
  }

  leave(): void {
    this.#running--;
  }

  /** Seconds until the next question may come. */
  get retryAfterS(): number {
    return Math.max(1, Math.ceil((1 - this.#tokens) / (1000 * this.#perMs)));
  }
}
