/**
 * The table of running fetches, by key: which of them a request can join, and which an invalidation
 * reaches. `flight.ts` describes one of them. This file does no I/O and is independent of HTTP.
 *
 * **Variants.** The response to a key may be selected by fields of the request (Vary). Once that is
 * known, a flight carries its *variant*, a text for the values of those fields, and a request joins
 * only flights of its own variant. Otherwise requests for different variants would wait for each
 * other, several times in a row, and in the end each would fetch for itself. While it is not known,
 * the variant is empty, and all requests of the key wait for one flight: they cannot know better,
 * and most keys do not vary. When that flight lands with a selected response, the table learns the
 * names of the fields before it tells the waiters. Those that are turned away then spread over one
 * flight for each variant, all at the same time. A request thus waits at most twice as long as the
 * origin takes, and once as long when the names are known (`bench/cache/variants.ts` measures it).
 * The table is only a hint: whether a request may use a response is decided by the policy.
 *
 * **Alone.** Flights that no other request can join (a range, a condition, a barren key) are in a
 * separate part of the table. Their responses may be stored, so an invalidation must reach them.
 * There are never more of them than running fetches, which the limits on connections bound.
 *
 * **Only at the origin.** A fetch may have sources before the origin (neighbours). Two kinds of
 * keys are not looked for there. The first are keys whose response is not for all clients, as the
 * origin said, so no neighbour has it. The second are keys that were invalidated here: neighbours
 * did not see that, and still have the response from before. A client that changed a page must not
 * get the old one from the next node.
 */

import { type Clock, systemClock } from '@bloomery/transport';
import { Flight, type FlightKind } from './flight.ts';
import { RecentKeys } from './recent-keys.ts';

/** Number of keys that are remembered as barren, as invalidated, and as known to vary. */
const REMEMBERED_KEYS = 16_384;
/** How long a key counts as barren. A page that becomes storable is shared again after that. */
const BARREN_MS = 10_000;

/** The flights of one key. */
interface KeyFlights<Shared, Own> {
  /** Lists by variant, in the order in which they began. */
  readonly joinable: Map<string, Flight<Shared, Own>[]>;
  readonly alone: Set<Flight<Shared, Own>>;
}

export class Flights<Shared, Own> {
  readonly #keys = new Map<string, KeyFlights<Shared, Own>>();
  /** The time until which a key counts as barren, and whether the origin itself said so. */
  readonly #barren = new RecentKeys<{ readonly until: number; readonly atOrigin: boolean }>(REMEMBERED_KEYS);
  /** Keys that were invalidated or purged. */
  readonly #invalidated = new RecentKeys<true>(REMEMBERED_KEYS);
  /** The names of the fields that select the response to a key, if there are any. */
  readonly #selectors = new RecentKeys<readonly string[]>(REMEMBERED_KEYS);
  readonly #watchers = new Set<(flight: Flight<Shared, Own>) => void>();
  readonly #clock: () => number;
  readonly #timers: Pick<Clock, 'after'>;
  #background = 0;

  constructor(clock: () => number, timers: Pick<Clock, 'after'> = systemClock) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** The number of flights that can be joined. */
  get size(): number {
    let sum = 0;
    for (const { joinable } of this.#keys.values()) {
      for (const list of joinable.values()) sum += list.length;
    }
    return sum;
  }

  /** The number of all flights, including those that cannot be joined. */
  get all(): number {
    let sum = this.size;
    for (const { alone } of this.#keys.values()) sum += alone.size;
    return sum;
  }

  /** The number of background flights, including those that were doomed and have not ended. */
  get background(): number {
    return this.#background;
  }

  begin(key: string, kind: FlightKind = 'joinable', variant = ''): Flight<Shared, Own> {
    const flight = new Flight<Shared, Own>(key, kind, variant, this.#timers);
    if (kind === 'background') this.#background++;
    flight.landed = () => this.#tell(flight);
    this.#add(flight);
    return flight;
  }

  /**
   * Calls `changed` when a flight lands and when it ends. It must not throw. Returns a function
   * that prevents further calls.
   */
  watch(changed: (flight: Flight<Shared, Own>) => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  #tell(flight: Flight<Shared, Own>): void {
    for (const changed of this.#watchers) changed(flight);
  }

  /**
   * A flight to join: one with an `acceptable` shared result, otherwise the newest one without a
   * result.
   */
  find(key: string, variant: string, acceptable: (shared: Shared) => boolean): Flight<Shared, Own> | null {
    let pending: Flight<Shared, Own> | null = null;
    for (const flight of this.#keys.get(key)?.joinable.get(variant) ?? []) {
      const { landing } = flight;
      if (landing === null) pending = flight;
      else if (landing.kind === 'shared' && acceptable(landing.shared)) return flight;
    }
    return pending;
  }

  /** Whether there is a flight of this variant that can be joined. */
  has(key: string, variant: string): boolean {
    return this.#keys.get(key)?.joinable.has(variant) ?? false;
  }

  /** Ends a flight: its response is complete (and found in the store), or it failed. */
  end(flight: Flight<Shared, Own>): void {
    if (!flight.end()) return;
    if (flight.kind === 'background') this.#background--;
    this.#remove(flight);
    this.#tell(flight);
  }

  /**
   * The fields that select the response to a key, as the last response said. Undefined if it was
   * not selected, or if no response is remembered.
   */
  selectors(key: string): readonly string[] | undefined {
    return this.#selectors.get(key);
  }

  /**
   * The response of a flight was selected by these fields of the request. Called before the flight
   * lands, because the waiters that it turns away spread by what is known then.
   */
  learn(flight: Flight<Shared, Own>, names: readonly string[], variant: string): void {
    if (names.length === 0) this.#selectors.delete(flight.key);
    else this.#selectors.set(flight.key, names);
    if (flight.variant === variant || !this.#remove(flight)) return;
    flight.variant = variant;
    this.#add(flight);
  }

  /**
   * Dooms all flights of a key, except that of the request which caused the change: its answer is
   * the newest.
   */
  doom(key: string, except: Flight<Shared, Own> | null = null): void {
    this.#invalidated.set(key, true);
    for (const flight of this.#ofKey(key)) {
      if (flight === except && flight.kind === 'alone') continue;
      flight.doom();
      this.#remove(flight);
    }
  }

  /**
   * Dooms the flights of the same key whose response is worse by `isWorse`. Called when the
   * response of `flight` is about to be stored and they would replace it: no request joins them any
   * more, and their responses are not stored.
   */
  doomWorse(flight: Flight<Shared, Own>, isWorse: (shared: Shared) => boolean): void {
    for (const other of this.#ofKey(flight.key)) {
      if (other === flight || other.landing?.kind !== 'shared' || !isWorse(other.landing.shared)) continue;
      other.doom();
      this.#remove(other);
    }
  }

  /** The response for this key could not be shared. `atOrigin`: it came from the origin. */
  markBarren(key: string, atOrigin = true): void {
    this.#barren.set(key, { until: this.#clock() + BARREN_MS, atOrigin });
  }

  markFertile(key: string): void {
    this.#barren.delete(key);
  }

  isBarren(key: string): boolean {
    const barren = this.#barren.get(key);
    if (barren === undefined) return false;
    if (this.#clock() < barren.until) return true;
    this.#barren.delete(key);
    return false;
  }

  /** Whether no other source than the origin can have the response that a fetch wants. */
  isOnlyAtOrigin(key: string): boolean {
    if (this.#invalidated.get(key) !== undefined) return true;
    return this.isBarren(key) && this.#barren.get(key)!.atOrigin;
  }

  #ofKey(key: string): Flight<Shared, Own>[] {
    const flights = this.#keys.get(key);
    return flights === undefined ? [] : [...[...flights.joinable.values()].flat(), ...flights.alone];
  }

  #add(flight: Flight<Shared, Own>): void {
    const { key, kind, variant } = flight;
    let flights = this.#keys.get(key);
    if (flights === undefined) {
      flights = { joinable: new Map(), alone: new Set() };
      this.#keys.set(key, flights);
    }
    const list = flights.joinable.get(variant);
    if (kind === 'alone') flights.alone.add(flight);
    else if (list === undefined) flights.joinable.set(variant, [flight]);
    else list.push(flight);
  }

  /** Removes a flight from the table. Returns false if it was not there. */
  #remove(flight: Flight<Shared, Own>): boolean {
    const { key, variant } = flight;
    const flights = this.#keys.get(key);
    if (flights === undefined) return false;
    const { joinable, alone } = flights;
    if (!alone.delete(flight)) {
      const list = joinable.get(variant);
      const index = list?.indexOf(flight) ?? -1;
      if (list === undefined || index < 0) return false;
      list.splice(index, 1);
      if (list.length === 0) joinable.delete(variant);
    }
    if (joinable.size === 0 && alone.size === 0) this.#keys.delete(key);
    return true;
  }
}
