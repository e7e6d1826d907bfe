/**
 * Single flight: one fetch from the origin for any number of concurrent requests for one object. This file is the table of the
 * fetches under way and the rules of waiting for them; it does no I/O and knows nothing of HTTP, so that it is tested alone.
 *
 * A flight begins with the request that found nothing. Others that come for the same key wait for its head, at most so long. Then
 * it is one of three things:
 * - *shared*: the response may be stored. Each waiter looks whether it may have it too (Vary, freshness) and reads it; who comes
 *   later, while the body is still on its way, does the same.
 * - *private*: the response belongs to the one who asked. The waiters are sent away and fetch for themselves; its key is remembered
 *   for a while as barren, so that nobody waits for it in vain again.
 * - *failed*: the origin cannot be had. All waiters are told the same, for asking again each by itself would only hit harder
 *   an origin that is down.
 *
 * A waiter that came before the flight's request was sent to the origin is *early*: whatever the origin says was said after that
 * waiter asked, so the response is as good for it as one validated on its behalf, even if it may not be reused later
 * (`no-cache`, `max-age=0`). This is what keeps a crowd that asks for such an object from becoming a crowd at the origin:
 * those turned away from one flight gather in the next, before it is sent.
 *
 * Flights that nobody can join (a range, a condition, a barren key) are in the table as well, apart: what they bring may be stored, so an
 * invalidation must reach them. There are never more of them than fetches under way, which the limits on connections bound.
 *
 * A flight may be *doomed* (its key was invalidated while it ran): nobody joins it any more, and what it brings is not kept. RFC 9111,
 * 4.4 speaks of stored responses only; but what the origin said before a change must not be stored after it, or the invalidation was in vain.
 */

export type Landing<Shared> =
  | { readonly kind: 'shared'; readonly shared: Shared }
  | { readonly kind: 'private' }
  | { readonly kind: 'failed'; readonly error: Error }
  /** It took longer than the waiter would wait. */
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

  /** What it became; null: not known yet. */
  get landing(): Landing<Shared> | null {
    return this.#landing;
  }

  get sent(): boolean {
    return this.#sent;
  }

  /** The request is on its way to the origin: who comes from now on is not early. */
  markSent(): void {
    this.#sent = true;
  }

  /** Waits for the landing, at most `ms`. Returns how to leave. */
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

  /** Says what it became. The first word counts. */
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

/** Keys remembered as barren, and for how long: a page that becomes storable is shared again after that. */
const BARREN_KEYS = 16_384;
const BARREN_MS = 10_000;

export class Flights<Shared> {
  readonly #flights = new Map<string, Flight<Shared>[]>();
  /** Those that nobody can join. */
  readonly #alone = new Map<string, Set<Flight<Shared>>>();
  /** Until when a key counts as barren; the order of the map is that of being told. */
  readonly #barren = new Map<string, number>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Flights that can be joined. */
  get size(): number {
    let sum = 0;
    for (const list of this.#flights.values()) sum += list.length;
    return sum;
  }

  /** All flights, those that cannot be joined included. */
  get all(): number {
    let sum = this.size;
    for (const set of this.#alone.values()) sum += set.size;
    return sum;
  }

  /** A new flight that others may join. */
  begin(key: string): Flight<Shared> {
    const flight = new Flight<Shared>(key);
    const list = this.#flights.get(key);
    if (list === undefined) this.#flights.set(key, [flight]);
    else list.push(flight);
    return flight;
  }

  /** A new flight that nobody can join, but that an invalidation of its key reaches. */
  track(key: string): Flight<Shared> {
    const flight = new Flight<Shared>(key);
    const set = this.#alone.get(key);
    if (set === undefined) this.#alone.set(key, new Set([flight]));
    else set.add(flight);
    return flight;
  }

  /** One to join: that has landed with what is `acceptable`, else one that has not landed, the newest first. */
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

  /** Whether there is one that can be joined. */
  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /** What it brings is complete (and found in the store), or it came to nothing. */
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

  /** Dooms all flights of a key, except that of the request which changed what is behind it: its answer is the newest. */
  doom(key: string, except: Flight<Shared> | null = null): void {
    for (const flight of this.#flights.get(key) ?? []) flight.doom();
    this.#flights.delete(key);
    const alone = this.#alone.get(key);
    if (alone === undefined) return;
    this.#alone.delete(key);
    for (const flight of alone) if (flight !== except) flight.doom();
    // It can still be doomed by the next one.
    if (except !== null && alone.has(except)) this.#alone.set(key, new Set([except]));
  }

  /**
   * What `flight` brings is stored now, and others that are still on their way would take its place with something worse, by `isWorse`: nobody
   * joins them any more, and what they bring is not kept.
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
