/** One of the processes of pool.ts: does the trials it is sent and sends their numbers back. */

import { COLUMNS, type Job, runTrial } from './trials.ts';

export interface Order {
  readonly job: Job;
  readonly from: number;
  readonly to: number;
}

process.on('message', ({ job, from, to }: Order) => {
  const width = COLUMNS[job.kind].length;
  const numbers = new Float64Array((to - from) * width);
  for (let t = from; t < to; t++) numbers.set(runTrial(job, t), (t - from) * width);
  process.send?.(numbers);
});

// The parent ended, however it did.
process.on('disconnect', () => process.exit());
