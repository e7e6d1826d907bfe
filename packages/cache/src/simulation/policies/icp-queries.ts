/**
 * Queries in the way of ICP (RFC 2186): at a miss a node asks all others, and fetches the object
 * from the first that says it has it, or from the origin when all have said no. Every node keeps
 * what it gets, as siblings of Squid do.
 *
 * Sizes are those of RFC 2186: a header of 20 bytes; a query has 4 bytes for an address and the URL
 * with its zero byte, a reply the URL with its zero byte. No datagram is lost here, so no miss
 * waits for a time-out, which is in favour of this row.
 */

import type { FleetGround } from '../fleet-ground.ts';
import type { FetchedFrom, FleetPolicy } from '../fleet-policy.ts';
import type { ObjectCache } from '../object-cache.ts';
import { keyOfObject } from '../trace.ts';

const HEADER_BYTES = 20;
const ADDRESS_BYTES = 4;

/** Bytes of an ICP query for an object, and of a reply. */
function icpBytes(object: number): { readonly query: number; readonly reply: number } {
  const reply = HEADER_BYTES + keyOfObject(object).length + 1;
  return { query: reply + ADDRESS_BYTES, reply };
}

export class IcpQueries implements FleetPolicy {
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
    const { nodes } = this.#ground;
    const others: number[] = [];
    for (let other = 0; other < nodes; other++) if (other !== node) others.push(other);
    const keep = (from: FetchedFrom) => {
      this.#caches[node]!.put(object, this.#ground.size.costOf(object, bytes, from), false);
      landed(from);
    };
    queryNeighbours(this.#ground, this.#caches, others, object, (holder) => {
      if (holder === null) this.#ground.askOrigin(object, bytes, () => keep('origin'));
      else getFromNeighbour(this.#ground, this.#caches, holder, object, bytes, keep);
    });
  }

  replace(node: number): void {
    this.#caches[node]!.clear();
    this.#caches[node] = this.#ground.newCache();
  }

  close(): void {}
}

/**
 * Puts an ICP query to some neighbours. `done` gets one that has the object, by chance among
 * several because all are equally far, or null when all have said no. Both take a round trip. It
 * also gets what each neighbour has said.
 */
export function queryNeighbours(
  { clock, counts, times }: FleetGround,
  caches: readonly ObjectCache[],
  neighbours: readonly number[],
  object: number,
  done: (holder: number | null, asked: readonly boolean[]) => void,
): void {
  const { query, reply } = icpBytes(object);
  counts.sent('query', query, neighbours.length);
  counts.waited();
  clock.after(times.neighbourMs / 2, () => {
    counts.sent('reply', reply, neighbours.length);
    const asked = neighbours.map((neighbour) => caches[neighbour]!.has(object));
    const holders = neighbours.filter((_, i) => asked[i]);
    const chosen = holders.length === 0 ? null : holders[Math.floor(clock.random() * holders.length)]!;
    clock.after(times.neighbourMs / 2, () => done(chosen, asked));
  });
}

/**
 * Gets an object from a neighbour that is said to have it. If it has lost the object meanwhile, the
 * origin is asked.
 */
export function getFromNeighbour(
  ground: FleetGround,
  caches: readonly ObjectCache[],
  holder: number,
  object: number,
  bytes: number,
  keep: (from: FetchedFrom) => void,
): void {
  const { clock, counts, times } = ground;
  counts.waited();
  clock.after(times.neighbourMs / 2, () => {
    counts.asked(holder);
    const isThere = caches[holder]!.use(object);
    clock.after(times.neighbourMs / 2 + (isThere ? ground.bodyMs(bytes) : 0), () => {
      if (isThere) {
        counts.transferred(bytes);
        keep('neighbour');
        return;
      }
      const { query, reply } = icpBytes(object);
      counts.sent('query', query);
      counts.sent('reply', reply);
      counts.falseHit();
      ground.askOrigin(object, bytes, () => keep('origin'));
    });
  });
}
