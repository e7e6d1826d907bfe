/**
 * The side of a simulated fleet that faces clients: a request is answered from the store of its
 * node, or waits for a fetch of the same node, or begins one.
 */

import type { OpenRequest } from './fleet-counts.ts';
import type { FleetGround } from './fleet-ground.ts';
import type { FleetPolicy } from './fleet-policy.ts';
import type { TraceRequest } from './trace.ts';

export class FleetFront {
  readonly #ground: FleetGround;
  readonly #policy: FleetPolicy;
  readonly #idle: () => void;
  /** The requests that have no answer yet, by node. */
  readonly #openAt = new Map<number, Set<OpenRequest>>();
  #open = 0;

  /** `idle` is called whenever the last open request has got its answer. */
  constructor(ground: FleetGround, policy: FleetPolicy, idle: () => void) {
    this.#ground = ground;
    this.#policy = policy;
    this.#idle = idle;
  }

  /** Requests that have no answer yet. */
  get open(): number {
    return this.#open;
  }

  request({ node, object, bytes }: Omit<TraceRequest, 'timeMs'>): void {
    const { counts, clock, times, flights } = this.#ground;
    const request = counts.began(node, bytes, clock.monotonic());
    if (this.#policy.lookUp(node, object)) {
      counts.answered(request, 'local', clock.monotonic() + times.localMs);
      return;
    }
    this.#open++;
    const openHere = this.#openAt.get(node) ?? new Set();
    this.#openAt.set(node, openHere.add(request));
    const landed = (from: 'neighbour' | 'origin', joined: boolean) => {
      if (!openHere.delete(request)) return;
      counts.answered(request, joined ? 'local' : from, clock.monotonic() + times.localMs, joined);
      if (--this.#open === 0) this.#idle();
    };
    const own = flights[node]!;
    if (own.has(object)) {
      own.join(object, landed);
      return;
    }
    own.begin(object, landed);
    this.#policy.fetch(node, object, bytes, (from) => own.land(object, from));
  }

  /** A node crashes: its open requests get no answer. Returns their number. */
  abandon(node: number): number {
    const open = this.#openAt.get(node);
    if (open === undefined) return 0;
    this.#openAt.delete(node);
    const lost = open.size;
    open.clear();
    this.#open -= lost;
    return lost;
  }
}
