/**
 * A fleet of three in a virtual network under constant load, and every fault in turn, for a time or
 * for a number of answers. It samples memory and open descriptors of each node once a minute, and
 * notes after each fault how long it took until all nodes were current again.
 *
 * In a soak (`minutes`) all faults come once a minute. A round that takes longer than a minute is
 * followed by the next one at once. The default is 2 s for each fault and 17 s for the partition,
 * which is longer than the three heartbeats after which a neighbour is given up.
 *
 * Events go to `tell` as they come, one plain object each, so that the figures of a run which is
 * ended early are not lost.
 *
 * Where it breaks down: clients, origin and relays share one process, and the machine with the
 * nodes, so the latencies are those of a busy machine.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CheckedCrowd } from '../../packages/testkit/src/faults/checked-crowd.ts';
import { type FleetFault, faultsOf } from '../../packages/testkit/src/faults/fleet-fault.ts';
import { NetworkFleet } from '../../packages/testkit/src/faults/network-fleet.ts';
import { type FaultFigures, playFault } from '../../packages/testkit/src/faults/play-fault.ts';
import { World } from '../../packages/testkit/src/origins/chaos-world.ts';
import { quantile } from '../cooperation/bench-fleet.ts';

export interface FaultRunOptions {
  readonly transport: 'http' | 'nats';
  /** The end of the run: after this time, or after this many answers. */
  readonly minutes?: number | undefined;
  readonly answers?: number | undefined;
  readonly clients: number;
  /** Requests in a second. Default: as many as come. */
  readonly perSecond?: number | undefined;
  readonly holdMs: number;
  readonly partitionMs: number;
  /** The arguments of Node that start a node with a file of settings. */
  readonly program: (settingsFile: string) => readonly string[];
  readonly tell: (event: Readonly<Record<string, unknown>>) => void;
  /** Ends the run after the fault that is under way, with its figures so far. */
  readonly signal?: AbortSignal | undefined;
}

/** One node at one moment. */
interface NodeSample {
  readonly node: string;
  readonly rss: number;
  readonly descriptors: number;
  /** Neighbours that it does not ask at present, with the reason. */
  readonly masked: readonly string[];
}

interface FaultSample {
  /** Ms since the start. */
  readonly at: number;
  readonly answers: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly load: number;
  readonly nodes: readonly NodeSample[];
}

export interface FaultRunResult {
  readonly transport: string;
  readonly ms: number;
  readonly answers: number;
  readonly bytes: number;
  readonly hits: number;
  readonly orphans: number;
  readonly repeated: number;
  readonly originRequests: number;
  readonly wrongAnswers: number;
  readonly failures: number;
  /** The first hundred of each. */
  readonly wrong: readonly string[];
  readonly failed: readonly string[];
  readonly firstBytesMs: readonly number[];
  readonly faults: readonly FaultFigures[];
  readonly samples: readonly FaultSample[];
  /** Faults after which not everyone was current within the deadline, and crashes. */
  readonly problems: readonly string[];
}

const NODES = 3;
const MINUTE_MS = 60_000;

export async function runFaults(options: FaultRunOptions): Promise<FaultRunResult> {
  const { transport, clients, perSecond, tell } = options;
  const world = new World({ objects: 1500, largeBytes: 60_000, changes: 0.02 });
  await using fleet = await NetworkFleet.start({
    nodes: NODES,
    transport,
    program: options.program,
    // Both tiers are too small for all objects. The last node, which is killed, has no disk.
    settings: (index, folder) => ({
      memory: '16MB',
      ...(index < NODES - 1 ? { disk: `${folder}/disk-${index}`, diskSize: '60MB' } : {}),
    }),
    serveOrigin: (listener) => world.listen(listener),
  });
  await using crowd = new CheckedCrowd({
    world,
    nodes: fleet.nodes,
    clients,
    random: Math.random,
    ...(perSecond === undefined ? {} : { perSecond }),
  });
  const run = new FaultRun(options, fleet, crowd);
  tell({ event: 'started', transport, load: loadavg()[0] });
  await run.play();
  await crowd[Symbol.asyncDispose]();
  await world.close();
  return { ...run.result(), originRequests: world.requests };
}

class FaultRun {
  readonly #options: FaultRunOptions;
  readonly #fleet: NetworkFleet;
  readonly #crowd: CheckedCrowd;
  readonly #began = performance.now();
  readonly #faults: FaultFigures[] = [];
  readonly #samples: FaultSample[] = [];
  readonly #problems: string[] = [];
  readonly #firstBytesMs: number[] = [];

  constructor(options: FaultRunOptions, fleet: NetworkFleet, crowd: CheckedCrowd) {
    this.#options = options;
    this.#fleet = fleet;
    this.#crowd = crowd;
  }

  async play(): Promise<void> {
    const { minutes } = this.#options;
    await this.#sample();
    for (let round = 1; !this.#isOver; round++) {
      for (const fault of faultsOf(this.#fleet)) {
        if (this.#isOver) break;
        await this.#play(fault, round);
        if (this.#ms >= this.#samples.length * MINUTE_MS) await this.#sample();
      }
      if (minutes !== undefined && !this.#isOver)
        await sleep(Math.max(0, Math.min(round, minutes) * MINUTE_MS - this.#ms));
    }
    await this.#sample();
    for (const { name, said, isRunning } of this.#fleet.nodes)
      if (!isRunning || said.length > 0) this.#problem(`${name} ended or said ${said.join(' ')}`);
  }

  result(): Omit<FaultRunResult, 'originRequests'> {
    const { answers, bytes, hits, orphans, repeated, wrong, failed, wrongAnswers, failures } = this.#crowd;
    return {
      transport: this.#options.transport,
      ms: this.#ms,
      answers,
      bytes,
      hits,
      orphans,
      repeated,
      wrongAnswers,
      failures,
      wrong,
      failed,
      firstBytesMs: this.#firstBytesMs,
      faults: this.#faults,
      samples: this.#samples,
      problems: this.#problems,
    };
  }

  get #ms(): number {
    return performance.now() - this.#began;
  }

  get #isOver(): boolean {
    const { minutes = Number.POSITIVE_INFINITY, answers = Number.POSITIVE_INFINITY, signal } = this.#options;
    if (signal?.aborted) return true;
    return this.#ms >= minutes * MINUTE_MS || this.#crowd.answers >= answers;
  }

  async #play(fault: FleetFault, round: number): Promise<void> {
    const { holdMs, partitionMs, tell } = this.#options;
    const hold = () => sleep(fault.sides === undefined ? holdMs : partitionMs);
    try {
      const figures = await playFault(this.#fleet, this.#crowd, fault, hold);
      this.#faults.push(figures);
      tell({ event: 'fault', round, at: Math.round(this.#ms), ...figures });
    } catch (error) {
      this.#problem(`${fault.name}: ${error}`);
    }
  }

  async #sample(): Promise<void> {
    const times = this.#crowd.takeFirstBytes();
    for (const time of times) this.#firstBytesMs.push(time);
    const sample: FaultSample = {
      at: Math.round(this.#ms),
      answers: this.#crowd.answers,
      p50Ms: quantile(times, 0.5),
      p99Ms: quantile(times, 0.99),
      load: loadavg()[0]!,
      nodes: await Promise.all(this.#fleet.nodes.map(sampleOf)),
    };
    this.#samples.push(sample);
    const { wrongAnswers, failures, wrong, failed } = this.#crowd;
    this.#options.tell({
      event: 'sample',
      ...sample,
      wrongAnswers,
      failures,
      last: [wrong.at(-1), failed.at(-1)],
    });
  }

  #problem(text: string): void {
    this.#problems.push(text);
    this.#options.tell({ event: 'problem', text });
  }
}

async function sampleOf(node: NetworkFleet['nodes'][number]): Promise<NodeSample> {
  const { name, pid } = node;
  const pages = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  const peers = (await node.status()).cooperation?.peers ?? [];
  return {
    node: name,
    rss: 1024 * Number(pages?.[1]),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    masked: peers.flatMap(({ id, masked }) => (masked === null ? [] : [`${id}: ${masked}`])),
  };
}
