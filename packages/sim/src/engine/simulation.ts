/**
 * Runs the production code of many nodes in one process under a virtual clock. Time stands still
 * while code runs, and jumps to the next event. The same seed gives the same run: the same events
 * at the same times, and so the same `hash`.
 *
 *     const simulation = new Simulation({ seed: 7 });
 *     const clock = simulation.clockOf('a');              // the port `Clock` of node a
 *     clock.after(1000, () => console.log(clock.now()));
 *     await simulation.run({ untilMs: 60_000 });          // one virtual minute
 *
 * `run` is asynchronous because production code awaits: after each event the promises that it
 * touched settle before the next event begins (microtask-drain.ts). Events without promises cost no
 * await. bench/results/engine.md has the events per second.
 *
 * There is one thread. We refused to run one simulation on several: the order of events between
 * threads is not that of a seed. Run several seeds in several processes instead.
 *
 * Times are milliseconds as 64-bit floats. After a virtual year two events can still differ by 4
 * ns.
 */

import type { Cancel } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { SimulationError } from '../simulation-error.ts';
import { EventHash } from './event-hash.ts';
import { type EventBatch, EventHeap } from './event-heap.ts';
import { eventLoopTurn } from './event-loop-turn.ts';
import { MicrotaskDrain } from './microtask-drain.ts';
import { NodeClock } from './node-clock.ts';
import { type RandomStream, randomStream } from './random-stream.ts';
import { Seal } from './seal.ts';

export interface SimulationOptions {
  /** A non-negative integer. */
  readonly seed: number;
  /** The time of `Clock.now` at the start, in milliseconds since 1970. */
  readonly startMs?: number | undefined;
  /**
   * How the consequences of an event come to their end before the next one. 'microtasks' (default)
   * waits for promises, and real timers, clocks and randomness throw during a run (seal.ts). 'turn'
   * gives the event loop a turn after each event, which also lets real I/O come in: for tests that
   * put a virtual clock beside real servers, and such a run is not repeatable.
   */
  readonly settle?: 'microtasks' | 'turn' | undefined;
}

export interface RunOptions {
  /** Runs the events up to this time, counted from the start, and ends there. */
  readonly untilMs?: number | undefined;
  /** Runs at most this number of events. */
  readonly events?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The reason for the end of a run: the time was reached, the number of events, or none waits. */
export type RunEnd = 'time' | 'events' | 'idle';

/** Kinds of events, as the hash counts them. */
const EVENT_KINDS = ['event', 'timer', 'delivery'] as const;

const DEFAULT_START_MS = 1_700_000_000_000;
const [WORLD, TIMER, DELIVERY] = [0, 1, 2];
/** Events between two turns of the event loop, in which signals and rejections come through. */
const EVENTS_PER_TURN = 2 ** 16;

let isRunning = false;

interface NodeEntry {
  readonly id: string;
  clock: NodeClock;
  /** Runs of its program so far. */
  lives: number;
}

export class Simulation {
  readonly seed: number;
  readonly startMs: number;
  /** @internal Whether a node was ever slow, so that its messages take times of their own. */
  hasSlowNodes = false;
  readonly #turns: boolean;
  readonly #heap = new EventHeap();
  readonly #hash = new EventHash();
  readonly #drain = new MicrotaskDrain();
  readonly #seal = new Seal();
  /** Node number 0 is the world. */
  readonly #nodes: (NodeEntry | null)[] = [null];
  /** Numbers that stand for the ids of the nodes in the hash. */
  readonly #idHashes = [0];
  /** The node and the kind of the event that runs. */
  #running = 0;
  #runningKind = 0;
  readonly #numbers = new Map<string, number>();
  #elapsedMs = 0;
  #eventCount = 0;

  constructor({ seed, startMs = DEFAULT_START_MS, settle = 'microtasks' }: SimulationOptions) {
    if (!Number.isSafeInteger(seed) || seed < 0)
      throw new RangeError(`Cannot start a simulation: expected a seed of at least 0, got ${seed}`);
    this.seed = seed;
    this.startMs = startMs;
    this.#turns = settle === 'turn';
  }

  /** True time since the start, in milliseconds. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Events that have run. */
  get eventCount(): number {
    return this.#eventCount;
  }

  /** Events that wait. */
  get pending(): number {
    return this.#heap.size;
  }

  /** The hash over all events so far: node, time and kind of each. */
  get hash(): string {
    return this.#hash.toString();
  }

  /** The clock of a node, which comes into being with the first call. */
  clockOf(id: string): NodeClock {
    return this.#nodes[this.#numberOf(id)]!.clock;
  }

  /** A stream of random numbers for a purpose that is not a node's: a workload, a fault. */
  random(name: string): RandomStream {
    return randomStream(this.seed, `stream ${name}`);
  }

  /** Runs something that no node does, such as a fault or a request from outside. */
  after(ms: number, run: () => void): Cancel {
    return this.#schedule(WORLD, WORLD, ms, run);
  }

  /** @internal A timer of a node. */
  timer(node: number, delayMs: number, run: () => void): Cancel {
    return this.#schedule(node, TIMER, delayMs, run);
  }

  /**
   * @internal Runs an event of a node that cannot be cancelled, except by the end of the node's
   * program. It makes no closure of its own, so it is the way for messages.
   */
  deliver(clock: NodeClock, delayMs: number, run: () => void): void {
    if (clock.isStopped) return;
    this.#heap.push(this.#elapsedMs + checkDelay(delayMs), clock.node, DELIVERY, run);
  }

  /** @internal Runs the events of a batch one after the other. They cannot be cancelled. */
  deliverAll(delayMs: number, batch: EventBatch): void {
    this.#heap.pushBatch(this.#elapsedMs + checkDelay(delayMs), DELIVERY, batch);
  }

  /**
   * Ends the program of a node: none of its timers and deliveries run any more. `clockOf` gives a
   * new clock from now on, for a restart, with the time of the old one and other randomness.
   */
  stop(id: string): void {
    const number = this.#numberOf(id);
    const entry = this.#nodes[number]!;
    entry.clock.stop();
    this.#heap.cancelOwner(number);
    entry.lives++;
    entry.clock = entry.clock.successor(randomStream(this.seed, `node ${id}, life ${entry.lives}`));
  }

  /**
   * Runs events in the order of their times. Without options it runs until none waits. An error of
   * an event ends the run; the simulation can be run on, and goes on with the next event.
   */
  async run({ untilMs = Infinity, events = Infinity, signal }: RunOptions = {}): Promise<RunEnd> {
    const lastEvent = this.#eventCount + events;
    if (this.#turns) return await this.#loop(untilMs, lastEvent, signal);
    // The counters of the drain are those of the process.
    if (isRunning)
      throw new Error('Cannot run a simulation: expected no other run in this process, got one under way');
    isRunning = true;
    try {
      await this.#drain.begin();
      this.#seal.close();
      return await this.#loop(untilMs, lastEvent, signal);
    } finally {
      this.#seal.open();
      this.#drain.end();
      isRunning = false;
    }
  }

  async #loop(untilMs: number, lastEvent: number, signal: AbortSignal | undefined): Promise<RunEnd> {
    const drain = this.#drain;
    this.#seal.broken = null;
    // Promises that were settled before the run have their effects first. The drain began with a
    // turn of its own.
    if (this.#turns) await eventLoopTurn();
    for (;;) {
      signal?.throwIfAborted();
      const turnEnd = Math.min(lastEvent, this.#eventCount + (this.#turns ? 1 : EVENTS_PER_TURN));
      while (this.#eventCount < turnEnd) {
        try {
          if (!this.#burst(untilMs, turnEnd)) return await this.#endAt(untilMs);
          if (drain.isStirred) {
            let round = 0;
            do {
              drain.beginRound(round++);
              await null;
            } while (!drain.isSettled);
          }
          if (this.#seal.broken !== null) throw this.#seal.broken;
        } catch (error) {
          throw this.#failed(error);
        }
      }
      // Rejections that no code handles are reported in this turn. After an error there is no turn,
      // because an endless chain of promises would never let it come.
      await this.#turn();
      if (this.#eventCount >= lastEvent) return 'events';
    }
  }

  /**
   * Runs events up to and including the first that touches promises. Returns false if none is left
   * before `untilMs`. It is a function of its own because V8 optimises it better than a loop with
   * an `await` in it: 1.3 times as many events per second, side by side with 1,000 and 10,000
   * nodes.
   */
  #burst(untilMs: number, lastEvent: number): boolean {
    const [heap, hash, drain, seal] = [this.#heap, this.#hash, this.#drain, this.#seal];
    do {
      const nextMs = heap.nextMs();
      if (nextMs > untilMs || nextMs === Infinity) return false;
      this.#elapsedMs = nextMs;
      heap.pop();
      this.#eventCount++;
      hash.add(nextMs, this.#idHashes[heap.owner], heap.kind);
      drain.mark();
      this.#running = heap.owner;
      this.#runningKind = heap.kind;
      heap.run();
    } while (!drain.isStirred && seal.broken === null && this.#eventCount < lastEvent);
    return true;
  }

  async #endAt(untilMs: number): Promise<RunEnd> {
    // With `settle: 'turn'`, the last event has already had its turn.
    if (!this.#turns) await this.#turn();
    if (untilMs === Infinity) return 'idle';
    this.#elapsedMs = Math.max(this.#elapsedMs, untilMs);
    return 'time';
  }

  /** A turn of the event loop, in which the code of other programs may use the real world. */
  async #turn(): Promise<void> {
    if (this.#turns) return eventLoopTurn();
    this.#seal.open();
    await eventLoopTurn();
    this.#seal.close();
  }

  #failed(cause: unknown): SimulationError {
    const [who, kind] = [this.#nodes[this.#running]?.id ?? 'the world', this.#runningKind];
    const code = cause instanceof SimulationError ? cause.code : 'event';
    return new SimulationError(
      code,
      `Cannot run event ${this.#eventCount}: expected a ${EVENT_KINDS[kind]} of ${who} without an error, got ${cause} (seed ${this.seed}, ${this.#elapsedMs} ms)`,
      { cause },
    );
  }

  #schedule(node: number, kind: number, delayMs: number, run: () => void): Cancel {
    const heap = this.#heap;
    const slot = heap.push(this.#elapsedMs + checkDelay(delayMs), node, kind, run);
    const order = heap.orderOf(slot);
    return () => heap.cancel(slot, order);
  }

  #numberOf(id: string): number {
    let number = this.#numbers.get(id);
    if (number === undefined) {
      number = this.#nodes.length;
      this.#numbers.set(id, number);
      const clock = new NodeClock(this, number, randomStream(this.seed, `node ${id}, life 1`));
      const { low: idHash } = hashKey(id);
      this.#nodes.push({ id, clock, lives: 1 });
      this.#idHashes.push(idHash | 0);
    }
    return number;
  }
}

function checkDelay(ms: number): number {
  if (!(ms < Infinity)) throw new RangeError(`Cannot schedule an event: expected a finite delay, got ${ms}`);
  return Math.max(ms, 0);
}
