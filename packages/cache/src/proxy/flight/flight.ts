/**
 * Single flight: one fetch from the origin for any number of concurrent requests for one object.
 * This file holds the table of running fetches and the rules of waiting for them. It does no I/O
 * and is independent of HTTP, so it can be tested alone.
 *
 * A flight begins with a request for which nothing usable is stored. Other requests for the same
 * key wait for its head, up to a time limit. Then it has one of three results:
 * - *shared*: the response may be stored. Each waiter checks whether it may use it (Vary,
 *   freshness) and reads it. Requests that arrive later, while the body is still being fetched, do
 *   the same.
 * - *private*: the response is only for the request that caused the fetch. The waiters fetch for
 *   themselves. The key is remembered for a while as barren, so that no request waits for it in
 *   vain again.
 * - *failed*: the origin cannot be reached. All waiters get the same failure, because separate
 *   attempts would only put more load on an origin that is down.
 *
 * A waiter that arrived before the flight's request was sent to the origin is *early*: the origin
 * answers after that waiter asked. The response is therefore as good for it as one validated on its
 * behalf, even if it may not be reused later (`no-cache`, `max-age=0`). This keeps many concurrent
 * requests for such an object from all reaching the origin: those turned away from one flight
 * gather in the next, before it is sent.
 *
 * Flights that no other request can join (a range, a condition, a barren key) are in a separate
 * part of the table. Their responses may be stored, so an invalidation must reach them. There are
 * never more of them than running fetches, which the limits on connections bound.
 *
 * A flight may be *doomed* (its key was invalidated while it ran): no request joins it any more,
 * and its response is not stored. RFC 9111, 4.4 speaks only of stored responses. But a response
 * that the origin sent before a change must not be stored after it, or the invalidation would have
 * no effect.
 */

export type Landing<Shared> =
  | { readonly kind: 'shared'; readonly shared: Shared }
  | { readonly kind: 'private' }
  | { readonly kind: 'failed'; readonly error: Error }
  /** The fetch took longer than the waiter's time limit. */
  | { readonly kind: 'expired' };

interface Waiter<Shared> {
  readonly early: boolean;
  readonly timer: NodeJS.Timeout;
  readonly landed: (landing: Landing<Shared>, early: boolean) => void;
}

export class Flight<Shared> {
  readonly key: string;
  #sent = false;
  #doomed = false;
  #landing: Landing<Shared> | null = null;
  readonly #waiters = new Set<Waiter<Shared>>();

  constructor(key: string) {
    this.key = key;
  }

  get waiters(): number {
    return this.#waiters.size;
  }

  get doomed(): boolean {
    return this.#doomed;
  }

  /** The result, or null if it is not known yet. */
  get landing(): Landing<Shared> | null {
    return this.#landing;
  }

  get sent(): boolean {
    return this.#sent;
  }

  /** The request is being sent to the origin: waiters that arrive from now on are not early. */
  markSent(): void {
    this.#sent = true;
  }

  /** Waits for the result, at most `ms`. Returns a function that stops waiting. */
  wait(ms: number, landed: Waiter<Shared>['landed']): () => void {
    if (this.#landing !== null)
      throw new Error(`The flight for ${this.key} has landed: nobody can wait for it`);
    const waiter: Waiter<Shared> = {
      early: !this.#sent,
      timer: setTimeout(() => {
        this.#waiters.delete(waiter);
        landed({ kind: 'expired' }, waiter.early);
      }, ms),
      landed,
    };
    this.#waiters.add(waiter);
    return () => {
      clearTimeout(waiter.timer);
      this.#waiters.delete(waiter);
    };
  }

  /** Sets the result. Only the first call counts. */
  land(landing: Landing<Shared>): void {
    if (this.#landing !== null) return;
    this.#landing = landing;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const { timer, early, landed } of waiters) {
      clearTimeout(timer);
      landed(landing, early);
    }
  }

  doom(): void {
    this.#doomed = true;
  }
}

/**
 * Number of keys remembered as barren, and for how long: a page that becomes storable is shared
 * again after that.
 */
const BARREN_KEYS = 16_384;
const BARREN_MS = 10_000;

export class Flights<Shared> {
  readonly #flights = new Map<string, Flight<Shared>[]>();
  /** Flights that no other request can join. */
  readonly #alone = new Map<string, Set<Flight<Shared>>>();
  /** Until when a key counts as barren; the map is in the order in which keys were marked. */
  readonly #barren = new Map<string, number>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The number of flights that can be joined. */
  get size(): number {
    let sum = 0;
    for (const list of this.#flights.values()) sum += list.length;
    return sum;
  }

  /** The number of all flights, including those that cannot be joined. */
  get all(): number {
    let sum = this.size;
    for (const set of this.#alone.values()) sum += set.size;
    return sum;
  }

  /** Begins a flight that other requests may join. */
  begin(key: string): Flight<Shared> {
    const flight = new Flight<Shared>(key);
    const list = this.#flights.get(key);
    if (list === undefined) this.#flights.set(key, [flight]);
    else list.push(flight);
    return flight;
  }

  /**
   * Begins a flight that no other request can join, but that an invalidation of its key reaches.
   */
  track(key: string): Flight<Shared> {
    const flight = new Flight<Shared>(key);
    const set = this.#alone.get(key);
    if (set === undefined) this.#alone.set(key, new Set([flight]));
    else set.add(flight);
    return flight;
  }

  /**
   * A flight to join: one with an `acceptable` shared result, otherwise the newest one without a
   * result.
   */
  find(key: string, acceptable: (shared: Shared) => boolean): Flight<Shared> | null {
    const list = this.#flights.get(key);
    if (list === undefined) return null;
    let pending: Flight<Shared> | null = null;
    for (const flight of list) {
      const { landing } = flight;
      if (landing === null) pending = flight;
      else if (landing.kind === 'shared' && acceptable(landing.shared)) return flight;
    }
    return pending;
  }

  /** Whether the key has a flight that can be joined. */
  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /** Removes a flight: its response is complete (and found in the store), or it failed. */
  end(flight: Flight<Shared>): void {
    const { key } = flight;
    const alone = this.#alone.get(key);
    if (alone?.delete(flight)) {
      if (alone.size === 0) this.#alone.delete(key);
      return;
    }
    const list = this.#flights.get(key);
    const index = list?.indexOf(flight) ?? -1;
    if (list === undefined || index < 0) return;
    list.splice(index, 1);
    if (list.length === 0) this.#flights.delete(key);
  }

  /**
   * Dooms all flights of a key, except that of the request which caused the change: its answer is
   * the newest.
   */
  doom(key: string, except: Flight<Shared> | null = null): void {
    for (const flight of this.#flights.get(key) ?? []) flight.doom();
    this.#flights.delete(key);
    const alone = this.#alone.get(key);
    if (alone === undefined) return;
    this.#alone.delete(key);
    for (const flight of alone) if (flight !== except) flight.doom();
    // It can still be doomed by a later change.
    if (except !== null && alone.has(except)) this.#alone.set(key, new Set([except]));
  }

  /**
   * Dooms the flights of the same key whose response is worse by `isWorse`. Called when the
   * response of `flight` is about to be stored and they would replace it: no request joins them any
   * more, and their responses are not stored.
   */
  doomWorse(flight: Flight<Shared>, isWorse: (shared: Shared) => boolean): void {
    const { key } = flight;
    const others = [...(this.#flights.get(key) ?? []), ...(this.#alone.get(key) ?? [])];
    for (const other of others) {
      if (other === flight || other.landing?.kind !== 'shared' || !isWorse(other.landing.shared)) continue;
      other.doom();
      this.end(other);
    }
  }

  /** The response for this key could not be shared. */
  markBarren(key: string): void {
    this.#barren.delete(key);
    if (this.#barren.size >= BARREN_KEYS) {
      for (const oldest of this.#barren.keys()) {
        this.#barren.delete(oldest);
        break;
      }
    }
    this.#barren.set(key, this.#clock() + BARREN_MS);
  }

  markFertile(key: string): void {
    this.#barren.delete(key);
  }

  isBarren(key: string): boolean {
    const until = this.#barren.get(key);
    if (until === undefined) return false;
    if (this.#clock() < until) return true;
    this.#barren.delete(key);
    return false;
  }
}
