/**
 * Single flight: one fetch for any number of concurrent requests for one object. This file holds
 * the rules of waiting for one of them, `flights.ts` the table of all. Neither does I/O or depends
 * on HTTP, so they can be tested alone.
 *
 * ```
 *              markSent           land             end
 *   gathering ─────────► sent ─────────► landed ─────────► ended
 *       │ │                │               ▲                 ▲
 *       │ └─ land: failed ─┼───────────────┘                 │
 *       └──────────────────┴── end, because no request waits ┘
 * ```
 *
 * A flight belongs to its fetch (`fetch-job.ts`): the fetch alone calls `markSent`, `markRooted`
 * and `land`. The fetch ends it through the table, or its store job does (`store-job.ts`), when the
 * body is stored. The flight owns its waiters and calls the fetch back in one case only,
 * `unwaited`, when no request waits for a result any more.
 *
 * The request that caused the fetch is the *first* waiter. It has no time limit of its own, because
 * the limits of the fetch apply to it, and it is told the result before all others. Other requests
 * for the same key wait for the head, up to a time limit. Then the flight *lands*, in one call that
 * says what the first waiter gets and what the others get:
 * - *shared*: the response may be stored. Each waiter checks whether it may use it (Vary,
 *   freshness) and reads it. Requests that arrive later, while the body is still being fetched, do
 *   the same.
 * - *own*: an answer for the first waiter alone: a response that may not be shared, or the shared
 *   one with fields that only this client may see.
 * - *private*: the others get nothing, because the response is only for the first. They fetch for
 *   themselves. The key is remembered for a while as barren, so that no request waits for it in
 *   vain again.
 * - *failed*: no source gave an answer, or the origin answered an error for which a stored response
 *   may stand in. All waiters get the same failure, because separate attempts would only put more
 *   load on an origin that is down.
 *
 * A waiter that arrived before the flight's request was sent (to the origin, or to the neighbours
 * if they are asked first) is *early*: the origin answers after that waiter asked. The response is
 * therefore as good for it as one validated on its behalf, even if it may not be reused later
 * (`no-cache`, `max-age=0`). This keeps many concurrent requests for such an object from all
 * reaching the origin: those turned away from one flight gather in the next, before it is sent.
 *
 * A flight for which no request waits any more and that has not landed is abandoned: at once if it
 * still gathers (it waits for a connection) or if no other request could join it, otherwise after
 * five seconds, in which it may bring something for later clients. Without that limit a client that
 * asks and disconnects repeatedly could accumulate fetches beyond its number of connections. A
 * background flight has no first waiter and is never abandoned.
 *
 * A flight is *rooted* when its fetch has asked the origin, or waits for a neighbour whose fetch is
 * rooted. A neighbour that waits for the head of a rooted flight thus waits for the origin in the
 * end. It cannot be waiting for a node that waits for this same neighbour (`peers/head-wait.ts`).
 *
 * A flight may be *doomed* (its key was invalidated while it ran): no request joins it any more,
 * and its response is not stored. RFC 9111, 4.4 speaks only of stored responses. But a response
 * that the origin sent before a change must not be stored after it, or the invalidation would have
 * no effect.
 */

import { type Cancel, type Clock, systemClock } from '@bloomery/transport';

export type Landing<Shared, Own> =
  | { readonly kind: 'shared'; readonly shared: Shared }
  | { readonly kind: 'own'; readonly own: Own }
  | { readonly kind: 'private' }
  | { readonly kind: 'failed'; readonly error: Error }
  /** The fetch took longer than the waiter's time limit. */
  | { readonly kind: 'expired' };

/**
 * `joinable`: other requests may wait for it. `alone`: only the request that caused it does.
 * `background`: joinable, and no request caused it.
 */
export type FlightKind = 'joinable' | 'alone' | 'background';

/** Called once with the result. `early`: the request arrived before the fetch was sent. */
type Waiter<Shared, Own> = (landing: Landing<Shared, Own>, early: boolean) => void;

interface Waiting<Shared, Own> {
  readonly early: boolean;
  /** Ends the time limit of this waiter. */
  readonly cancelLimit: Cancel;
  readonly landed: Waiter<Shared, Own>;
}

/**
 * Time for which a fetch continues that was sent, has brought nothing yet, and for which no request
 * waits.
 */
const UNWAITED_MS = 5000;

export class Flight<Shared, Own> {
  readonly key: string;
  readonly kind: FlightKind;
  /** The variant of its response as far as it is known; only the table (`flights.ts`) sets it. */
  variant: string;
  /** Called at most once, when the flight is to be abandoned. Set by the fetch. */
  unwaited: () => void = () => {};
  /** Called once, when the flight lands, before the waiters are told. Set by the table. */
  landed: () => void = () => {};
  #state: 'gathering' | 'sent' | 'landed' | 'ended' = 'gathering';
  #doomed = false;
  #rooted = false;
  readonly #rootWatchers = new Set<() => void>();
  #landing: Landing<Shared, Own> | null = null;
  #first: Waiting<Shared, Own> | null = null;
  /** The first waiter, if there is one, and the others, in the order in which they came. */
  readonly #waiting = new Set<Waiting<Shared, Own>>();
  readonly #timers: Pick<Clock, 'after'>;
  #cancelAbandoning: Cancel = nothing;

  constructor(
    key: string,
    kind: FlightKind = 'joinable',
    variant = '',
    timers: Pick<Clock, 'after'> = systemClock,
  ) {
    this.key = key;
    this.kind = kind;
    this.variant = variant;
    this.#timers = timers;
  }

  /** The number of requests that wait, with the first. */
  get waiters(): number {
    return this.#waiting.size;
  }

  /** Whether the request that caused the fetch still waits for it. */
  get firstWaits(): boolean {
    return this.#first !== null;
  }

  get doomed(): boolean {
    return this.#doomed;
  }

  get ended(): boolean {
    return this.#state === 'ended';
  }

  /** The result for requests other than the first, or null if it is not known yet. */
  get landing(): Landing<Shared, Own> | null {
    return this.#landing;
  }

  /** The request is being sent to a source: waiters that arrive from now on are not early. */
  markSent(): void {
    if (this.#state === 'gathering') this.#state = 'sent';
  }

  /** The fetch waits for the origin, itself or through neighbours. */
  markRooted(): void {
    if (this.#rooted) return;
    this.#rooted = true;
    for (const rooted of this.#rootWatchers) rooted();
    this.#rootWatchers.clear();
  }

  /**
   * Calls `rooted` once, when the flight is rooted; at once if it is. Returns a function that
   * prevents that.
   */
  whenRooted(rooted: () => void): () => void {
    if (this.#rooted) rooted();
    else this.#rootWatchers.add(rooted);
    return () => void this.#rootWatchers.delete(rooted);
  }

  /** The request that caused the fetch waits. Returns a function that stops waiting. */
  waitFirst(landed: Waiter<Shared, Own>): () => void {
    if (this.#waiting.size > 0 || this.#landing !== null) {
      throw new Error(`Cannot wait first: expected a flight without waiters, got one of ${this.key}`);
    }
    const waiting = { early: true, cancelLimit: nothing, landed };
    this.#first = waiting;
    return this.#add(waiting);
  }

  /** Another request waits, at most `ms`. Returns a function that stops waiting. */
  wait(ms: number, landed: Waiter<Shared, Own>): () => void {
    if (this.#landing !== null) {
      throw new Error(`Cannot wait: expected a flight on its way, got one that landed (${this.key})`);
    }
    const expired = (): void => {
      this.#waiting.delete(waiting);
      landed({ kind: 'expired' }, waiting.early);
      this.#left();
    };
    const cancelLimit = this.#timers.after(ms, expired);
    const waiting = { early: this.#state === 'gathering', cancelLimit, landed };
    return this.#add(waiting);
  }

  /**
   * Sets the result, for the first waiter and for all others. Only the first call counts, and no
   * call counts after the flight was abandoned.
   */
  land(landing: Landing<Shared, Own>, forFirst: Landing<Shared, Own> = landing): void {
    if (this.#landing !== null || this.#state === 'ended') return;
    this.#landing = landing;
    this.#state = 'landed';
    this.#cancelAbandoning();
    this.landed();
    const first = this.#first;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#first = null;
    let thrown: { readonly problem: unknown } | null = null;
    for (const each of waiting) {
      each.cancelLimit();
      // An error of one waiter must not keep the result from the others.
      try {
        each.landed(each === first ? forFirst : landing, each.early);
      } catch (problem) {
        thrown ??= { problem };
      }
    }
    if (thrown !== null) throw thrown.problem;
  }

  doom(): void {
    this.#doomed = true;
  }

  /** @internal Called by the table. Returns false if the flight had ended before. */
  end(): boolean {
    if (this.#state === 'ended') return false;
    this.#state = 'ended';
    this.#cancelAbandoning();
    return true;
  }

  #add(waiting: Waiting<Shared, Own>): () => void {
    this.#cancelAbandoning();
    this.#waiting.add(waiting);
    return () => {
      waiting.cancelLimit();
      if (!this.#waiting.delete(waiting)) return;
      if (waiting === this.#first) this.#first = null;
      this.#left();
    };
  }

  #left(): void {
    if (this.#waiting.size > 0 || this.kind === 'background') return;
    if (this.#state === 'gathering' || (this.#state === 'sent' && this.kind === 'alone')) this.unwaited();
    else if (this.#state === 'sent') {
      this.#cancelAbandoning = this.#timers.after(UNWAITED_MS, () => this.unwaited());
    }
  }
}

function nothing(): void {}
