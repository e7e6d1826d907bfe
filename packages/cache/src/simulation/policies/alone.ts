/**
 * Nodes that do not cooperate: a miss goes to the origin, and the object is kept. It is the row
 * that every other one is compared with.
 */

import type { FleetGround } from '../fleet-ground.ts';
import type { FetchedFrom, FleetPolicy } from '../fleet-policy.ts';
import type { ObjectCache } from '../object-cache.ts';

export class Alone implements FleetPolicy {
  readonly #ground: FleetGround;
  readonly #caches: ObjectCache[];

  constructor(ground: FleetGround) {
    this.#ground = ground;
    this.#caches = Array.from({ length: ground.nodes }, () => ground.newCache());
  }

  lookUp(node: number, object: number): boolean {
    return this.#caches[node]!.use(object);
  }

  fetch(node: number, object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    const { size } = this.#ground;
    this.#ground.askOrigin(object, bytes, () => {
      this.#caches[node]!.put(object, size.costOf(object, bytes, 'origin'), false);
      landed('origin');
    });
  }

  replace(node: number): void {
    this.#caches[node]!.clear();
    this.#caches[node] = this.#ground.newCache();
  }

  close(): void {}
}
