/**
 * The surroundings that all simulated policies share: time, the distance to neighbours and to the
 * origin, the size of caches, and the counts.
 *
 * Times are modelled plainly. A neighbour is one round trip away, and the origin another. A body
 * takes its length divided by the bandwidth. Links have no queues, and nodes answer at once, so
 * that rows differ by their policies alone. Questions for objects take times that vary by a tenth:
 * with equal times a node would prefer the first of several neighbours forever, which no network
 * makes it do. The real times of a node under load are in
 * bench/results/cache.md and bench/results/cooperation.md.
 */

import type { Clock } from '@bloomery/transport';
import type { FleetCounts } from './fleet-counts.ts';
import type { FetchedFrom } from './fleet-policy.ts';
import type { HolderIndex } from './holder-index.ts';
import { NodeFlights } from './node-flights.ts';
import { type CacheListener, ObjectCache } from './object-cache.ts';

export interface FleetTimes {
  /** Time for an answer from the node's own store. */
  readonly localMs: number;
  /** Round trip to a neighbour, on average. */
  readonly neighbourMs: number;
  /** Round trip to a node of another group, on average. */
  readonly otherGroupMs: number;
  /** Share by which the round trip of a question for an object may be longer or shorter. */
  readonly neighbourJitter: number;
  /** Round trip to the origin, until the head of its answer. */
  readonly originMs: number;
  readonly neighbourBytesPerSecond: number;
  readonly originBytesPerSecond: number;
}

/** The size of the cache of each node, and the cost of an object in it. */
export interface CacheSize {
  readonly capacity: number;
  readonly expectedEntries: number;
  costOf(object: number, bytes: number, from: FetchedFrom): number;
}

export interface FleetGroundParts {
  readonly clock: Clock;
  readonly nodes: number;
  readonly times: FleetTimes;
  readonly size: CacheSize;
  readonly counts: FleetCounts;
  readonly holders: HolderIndex;
}

export class FleetGround {
  readonly clock: Clock;
  readonly nodes: number;
  readonly times: FleetTimes;
  readonly size: CacheSize;
  readonly counts: FleetCounts;
  /** The fetches of each node that are under way. */
  readonly flights: NodeFlights[];
  readonly #holders: HolderIndex;

  constructor({ clock, nodes, times, size, counts, holders }: FleetGroundParts) {
    this.clock = clock;
    this.nodes = nodes;
    this.times = times;
    this.size = size;
    this.counts = counts;
    this.flights = Array.from({ length: nodes }, () => new NodeFlights());
    this.#holders = holders;
  }

  /** An empty store for a node, or for a share of one. */
  newCache({ share = 1, copiesShare = 0, listener }: NewCache = {}): ObjectCache {
    const holders = this.#holders;
    const { capacity, expectedEntries } = this.size;
    return new ObjectCache({
      capacity: Math.floor(share * capacity),
      expectedEntries: share * expectedEntries,
      copiesShare,
      listener: {
        added(object, isCopy) {
          holders.added(object);
          listener?.added(object, isCopy);
        },
        adopted: (object) => listener?.adopted(object),
        removed(object, wasCopy) {
          holders.removed(object);
          listener?.removed(object, wasCopy);
        },
      },
    });
  }

  /** Time for the body of an object from a neighbour, after its head. */
  bodyMs(bytes: number): number {
    return (1000 * bytes) / this.times.neighbourBytesPerSecond;
  }

  /** Time of a question for an object one way, by the randomness of the node that asks. */
  wayMs({ random }: Pick<Clock, 'random'>): number {
    return this.#varied(this.times.neighbourMs / 2, random());
  }

  /** The same to a node of another group. */
  wayBetweenMs({ random }: Pick<Clock, 'random'>): number {
    return this.#varied(this.times.otherGroupMs / 2, random());
  }

  #varied(ms: number, draw: number): number {
    return ms * (1 + this.times.neighbourJitter * (2 * draw - 1));
  }

  /** Fetches an object from the origin. */
  askOrigin(object: number, bytes: number, done: () => void): void {
    const { originMs, originBytesPerSecond } = this.times;
    if (this.#holders.of(object) > 0) this.counts.lostHit();
    this.clock.after(originMs + (1000 * bytes) / originBytesPerSecond, done);
  }
}

interface NewCache {
  readonly share?: number;
  readonly copiesShare?: number;
  readonly listener?: CacheListener;
}
