/**
 * Everyone has everyone's filter (survey 5.1, PlanetP): each node sends the changes of its filter
 * to all others, and asks the nodes whose filters may have the key. One round trip if the first one
 * is right. The rate of a filter is a tenth of 1/N, so that a question meets a false positive once
 * in ten times at every size.
 */

import { BloomFilter } from 'bloomery';
import { SnapshotPublisher } from 'bloomery/wire';
import type { RouteWorld, SimObject } from '../route-world.ts';
import {
  HEADER_BYTES,
  HOP_MS,
  type LocationSystem,
  type Outcome,
  QUESTION_BYTES,
  TIMEOUT_MS,
} from './location-system.ts';

/** Messages are coded for one of this many nodes, and counted for all. */
const CODED_EVERY = 7;

export class FilterDirectory implements LocationSystem {
  readonly name = 'filters of all nodes';
  readonly #world: RouteWorld;
  readonly #filters: BloomFilter[];
  readonly #publishers: (SnapshotPublisher | null)[];
  readonly #capacity: number;

  constructor(world: RouteWorld, objectsPerNode: number) {
    this.#world = world;
    this.#capacity = Math.ceil(1.2 * objectsPerNode);
    this.#filters = world.nodes.map((_, number) => this.#filterOf(number));
    this.#publishers = this.#filters.map((filter, number) =>
      number % CODED_EVERY === 0 ? new SnapshotPublisher({ frame: filter.encode(), incarnation: 1 }) : null,
    );
  }

  publish(): number {
    const { nodes } = this.#world;
    const changed = new Set(this.#world.changes.map(({ node }) => node));
    let [bytes, coded] = [0, 0];
    for (const [number, { isUp }] of nodes.entries()) {
      const isFresh = changed.has(number) || isUp !== this.#filters[number].onesCount() > 0;
      if (isFresh) this.#filters[number] = this.#filterOf(number);
      const publisher = this.#publishers[number];
      if (publisher === null || !isUp) continue;
      coded++;
      const message = isFresh ? publisher.publish(this.#filters[number].encode()) : null;
      if (message !== null) bytes += (nodes.length - 1) * (HEADER_BYTES + message.length);
    }
    return (bytes / Math.max(1, coded)) * nodes.length;
  }

  find(start: number, { hash, holders }: SimObject): Outcome {
    const candidates: number[] = [];
    for (const [number, filter] of this.#filters.entries())
      if (number !== start && filter.hasHash(hash)) candidates.push(number);
    let [messages, latencyMs, wrongTurns] = [0, 0, 0];
    for (const candidate of candidates) {
      messages += 2;
      latencyMs += this.#world.nodes[candidate].isUp ? 2 * HOP_MS : TIMEOUT_MS;
      const isFound = holders.has(candidate);
      const bytes = messages * QUESTION_BYTES;
      if (isFound) return { isFound, messages, bytes, hops: messages, latencyMs, wrongTurns };
      wrongTurns++;
    }
    const bytes = messages * QUESTION_BYTES;
    return { isFound: false, messages, bytes, hops: messages, latencyMs, wrongTurns };
  }

  stateBytes(): number {
    return (this.#filters.length * this.#filters[0].bits) / 8;
  }

  #filterOf(number: number): BloomFilter {
    const falsePositiveRate = Math.min(0.01, 0.1 / this.#world.nodes.length);
    const filter = BloomFilter.forCapacity({ capacity: this.#capacity, falsePositiveRate });
    for (const hash of this.#world.nodes[number].table.ownHashes()) filter.addHash(hash);
    return filter;
  }
}
