/**
 * Plays requests to a fleet in groups whose nodes come and go: `simulateChurn`. The groups elect
 * their leaders by `LeaderBeats`, the leaders tell who is there, and objects have owners among the
 * groups (policies/groups/group-owners.ts).
 *
 * Each node runs for a time that is exponential with the mean of its kind, is down for a time, and
 * starts again with nothing. Half of the ends are crashes: no message tells it, and the neighbours
 * notice by silence. The other half finish their open requests first. Requests arrive as a Poisson
 * process, each at a node that runs, as behind a load balancer. Churn begins after `settleMs`. A
 * quiet time follows it, in which each open request must get its answer.
 *
 * Not modelled: partitions and lost messages (packages/sim/test/groups has them for the election
 * alone), and clients that ask again after their node has crashed.
 */

import { randomStream, Simulation } from '@bloomery/sim';
import type { LeaderClaim } from '@bloomery/transport/membership';
import { FleetCounts } from './fleet-counts.ts';
import { FleetFront } from './fleet-front.ts';
import { FleetGround, type FleetTimes } from './fleet-ground.ts';
import { cacheSize, DEFAULT_TIMES } from './fleet-options.ts';
import type { FleetResult } from './fleet-result.ts';
import { HolderIndex } from './holder-index.ts';
import { GroupedNodes } from './policies/groups/grouped-nodes.ts';
import { zipfTrace } from './traces/zipf-trace.ts';

export interface ChurnOptions {
  readonly nodes: number;
  readonly groupSize: number;
  readonly seed: number;
  /** Objects that each node holds. */
  readonly capacity: number;
  /** Different objects of the trace. */
  readonly objects: number;
  /** Requests per second, for each node of the whole fleet. */
  readonly rate: number;
  /** Mean time for which a node runs, by its number. Infinity for one that stays. */
  readonly meanUpMs: (node: number) => number;
  /** Time for which a node is down: the mean of an exponential time, or exactly that. */
  readonly down: { readonly meanMs: number } | { readonly exactlyMs: number };
  /** Times other than `DEFAULT_TIMES`. */
  readonly times?: Partial<FleetTimes>;
  readonly settleMs?: number;
  readonly churnMs?: number;
  readonly quietMs?: number;
  readonly signal?: AbortSignal;
}

/** A claim of a node to lead its group, at a time of the simulation. */
export interface ChurnClaim extends LeaderClaim {
  readonly group: number;
  readonly atMs: number;
}

export interface ChurnResult {
  readonly fleet: FleetResult;
  readonly ends: { readonly stops: number; readonly crashes: number };
  readonly starts: number;
  /** Ends of a node that led its group at that moment. */
  readonly leaderEnds: number;
  /** Requests that were open at a node that crashed. */
  readonly lostRequests: number;
  /** Requests that have no answer after the quiet time. */
  readonly unanswered: number;
  /** All claims, in the order of their times. The first of each group is no change. */
  readonly claims: readonly ChurnClaim[];
  /** The names that nodes believe their group's leader to have at the end, for each group. */
  readonly beliefs: readonly (readonly string[])[];
  /** Virtual time in which nodes came and went. */
  readonly churnMs: number;
}

const SETTLE_MS = 120_000;
const CHURN_MS = 600_000;
const QUIET_MS = 120_000;
const CRASH_SHARE = 0.5;

export async function simulateChurn(options: ChurnOptions): Promise<ChurnResult> {
  const run = new ChurnRun(options);
  return run.play();
}

class ChurnRun {
  readonly #options: ChurnOptions;
  readonly #simulation: Simulation;
  readonly #counts: FleetCounts;
  readonly #holders = new HolderIndex();
  readonly #policy: GroupedNodes;
  readonly #front: FleetFront;
  readonly #random: () => number;
  readonly #claims: ChurnClaim[] = [];
  readonly #endMs: number;
  readonly #running: number[];
  #stops = 0;
  #crashes = 0;
  #starts = 0;
  #leaderEnds = 0;
  #lostRequests = 0;

  constructor(options: ChurnOptions) {
    const { nodes, groupSize, seed, capacity, settleMs = SETTLE_MS, churnMs = CHURN_MS } = options;
    this.#options = options;
    this.#endMs = settleMs + churnMs;
    this.#simulation = new Simulation({ seed });
    this.#random = randomStream(seed, 'churn');
    this.#counts = new FleetCounts(nodes, Number.POSITIVE_INFINITY);
    this.#running = Array.from({ length: nodes }, (_, node) => node);
    const ground = new FleetGround({
      clock: this.#simulation.clockOf('world'),
      nodes,
      times: { ...DEFAULT_TIMES, ...options.times },
      size: cacheSize({ objects: capacity }),
      counts: this.#counts,
      holders: this.#holders,
    });
    this.#policy = new GroupedNodes(ground, {
      simulation: this.#simulation,
      size: groupSize,
      between: 'group-owner',
      copies: 0.1,
      limits: {},
      falseCandidates: undefined,
      claimed: (group, _node, claim) =>
        this.#claims.push({ ...claim, group, atMs: this.#simulation.elapsedMs }),
    });
    this.#front = new FleetFront(ground, this.#policy, () => {});
  }

  async play(): Promise<ChurnResult> {
    const { nodes, groupSize, settleMs = SETTLE_MS, churnMs = CHURN_MS, quietMs = QUIET_MS } = this.#options;
    const { signal } = this.#options;
    const aborted = signal === undefined ? {} : { signal };
    const simulation = this.#simulation;
    try {
      this.#playRequests();
      await simulation.run({ untilMs: settleMs, ...aborted });
      this.#counts.reset(simulation.elapsedMs);
      for (let node = 0; node < nodes; node++) this.#planEnd(node);
      await simulation.run({ untilMs: this.#endMs + quietMs, ...aborted });
      const groups = Array.from({ length: Math.ceil(nodes / groupSize) }, (_, group) => group);
      return {
        fleet: this.#counts.result(simulation.elapsedMs, this.#holders, this.#policy.summaryMemory()),
        ends: { stops: this.#stops, crashes: this.#crashes },
        starts: this.#starts,
        leaderEnds: this.#leaderEnds,
        lostRequests: this.#lostRequests,
        unanswered: this.#front.open,
        claims: this.#claims,
        beliefs: groups.map((group) => this.#policy.believedLeaders(group)),
        churnMs,
      };
    } finally {
      this.#policy.close();
    }
  }

  /** Requests arrive until churn ends, at nodes that run. */
  #playRequests(): void {
    const { nodes, objects, rate, seed } = this.#options;
    const requests = Math.floor((rate * nodes * this.#endMs) / 1000);
    if (requests === 0) return;
    const trace = zipfTrace({ objects, requests, nodes: 1, ratePerNode: rate * nodes, seed });
    const iterator = trace[Symbol.iterator]();
    const next = () => {
      const { done, value } = iterator.next();
      if (done || value.timeMs > this.#endMs) return;
      this.#simulation.after(value.timeMs - this.#simulation.elapsedMs, () => {
        const node = this.#running[Math.floor(this.#random() * this.#running.length)];
        if (node !== undefined) this.#front.request({ ...value, node });
        next();
      });
    };
    next();
  }

  #planEnd(node: number): void {
    const meanMs = this.#options.meanUpMs(node);
    if (meanMs === Number.POSITIVE_INFINITY) return;
    this.#simulation.after(this.#exponential(meanMs), () => {
      if (this.#simulation.elapsedMs >= this.#endMs) return;
      this.#end(node);
      const { down } = this.#options;
      const downMs = 'exactlyMs' in down ? down.exactlyMs : this.#exponential(down.meanMs);
      this.#simulation.after(downMs, () => {
        this.#policy.start(node);
        this.#running.push(node);
        this.#starts++;
        this.#planEnd(node);
      });
    });
  }

  #end(node: number): void {
    this.#running.splice(this.#running.indexOf(node), 1);
    if (this.#policy.isLeading(node)) this.#leaderEnds++;
    if (this.#random() < CRASH_SHARE) {
      this.#crashes++;
      this.#lostRequests += this.#front.abandon(node);
      this.#policy.crash(node);
    } else {
      this.#stops++;
      this.#policy.stop(node);
    }
  }

  #exponential(meanMs: number): number {
    return -meanMs * Math.log(1 - this.#random());
  }
}
