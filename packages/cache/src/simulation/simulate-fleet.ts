/**
 * Plays a trace to a fleet of simulated caches and tells what it cost: `simulateFleet`. Time is
 * virtual (`packages/sim`), so hours of a fleet take minutes, and the same seed gives the same
 * figures.
 *
 * Production code that runs here, under every policy: `store/memory/s3-fifo.ts` and
 * `store/memory/copy-queue.ts` decide what is evicted. With the policy `summaries` also everything
 * that the head of policies/cooperating-node.ts lists. Modelled: clients, bodies, the time of
 * links and of the origin (fleet-ground.ts), requests that join a fetch (node-flights.ts), and the
 * other policies, each as the head of its file says.
 *
 * Not modelled: HTTP, Vary, validation, expiry (objects stay fresh), disks, load of processors and
 * links, faults apart from nodes that end (node-changes.ts).
 */

import { Simulation } from '@bloomery/sim';
import { SEND_LIMITS } from 'bloomery/wire';
import { FleetCounts } from './fleet-counts.ts';
import { FleetFront } from './fleet-front.ts';
import { FleetGround } from './fleet-ground.ts';
import { cacheSize, checkFleetOptions, DEFAULT_TIMES, type FleetOptions } from './fleet-options.ts';
import type { FleetPolicy } from './fleet-policy.ts';
import type { FleetResult } from './fleet-result.ts';
import { HolderIndex } from './holder-index.ts';
import { NodeChanges } from './node-changes.ts';
import { Alone } from './policies/alone.ts';
import { CooperatingNodes } from './policies/cooperating-nodes.ts';
import { GroupedNodes } from './policies/groups/grouped-nodes.ts';
import { HashedOwners } from './policies/hashed-owners.ts';
import { IcpQueries } from './policies/icp-queries.ts';
import { ChangedBits, UrlList, WholeDigest } from './policies/published-contents.ts';
import { PublishedDirectory } from './policies/published-directory.ts';
import type { TraceRequest } from './trace.ts';

/** Virtual time before the first request, in which the nodes find each other. */
const SETTLE_MS = 10_000;
/** Requests between two calls of `progress`. */
const PROGRESS_REQUESTS = 10_000;

export async function simulateFleet(options: FleetOptions): Promise<FleetResult> {
  checkFleetOptions(options);
  const run = new FleetRun(options);
  return run.play();
}

class FleetRun {
  readonly #options: FleetOptions;
  readonly #simulation: Simulation;
  readonly #counts: FleetCounts;
  readonly #holders = new HolderIndex();
  readonly #policy: FleetPolicy;
  readonly #front: FleetFront;
  readonly #requests: Iterator<TraceRequest>;
  readonly #changes: NodeChanges;
  #played = 0;
  #isOver = false;
  /** The figures, once the last request of the trace has its answer. */
  #result: FleetResult | null = null;

  constructor(options: FleetOptions) {
    const { nodes, seed, times, capacity, seriesEvery = Number.POSITIVE_INFINITY } = options;
    this.#options = options;
    this.#simulation = new Simulation({ seed });
    this.#counts = new FleetCounts(nodes, seriesEvery);
    const ground = new FleetGround({
      clock: this.#simulation.clockOf('world'),
      nodes,
      times: { ...DEFAULT_TIMES, ...times },
      size: cacheSize(capacity),
      counts: this.#counts,
      holders: this.#holders,
    });
    this.#policy = makePolicy(ground, options, this.#simulation);
    this.#front = new FleetFront(ground, this.#policy, () => this.#finish());
    this.#requests = options.trace[Symbol.iterator]();
    this.#changes = new NodeChanges(options.changes ?? [], this.#policy, (timeMs, run) =>
      this.#simulation.after(SETTLE_MS + timeMs - this.#simulation.elapsedMs, run),
    );
  }

  async play(): Promise<FleetResult> {
    const { signal, progress = () => {} } = this.#options;
    const simulation = this.#simulation;
    try {
      this.#changes.start();
      this.#schedule();
      let told = 0;
      while (this.#result === null) {
        await simulation.run({ events: EVENTS_PER_RUN, ...(signal === undefined ? {} : { signal }) });
        if (this.#played < told + PROGRESS_REQUESTS && this.#result === null) continue;
        told = this.#played;
        progress(told);
      }
      return this.#result;
    } finally {
      this.#policy.close();
      this.#requests.return?.();
    }
  }

  /** Takes the figures if the trace is over and all its requests have their answers. */
  #finish(): void {
    if (!this.#isOver || this.#front.open > 0) return;
    const memory = this.#policy.summaryMemory?.() ?? null;
    this.#result ??= this.#counts.result(this.#simulation.elapsedMs, this.#holders, memory);
  }

  /** Takes the next request of the trace, and plays it at its time. */
  #schedule(): void {
    const { warmUpRequests = 0, nodes } = this.#options;
    const simulation = this.#simulation;
    const { done, value } = this.#requests.next();
    if (done) {
      this.#isOver = true;
      this.#finish();
      return;
    }
    const request = value as TraceRequest;
    if (!(request.node >= 0 && request.node < nodes))
      throw new RangeError(
        `Cannot play a trace: expected a node below ${nodes}, got ${request.node} (request ${this.#played})`,
      );
    simulation.after(SETTLE_MS + request.timeMs - simulation.elapsedMs, () => {
      if (this.#played === warmUpRequests) this.#counts.reset(simulation.elapsedMs);
      this.#replace();
      this.#changes.checkRequest(request.node, this.#played);
      this.#played++;
      this.#front.request(request);
      this.#schedule();
    });
  }

  #replace(): void {
    const { replacements = [], nodes } = this.#options;
    for (const { beforeRequest, share } of replacements) {
      if (beforeRequest !== this.#played) continue;
      for (let node = 0; node < Math.round(share * nodes); node++) this.#policy.replace(node);
    }
  }
}

/** Events between two looks at the progress. */
const EVENTS_PER_RUN = 20_000;

function makePolicy(ground: FleetGround, options: FleetOptions, simulation: Simulation): FleetPolicy {
  const { policy } = options;
  const changedShare = options.updates?.changedShare ?? SEND_LIMITS.changedShare;
  switch (policy.kind) {
    case 'alone':
      return new Alone(ground);
    case 'icp':
      return new IcpQueries(ground);
    case 'consistent-hashing':
      return new HashedOwners(ground, policy.hotShare ?? 0);
    case 'summaries':
      return new CooperatingNodes(ground, {
        simulation,
        copies: policy.copies ?? 0.1,
        asksOwner: policy.owner ?? true,
        limits: options.updates ?? {},
        falseCandidates: options.falseCandidates,
        form: policy.form ?? 'set',
        sharesReceivers: policy.sharesReceivers ?? true,
      });
    case 'groups':
      return new GroupedNodes(ground, {
        simulation,
        size: policy.size,
        between: policy.between,
        copies: policy.copies ?? 0.1,
        limits: options.updates ?? {},
        falseCandidates: options.falseCandidates,
      });
    case 'url-lists':
      return new PublishedDirectory(ground, {
        contents: () => new UrlList(),
        updates: { newShare: changedShare },
        search: 'query-all',
      });
    case 'summary-cache': {
      const { bitsPerEntry = 16, hashes = 4 } = policy;
      return new PublishedDirectory(ground, {
        contents: () => new ChangedBits(ground.size.expectedEntries, bitsPerEntry, hashes),
        updates: { newShare: changedShare },
        search: 'query-all',
      });
    }
    case 'squid-digests': {
      const { bitsPerEntry = 5, rebuildMs = 3_600_000 } = policy;
      return new PublishedDirectory(ground, {
        contents: () => new WholeDigest(bitsPerEntry),
        updates: { everyMs: rebuildMs },
        search: 'ask-one',
      });
    }
  }
}
