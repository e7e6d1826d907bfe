/**
 * Cooperation as other systems have it: every node keeps everything that it gets, and tells its
 * neighbours what it holds (published-contents.ts). The systems differ in the form of what is told,
 * in its time, and in what a node does with the candidates at a miss:
 *
 * - Lists of URLs and the filters of Summary Cache are told when a share of the objects is new. All
 *   candidates are queried by ICP, as Summary Cache does.
 * - Squid's digests are told at fixed times. One candidate by chance is asked for the object, and
 *   then the origin if that candidate does not have it.
 *
 * Nothing is lost or late beyond the time of a link.
 */

import type { Cancel } from '@bloomery/transport';
import type { FleetGround } from '../fleet-ground.ts';
import type { FetchedFrom, FleetPolicy } from '../fleet-policy.ts';
import type { ObjectCache } from '../object-cache.ts';
import { getFromNeighbour, queryNeighbours } from './icp-queries.ts';
import { hashOf, type PublishedContents } from './published-contents.ts';

export interface PublishedDirectoryOptions {
  readonly contents: () => PublishedContents;
  /** The time of updates: when this share of the objects is new, or every so many milliseconds. */
  readonly updates: { readonly newShare: number } | { readonly everyMs: number };
  /** Whether all candidates are queried, or one is asked for the object at once. */
  readonly search: 'query-all' | 'ask-one';
}

interface PublishingNode {
  readonly cache: ObjectCache;
  readonly contents: PublishedContents;
  /** Objects that came since the last update, and the sum of their times. */
  added: number;
  addedSinceMs: number;
}

export class PublishedDirectory implements FleetPolicy {
  readonly #ground: FleetGround;
  readonly #options: PublishedDirectoryOptions;
  readonly #nodes: PublishingNode[];
  readonly #caches: ObjectCache[];
  readonly #timers: Cancel[] = [];

  constructor(ground: FleetGround, options: PublishedDirectoryOptions) {
    this.#ground = ground;
    this.#options = options;
    this.#nodes = Array.from({ length: ground.nodes }, () => this.#start());
    this.#caches = this.#nodes.map(({ cache }) => cache);
    const { updates } = options;
    // Nodes of a real fleet were not all started in the same minute.
    if ('everyMs' in updates)
      for (let node = 0; node < ground.nodes; node++)
        this.#repeat(node, updates.everyMs, (updates.everyMs * (node + 1)) / ground.nodes);
  }

  lookUp(node: number, object: number): boolean {
    return this.#nodes[node]!.cache.use(object);
  }

  fetch(node: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    const ground = this.#ground;
    const { cache } = this.#nodes[node]!;
    const keep = (from: FetchedFrom) => {
      cache.put(object, ground.size.costOf(object, bytes, from), false);
      this.#publishIfDue(node);
      landed(from);
    };
    const get = (holder: number | null) => {
      if (holder === null) ground.askOrigin(object, bytes, () => keep('origin'));
      else getFromNeighbour(ground, this.#caches, holder, object, bytes, keep);
    };
    const candidates = this.#candidates(node, object);
    if (candidates.length === 0) get(null);
    else if (this.#options.search === 'ask-one')
      get(candidates[Math.floor(ground.clock.random() * candidates.length)]!);
    else
      queryNeighbours(ground, this.#caches, candidates, object, (holder, asked) => {
        for (let wrong = asked.filter((isHolder) => !isHolder).length; wrong > 0; wrong--)
          ground.counts.falseHit();
        get(holder);
      });
  }

  replace(node: number): void {
    const old = this.#nodes[node]!;
    old.cache.clear();
    this.#nodes[node] = this.#start();
    this.#caches[node] = this.#nodes[node]!.cache;
  }

  close(): void {
    for (const cancel of this.#timers) cancel();
  }

  #start(): PublishingNode {
    const { clock } = this.#ground;
    const contents = this.#options.contents();
    const cache = this.#ground.newCache({
      listener: {
        added: (object) => {
          contents.added(object);
          node.added++;
          node.addedSinceMs += clock.monotonic();
        },
        adopted: () => {},
        removed: (object) => contents.removed(object),
      },
    });
    const node: PublishingNode = { cache, contents, added: 0, addedSinceMs: 0 };
    return node;
  }

  #candidates(node: number, object: number): number[] {
    const hash = hashOf(object);
    const found: number[] = [];
    for (let other = 0; other < this.#nodes.length; other++)
      if (other !== node && this.#nodes[other]!.contents.mayHold(object, hash)) found.push(other);
    return found;
  }

  #publishIfDue(node: number): void {
    const { updates } = this.#options;
    const { added, cache } = this.#nodes[node]!;
    if ('newShare' in updates && added >= updates.newShare * cache.size) this.#publish(node);
  }

  #publish(node: number): void {
    const { clock, counts, times, nodes } = this.#ground;
    const publishing = this.#nodes[node]!;
    const { bytes, heard } = publishing.contents.publish();
    const { added, addedSinceMs } = publishing;
    publishing.added = publishing.addedSinceMs = 0;
    counts.sent('update', bytes, nodes - 1);
    clock.after(times.neighbourMs / 2, () => {
      heard();
      counts.told(added, added * clock.monotonic() - addedSinceMs);
    });
  }

  #repeat(node: number, everyMs: number, firstMs: number): void {
    this.#timers[node] = this.#ground.clock.after(firstMs, () => {
      this.#publish(node);
      this.#repeat(node, everyMs, everyMs);
    });
  }
}
