/**
 * Nodes of a simulated fleet that end and begin again while requests are played: a goodbye, a kill,
 * and a start with an empty cache. The same list can be carried out with real processes
 * (`playChurn` of the test kit), so that the figures of both can be compared.
 *
 * The caller sends no requests to nodes that are down: where the clients of such a node go is a
 * question to a load balancer. A request for one is refused, because its figures would be those of
 * a node that is not there.
 */

import type { FleetPolicy } from './fleet-policy.ts';

export interface NodeChange {
  /** Time since the first request may come. */
  readonly timeMs: number;
  readonly node: number;
  /** `leave` says goodbye, `kill` does not. */
  readonly kind: 'join' | 'leave' | 'kill';
}

/** Throws if the changes cannot be played in this order to nodes that are all up at first. */
export function checkChanges(changes: readonly NodeChange[], nodes: number, policy: string): void {
  if (policy !== 'summaries' && changes.length > 0)
    throw new RangeError(
      `Cannot simulate a fleet: expected the policy summaries for nodes that end, got ${policy}`,
    );
  const down = new Set<number>();
  let lastMs = 0;
  for (const [at, { timeMs, node, kind }] of changes.entries()) {
    const isRight = Number.isInteger(node) && node >= 0 && node < nodes && timeMs >= lastMs;
    if (!isRight || (kind === 'join') !== down.has(node))
      throw new RangeError(
        `Cannot simulate a fleet: expected changes by rising times, of nodes below ${nodes} that are up or down, got ${kind} of ${node} at ${timeMs} ms (change ${at})`,
      );
    lastMs = timeMs;
    if (kind === 'join') down.delete(node);
    else down.add(node);
  }
}

export class NodeChanges {
  readonly #changes: readonly NodeChange[];
  readonly #policy: FleetPolicy;
  readonly #at: (timeMs: number, run: () => void) => void;
  readonly #down = new Set<number>();

  /** `at` runs something at a time of the trace. */
  constructor(
    changes: readonly NodeChange[],
    policy: FleetPolicy,
    at: (timeMs: number, run: () => void) => void,
  ) {
    this.#changes = changes;
    this.#policy = policy;
    this.#at = at;
  }

  start(): void {
    for (const change of this.#changes) this.#at(change.timeMs, () => this.#run(change));
  }

  /** Throws if a node is down that a request is for. */
  checkRequest(node: number, request: number): void {
    if (this.#down.has(node))
      throw new RangeError(
        `Cannot play a trace: expected a node that is up, got node ${node} (request ${request})`,
      );
  }

  #run({ node, kind }: NodeChange): void {
    if (kind === 'join') {
      this.#down.delete(node);
      this.#policy.begin?.(node);
    } else {
      this.#down.add(node);
      this.#policy.end?.(node, kind);
    }
  }
}
