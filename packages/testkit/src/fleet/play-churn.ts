/**
 * Plays a trace against a fleet of real nodes (play-trace.ts) while nodes leave, are killed and
 * come back by a schedule (churn-schedule.ts), and counts.
 *
 * Counts of a node end with its process, so they are read just before it ends and added up. An
 * answer is *cut* if its node was killed before it was whole: its client sees that. Every other
 * answer that fails is a failure of a node that is up, and is listed with its cause.
 */

import { Agent } from 'node:http';
import { checkedGet } from './checked-get.ts';
import type { PlannedChange } from './churn-schedule.ts';
import type { Fleet } from './fleet.ts';
import type { FleetNode } from './fleet-node.ts';
import { countsOver, type MeasuredCounts, measuredCounts } from './measured-counts.ts';
import { type PlayedRequest, pause, tracePath } from './play-trace.ts';

export interface PlayedChurn {
  readonly requests: number;
  /** Answers that ended because their node was killed. */
  readonly cut: number;
  /** Failures of nodes that were up, in words. */
  readonly failed: readonly string[];
  /** Faults of answers that looked whole. */
  readonly wrong: readonly string[];
  /** Changes by kind. */
  readonly changes: Readonly<Record<PlannedChange['kind'], number>>;
  /** Exit codes of nodes that left, other than 0. */
  readonly badExits: readonly (number | string | undefined)[];
  /** Sum over all processes. */
  readonly counts: MeasuredCounts;
  /** The longest time by which a request was sent later than the trace says. */
  readonly latestMs: number;
}

export async function playChurn(
  fleet: Fleet,
  trace: Iterable<PlayedRequest>,
  changes: readonly PlannedChange[],
): Promise<PlayedChurn> {
  const { nodes } = fleet;
  const began = performance.now();
  const untilTime = async (timeMs: number) => {
    const early = began + timeMs - performance.now();
    if (early > 0) await pause(early);
  };
  const changing = new Changing(nodes, changes);
  const before = await measuredCounts(nodes);
  const agents = nodes.map(() => new Agent({ keepAlive: true }));
  const answers: Promise<void>[] = [];
  const wrong: string[] = [];
  const failed: string[] = [];
  let cut = 0;
  let latestMs = 0;
  const ask = async ({ timeMs, node, object, bytes }: PlayedRequest) => {
    const path = tracePath(object, bytes);
    await changing.processOf(node).started;
    latestMs = Math.max(latestMs, performance.now() - began - timeMs);
    const answer = await checkedGet(nodes[node]!.port, path, { agent: agents[node]! });
    if (answer.wrong !== null) wrong.push(answer.wrong);
    if (answer.status === 200 && answer.isWhole) return;
    if (changing.processOf(node).killedMs >= timeMs) cut++;
    else failed.push(`${nodes[node]!.name} at ${timeMs.toFixed(0)} ms: ${answer.status} for ${path}`);
  };
  for (const request of trace) {
    // One loop for both, so that a late request is not sent after the end of its node.
    await changing.until(request.timeMs, untilTime);
    await untilTime(request.timeMs);
    answers.push(ask(request));
  }
  await changing.until(Number.POSITIVE_INFINITY, untilTime);
  await Promise.all([...answers, changing.over]);
  for (const agent of agents) agent.destroy();
  const after = await measuredCounts(nodes.filter(({ isRunning }) => isRunning));
  return {
    requests: answers.length,
    cut,
    failed,
    wrong,
    changes: changing.done,
    badExits: changing.badExits,
    counts: countsOver(before, [...changing.ended, after]),
    latestMs,
  };
}

/** Carries out the changes, each at its time, and knows the processes as they are now. */
class Changing {
  readonly done: Record<PlannedChange['kind'], number> = { join: 0, leave: 0, kill: 0 };
  readonly badExits: (number | string | undefined)[] = [];
  /** Counts of processes that have ended. */
  readonly ended: MeasuredCounts[] = [];
  readonly #nodes: readonly FleetNode[];
  readonly #waiting: PlannedChange[];
  readonly #processes: { killedMs: number; started: Promise<void>; last: Promise<void> }[];

  constructor(nodes: readonly FleetNode[], changes: readonly PlannedChange[]) {
    this.#nodes = nodes;
    this.#waiting = [...changes];
    this.#processes = nodes.map(() => ({
      killedMs: Number.NEGATIVE_INFINITY,
      started: Promise.resolve(),
      last: Promise.resolve(),
    }));
  }

  /** The time of its last kill by the schedule, and when its last start has come to its end. */
  processOf(node: number): { readonly killedMs: number; readonly started: Promise<void> } {
    return this.#processes[node]!;
  }

  /** All changes that have begun are done. */
  get over(): Promise<unknown> {
    return Promise.all(this.#processes.map(({ last }) => last));
  }

  /** Begins the changes up to a time of the schedule, each at its time. */
  async until(timeMs: number, untilTime: (timeMs: number) => Promise<void>): Promise<void> {
    while (this.#waiting.length > 0 && this.#waiting[0]!.timeMs <= timeMs) {
      const change = this.#waiting.shift()!;
      await untilTime(change.timeMs);
      const process = this.#processes[change.node]!;
      // The changes of one node come one after the other, however slow the machine is.
      process.last = process.last.then(() => this.#change(change));
      if (change.kind === 'join') process.started = process.last;
    }
  }

  async #change({ timeMs, node: index, kind }: PlannedChange): Promise<void> {
    const node = this.#nodes[index]!;
    this.done[kind]++;
    if (kind === 'join') {
      await node.start();
      return;
    }
    this.ended.push(await measuredCounts([node]));
    if (kind === 'kill') {
      this.#processes[index]!.killedMs = timeMs;
      await node.kill();
      return;
    }
    const code = await node.stop();
    if (code !== 0) this.badExits.push(code);
  }
}

/** Words for each running node whose list of neighbours is not that of the running nodes. */
export async function wrongMembers({ nodes }: Fleet): Promise<string[]> {
  const running = nodes.filter(({ isRunning }) => isRunning);
  const wrong: string[] = [];
  for (const node of running) {
    const peers = (await node.status()).cooperation?.peers ?? [];
    const asked = peers.filter(({ state, masked }) => state === 'up' && masked === null).map(({ id }) => id);
    const expected = running.filter((other) => other !== node).map(({ name }) => name);
    const missing = expected.filter((name) => !asked.includes(name));
    const dead = asked.filter((name) => name === null || !expected.includes(name));
    if (missing.length > 0 || dead.length > 0)
      wrong.push(`${node.name} lacks [${missing}] and asks [${dead}], which have ended`);
  }
  return wrong;
}
