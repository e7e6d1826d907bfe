/**
 * All trials of all experiments, spread over processes in short orders. (Threads would do, but a thread that is not told how to read
 * TypeScript cannot start from it.) Each trial's numbers are kept in their place, so the
 * results do not depend on who did what when.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Samples } from './samples.ts';
import { COLUMNS, type Job } from './trials.ts';
import type { Order } from './worker.ts';

export interface Work {
  readonly job: Job;
  readonly trials: number;
}

/** Does the work; `progress` gets the share that is done, by estimated cost, after every order. */
export async function runAll(
  work: readonly Work[],
  processes: number,
  progress: (share: number, job: Job) => void,
): Promise<Map<string, Samples>> {
  const results = new Map<string, Float64Array>();
  const orders: Order[] = [];
  for (const { job, trials } of work) {
    if (results.has(job.id)) throw new Error(`two experiments are called ${job.id}`);
    results.set(job.id, new Float64Array(trials * COLUMNS[job.kind].length));
    const step = Math.max(1, Math.floor(ORDER_COST / costOf(job)));
    for (let from = 0; from < trials; from += step) {
      orders.push({ job, from, to: Math.min(trials, from + step) });
    }
  }
  const total = orders.reduce((sum, order) => sum + orderCost(order), 0);
  let done = 0;
  let next = 0;
  const serve = async () => {
    const worker = fork(WORKER, { serialization: 'advanced' });
    try {
      while (next < orders.length) {
        const order = orders[next++];
        const numbers = await ask(worker, order);
        results.get(order.job.id)?.set(numbers, order.from * COLUMNS[order.job.kind].length);
        done += orderCost(order);
        progress(done / total, order.job);
      }
    } finally {
      worker.disconnect();
    }
  };
  await Promise.all(Array.from({ length: Math.min(processes, orders.length) }, serve));
  return new Map(
    work.map(({ job }) => [job.id, new Samples(job, results.get(job.id) ?? new Float64Array())]),
  );
}

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));

/** In probes of keys and coded bits: only the progress and the length of an order depend on it. */
const ORDER_COST = 5e7;

function costOf(job: Job): number {
  const coded = job.kind === 'filter' && job.code ? job.bits : 0;
  return 2 * job.keys * job.hashes + coded + 5 * job.strangers + 1000;
}

function orderCost({ job, from, to }: Order): number {
  return (to - from) * costOf(job);
}

function ask(worker: ChildProcess, order: Order): Promise<Float64Array> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      worker.removeAllListeners('message').removeAllListeners('error').removeAllListeners('exit');
      then();
    };
    worker.once('message', (numbers: Float64Array) => settle(() => resolve(numbers)));
    worker.once('error', (error) => settle(() => reject(error)));
    worker.once('exit', (code) => settle(() => reject(new Error(`a process ended with code ${code}`))));
    worker.send(order);
  });
}
