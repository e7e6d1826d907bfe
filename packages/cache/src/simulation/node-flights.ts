/**
 * The fetches of one simulated node that are under way, by object. It models the part of
 * `proxy/flight/flights.ts` that a simulation needs: requests for an object that is being fetched
 * wait for that fetch, and a neighbour can tell whether the fetch waits for the origin ("rooted",
 * proxy/flight/flight.ts).
 *
 * Fetches here do not fail and are always shared, because a simulated origin always answers, with
 * an object that may be stored.
 */

import type { FetchedFrom } from './fleet-policy.ts';

/** Called when the object is here. `joined` is false for the request that began the fetch. */
type Landed = (from: FetchedFrom, joined: boolean) => void;

interface RunningFlight {
  /** The one that began the fetch comes first. */
  readonly waiting: Set<Landed>;
  isRooted: boolean;
  readonly whenRooted: Set<() => void>;
}

export class NodeFlights {
  readonly #running = new Map<number, RunningFlight>();

  has(object: number): boolean {
    return this.#running.has(object);
  }

  /** Begins a fetch, which `land` ends. */
  begin(object: number, landed: Landed): void {
    this.#running.set(object, { waiting: new Set([landed]), isRooted: false, whenRooted: new Set() });
  }

  /** Waits for a fetch that is under way. Returns a function that ends the wait. */
  join(object: number, landed: Landed): () => void {
    const { waiting } = this.#running.get(object)!;
    waiting.add(landed);
    return () => void waiting.delete(landed);
  }

  /** The fetch waits for the origin from now on, itself or through another node. */
  root(object: number): void {
    const flight = this.#running.get(object);
    if (flight === undefined || flight.isRooted) return;
    flight.isRooted = true;
    for (const run of flight.whenRooted) run();
    flight.whenRooted.clear();
  }

  /** Calls `run` once when the fetch is rooted, maybe now. Returns a function that ends it. */
  whenRooted(object: number, run: () => void): () => void {
    const flight = this.#running.get(object)!;
    if (flight.isRooted) {
      run();
      return () => {};
    }
    flight.whenRooted.add(run);
    return () => void flight.whenRooted.delete(run);
  }

  /** The object is here: all that wait are told, the first one first. */
  land(object: number, from: FetchedFrom): void {
    const flight = this.#running.get(object);
    if (flight === undefined) return;
    this.#running.delete(object);
    let joined = false;
    for (const landed of flight.waiting) {
      landed(from, joined);
      joined = true;
    }
  }
}
