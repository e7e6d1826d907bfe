/**
 * What the primary remembers of its workers' counts, so that a counter of the node never goes back. Prometheus takes a lower value for a restart of everything,
 * and makes a spike of it.
 *
 * Of each living worker the last report is kept: it stands for one that is too busy to answer in time. When a worker ends, its counts are added to those
 * of all that ended before; its gauges (connections, bytes in memory) ended with it. Each report that somebody is shown passes through here before, also that
 * of the worker which shows it. Sums are of whole numbers, so that another order of adding up does not make them smaller by a rounding.
 *
 * Where it breaks down: what a worker counted after its last report (they come by themselves every few seconds) is lost when it is killed.
 */

import type { MemberReport, TeamReport } from '../admin/status.ts';
import { type MetricsSnapshot, mergeSnapshots } from './node-counters.ts';

export class MemberLedger {
  readonly #living = new Map<number, MemberReport>();
  #ended: MetricsSnapshot | null = null;

  /** A later one of the same process replaces the one before. */
  note(report: MemberReport): void {
    this.#living.set(report.worker, report);
  }

  /** The process of this worker is gone. */
  end(worker: number): void {
    const last = this.#living.get(worker);
    if (last === undefined) return;
    this.#living.delete(worker);
    const counts = countsOf(last.snapshot);
    this.#ended = this.#ended === null ? counts : mergeSnapshots([this.#ended, counts]);
  }

  get report(): TeamReport {
    const members = [...this.#living.values()].sort((a, b) => a.worker - b.worker);
    return { members, ended: this.#ended };
  }
}

/** What stays true of a process that is gone: what it did, not what it held. */
function countsOf(snapshot: MetricsSnapshot): MetricsSnapshot {
  const { activity, process, stores } = snapshot;
  return {
    ...snapshot,
    connections: 0,
    activity: { ...activity, ...zeros(activity) },
    stores: Object.fromEntries(
      Object.entries(stores).map(([tier, statistics]) => [
        tier,
        { ...statistics, responses: 0, bytes: 0, capacityBytes: 0 },
      ]),
    ),
    // The node is as old as the first process that served for it.
    process: { ...process, ...zeros(process), startedAt: process.startedAt, cpuMicros: process.cpuMicros },
  };
}

function zeros<T extends object>(numbers: T): Record<keyof T, number> {
  return Object.fromEntries(Object.keys(numbers).map((name) => [name, 0])) as Record<keyof T, number>;
}
