/**
 * The table of running fetches, by key: which of them a request can join, and which an invalidation
 * reaches. `flight.ts` describes one of them. This file does no I/O and is independent of HTTP.
 *
 * Flights that no other request can join (a range, a condition, a barren key) are in a separate
 * part of the table. Their responses may be stored, so an invalidation must reach them. There are
 * never more of them than running fetches, which the limits on connections bound.
 */

import { Flight, type FlightKind } from './flight.ts';

/**
 * Number of keys remembered as barren, and for how long: a page that becomes storable is shared
 * again after that.
 */
const BARREN_KEYS = 16_384;
const BARREN_MS = 10_000;

export class Flights<Shared, Own> {
  readonly #flights = new Map<string, Flight<Shared, Own>[]>();
  /** Flights that no other request can join. */
  readonly #alone = new Map<string, Set<Flight<Shared, Own>>>();
  /** Until when a key counts as barren; the map is in the order in which keys were marked. */
  readonly #barren = new Map<string, number>();
  readonly #clock: () => number;
  #background = 0;

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

  /** The number of background flights, also of those that were doomed and have not ended. */
  get background(): number {
    return this.#background;
  }

  begin(key: string, kind: FlightKind = 'joinable'): Flight<Shared, Own> {
    const flight = new Flight<Shared, Own>(key, kind);
    if (kind === 'background') this.#background++;
    if (kind === 'alone') {
      const set = this.#alone.get(key);
      if (set === undefined) this.#alone.set(key, new Set([flight]));
      else set.add(flight);
    } else {
      const list = this.#flights.get(key);
      if (list === undefined) this.#flights.set(key, [flight]);
      else list.push(flight);
    }
    return flight;
  }

  /**
   * A flight to join: one with an `acceptable` shared result, otherwise the newest one without a
   * result.
   */
  find(key: string, acceptable: (shared: Shared) => boolean): Flight<Shared, Own> | null {
    const list = this.#flights.get(key);
    if (list === undefined) return null;
    let pending: Flight<Shared, Own> | null = null;
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

  /** Ends a flight: its response is complete (and found in the store), or it failed. */
  end(flight: Flight<Shared, Own>): void {
    if (!flight.end()) return;
    if (flight.kind === 'background') this.#background--;
    this.#remove(flight);
  }

  #remove(flight: Flight<Shared, Own>): void {
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
  doom(key: string, except: Flight<Shared, Own> | null = null): void {
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
  doomWorse(flight: Flight<Shared, Own>, isWorse: (shared: Shared) => boolean): void {
    const { key } = flight;
    const others = [...(this.#flights.get(key) ?? []), ...(this.#alone.get(key) ?? [])];
    for (const other of others) {
      if (other === flight || other.landing?.kind !== 'shared' || !isWorse(other.landing.shared)) continue;
      other.doom();
      this.#remove(other);
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
