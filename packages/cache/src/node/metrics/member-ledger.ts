/**
 * The counts of all workers, kept by the primary so that a counter of the node never decreases.
 * Prometheus would take a lower value for a restart of the whole node, and show a spike.
 *
 * The last report of each running worker is kept, and used if the worker is too busy to answer in
 * time. When a worker ends, its counts are added to those of all workers that ended before; its
 * gauges (connections, bytes in memory) ended with it. Each report passes through here before it is
 * shown, including that of the worker which shows it. All sums are of whole numbers, so that
 * another order of addition cannot make them smaller by rounding.
 *
 * Where it breaks down: when a worker is killed, its counts since its last report are lost (workers
 * report every few seconds without being asked).
 */

import type { MemberReport, TeamReport } from '../admin/status.ts';
import { type MetricsSnapshot, mergeSnapshots } from './node-counters.ts';

export class MemberLedger {
  readonly #living = new Map<number, MemberReport>();
  #ended: MetricsSnapshot | null = null;

  /** Records a report. It replaces the previous report of the same process. */
  note(report: MemberReport): void {
    this.#living.set(report.worker, report);
  }

  /** The process of this worker has ended. */
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

/** The counts of a process that has ended, without its gauges. */
function countsOf(snapshot: MetricsSnapshot): MetricsSnapshot {
  const { activity, process, stores } = snapshot;
  return {
    ...snapshot,
    connections: 0,
    activity: { ...activity, ...zeros(activity) },
    stores: Object.fromEntries(
      Object.entries(stores).map(([tier, statistics]) => [
        tier,
        { ...statistics, responses: 0, bytes: 0, capacityBytes: 0, copies: 0, copyBytes: 0 },
      ]),
    ),
    // The node is as old as its first process.
    process: { ...process, ...zeros(process), startedAt: process.startedAt, cpuMicros: process.cpuMicros },
  };
}

function zeros<T extends object>(numbers: T): Record<keyof T, number> {
  return Object.fromEntries(Object.keys(numbers).map((name) => [name, 0])) as Record<keyof T, number>;
}
