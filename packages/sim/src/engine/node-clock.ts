/**
 * The port `Clock` of one node in a simulation. Each node has a clock of its own, because clocks
 * differ: `now` may be off by some time and run fast or slow by a share of it (`setSkew`), and a
 * slow node comes late to everything that it waits for (`setSlowness`).
 *
 * Drift moves `now`, `monotonic` and the length of timers alike, as one quartz does. Slowness moves
 * only the moment at which a timer or a delivery runs, as an overloaded machine does: its clock is
 * right, its program is late.
 *
 * A clock belongs to one run of a node's program. After `stop` (a crash) it sets no timers, so a
 * promise that a dead program still holds has no effect on the network.
 */

import type { Cancel, Clock } from '@bloomery/transport';
import type { RandomStream } from './random-stream.ts';

/** The parts of a simulation that a clock uses. */
export interface ClockHost {
  readonly elapsedMs: number;
  readonly startMs: number;
  /** Set by the first clock that becomes slow. */
  hasSlowNodes: boolean;
  /** Runs an event of a node after a delay in true time. */
  timer(node: number, delayMs: number, run: () => void): Cancel;
}

export interface Skew {
  /** Added to `now`. */
  readonly offsetMs: number;
  /** Share by which the clock runs fast, above -1: 0.0001 gains 8.6 s a day. */
  readonly drift: number;
}

export class NodeClock implements Clock {
  readonly random: RandomStream;
  /** The number of the node in its simulation. */
  readonly node: number;
  readonly #host: ClockHost;
  #offsetMs = 0;
  #rate = 1;
  #slowness = 1;
  /** True and local time of the last change of the rate. */
  #trueMs = 0;
  #localMs = 0;
  #isStopped = false;

  constructor(host: ClockHost, node: number, random: RandomStream) {
    this.#host = host;
    this.node = node;
    this.random = random;
  }

  now(): number {
    return this.#host.startMs + this.#offsetMs + this.monotonic();
  }

  monotonic(): number {
    return this.#localMs + (this.#host.elapsedMs - this.#trueMs) * this.#rate;
  }

  after(ms: number, run: () => void): Cancel {
    if (this.#isStopped) return nothing;
    return this.#host.timer(this.node, this.lateMs(ms) / this.#rate, run);
  }

  /** The time after which this node notices something that takes `ms`. */
  lateMs(ms: number): number {
    return Math.max(ms, 0) * this.#slowness;
  }

  setSkew({ offsetMs = 0, drift = 0 }: Partial<Skew>): void {
    if (!(drift > -1 && drift < Infinity) || !Number.isFinite(offsetMs))
      throw new RangeError(
        `Cannot set a clock: expected a finite offset and a drift above -1, got ${offsetMs} ms and ${drift}`,
      );
    this.#localMs = this.monotonic();
    this.#trueMs = this.#host.elapsedMs;
    this.#offsetMs = offsetMs;
    this.#rate = 1 + drift;
  }

  /** Makes the node late: by the factor, at least 1. Timers that wait already keep their times. */
  setSlowness(factor: number): void {
    if (!(factor >= 1 && factor < Infinity))
      throw new RangeError(`Cannot slow a node: expected a factor of at least 1, got ${factor}`);
    this.#slowness = factor;
    if (factor > 1) this.#host.hasSlowNodes = true;
  }

  /** The clock of the node's next program: the same time and speed, other randomness. */
  successor(random: RandomStream): NodeClock {
    const next = new NodeClock(this.#host, this.node, random);
    next.#localMs = this.monotonic();
    next.#trueMs = this.#host.elapsedMs;
    next.#offsetMs = this.#offsetMs;
    next.#rate = this.#rate;
    next.#slowness = this.#slowness;
    return next;
  }

  get isSlow(): boolean {
    return this.#slowness > 1;
  }

  /** Sets no more timers. */
  stop(): void {
    this.#isStopped = true;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }
}

function nothing(): void {}
