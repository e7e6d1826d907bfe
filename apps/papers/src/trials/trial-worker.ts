/**
 * One of the threads of trial-pool.ts: runs the trials of the orders it is sent, and sends their
 * numbers back.
 */

import { parentPort } from 'node:worker_threads';
import { COLUMNS, type Job, runTrial } from './trials.ts';

/** The trials from `from` up to but not including `to`. */
export interface Order {
  readonly job: Job;
  readonly firstSeed: number;
  readonly from: number;
  readonly to: number;
}

parentPort?.on('message', ({ job, firstSeed, from, to }: Order) => {
  const width = COLUMNS[job.kind].length;
  const numbers = new Float64Array((to - from) * width);
  for (let t = from; t < to; t++) numbers.set(runTrial(job, firstSeed + t), (t - from) * width);
  parentPort?.postMessage(numbers, [numbers.buffer]);
});
