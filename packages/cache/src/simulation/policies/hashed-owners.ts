/**
 * Consistent hashing: each object belongs to one node, by `rendezvousOrder` of
 * `packages/transport`, which is also how production finds owners. A node that is asked for an
 * object of another one passes the request on, and the owner answers from its store or fetches.
 * The node that was asked keeps nothing, unless there is a hot cache.
 *
 * The hot cache is groupcache's: an eighth of the memory, into which one in ten objects that came
 * from their owner is put at random (`github.com/golang/groupcache`, `mainCache` and `hotCache`;
 * there too an eighth is the bound). Here both parts evict by S3-FIFO, as all rows do; groupcache's
 * are LRU.
 *
 * There are no messages: the request that is passed on belongs to the transfer of its object. All
 * nodes agree on the list of members at every moment, which is in favour of this row.
 */

import { rendezvousOrder } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import type { FleetGround } from '../fleet-ground.ts';
import type { FetchedFrom, FleetPolicy } from '../fleet-policy.ts';
import type { ObjectCache } from '../object-cache.ts';
import { keyOfObject } from '../trace.ts';

/** The chance that an object from its owner is put into the hot cache. */
const HOT_CHANCE = 0.1;

export class HashedOwners implements FleetPolicy {
  readonly #ground: FleetGround;
  readonly #hotShare: number;
  readonly #caches: ObjectCache[];
  readonly #hot: ObjectCache[];
  readonly #ids: readonly string[];
  readonly #owners = new Map<number, number>();

  /** `hotShare` is the part of each node for its hot cache; 0 for none. */
  constructor(ground: FleetGround, hotShare: number) {
    this.#ground = ground;
    this.#hotShare = hotShare;
    this.#caches = Array.from({ length: ground.nodes }, () => ground.newCache({ share: 1 - hotShare }));
    this.#hot = Array.from({ length: ground.nodes }, () => ground.newCache({ share: hotShare }));
    this.#ids = this.#caches.map((_, node) => `node-${node}`);
  }

  lookUp(node: number, object: number): boolean {
    return this.#caches[node]!.use(object) || this.#hot[node]!.use(object);
  }

  fetch(node: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    const owner = this.#ownerOf(object);
    if (owner === node) {
      this.#askOrigin(owner, object, bytes, landed);
      return;
    }
    const { clock, counts, times, flights } = this.#ground;
    const arrived = (from: FetchedFrom) =>
      clock.after(times.neighbourMs / 2 + this.#ground.bodyMs(bytes), () => {
        counts.transferred(bytes);
        if (this.#hotShare > 0 && clock.random() < HOT_CHANCE)
          this.#put(this.#hot[node]!, object, bytes, 'neighbour');
        landed(from);
      });
    counts.waited();
    clock.after(times.neighbourMs / 2, () => {
      counts.asked(owner);
      const own = flights[owner]!;
      if (this.#caches[owner]!.use(object)) arrived('neighbour');
      else if (own.has(object)) own.join(object, () => arrived('neighbour'));
      else {
        own.begin(object, arrived);
        this.#askOrigin(owner, object, bytes, (from) => own.land(object, from));
      }
    });
  }

  replace(node: number): void {
    for (const caches of [this.#caches, this.#hot]) caches[node]!.clear();
    this.#caches[node] = this.#ground.newCache({ share: 1 - this.#hotShare });
    this.#hot[node] = this.#ground.newCache({ share: this.#hotShare });
  }

  close(): void {}

  #askOrigin(owner: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    this.#ground.askOrigin(object, bytes, () => {
      this.#put(this.#caches[owner]!, object, bytes, 'origin');
      landed('origin');
    });
  }

  #put(cache: ObjectCache, object: number, bytes: number, from: FetchedFrom): void {
    cache.put(object, this.#ground.size.costOf(object, bytes, from), false);
  }

  #ownerOf(object: number): number {
    let owner = this.#owners.get(object);
    if (owner === undefined) {
      owner = this.#ids.indexOf(rendezvousOrder(hashKey(keyOfObject(object)), this.#ids)[0]!);
      this.#owners.set(object, owner);
    }
    return owner;
  }
}
