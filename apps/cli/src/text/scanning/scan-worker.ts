/**
 * Scans jobs on its own thread. Filters of blocks are transferred, not copied. The main thread
 * takes the blocks of jobs in order, so a thread whose turn has not come waits when as many of its
 * blocks as it may have are in memory.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { runScanJob, type ScanEvent, type ScanJob } from './scan-job.ts';

export interface ScanSetUp {
  /** Blocks that may wait in memory for the main thread. */
  readonly mostBlocks: number;
}

/** A job, or the number of blocks that the main thread has taken. */
export type ScanMessage = { readonly job: ScanJob } | { readonly taken: number };

/** An event of the job, or the error that ended it. */
export type ScanAnswer =
  | { readonly event: ScanEvent }
  | { readonly problem: { readonly message: string; readonly code?: string } };

const { mostBlocks } = workerData as ScanSetUp;
let waiting = 0;
let wake: (() => void) | null = null;

parentPort!.on('message', (message: ScanMessage) => {
  if ('job' in message) {
    void run(message.job);
    return;
  }
  waiting -= message.taken;
  wake?.();
});

async function run(job: ScanJob): Promise<void> {
  try {
    for await (const event of runScanJob(job)) {
      const moved = event.kind === 'blocks' ? event.blocks.map(({ bits }) => bits.buffer) : [];
      waiting += moved.length;
      parentPort!.postMessage({ event } satisfies ScanAnswer, moved);
      while (waiting >= mostBlocks)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const problem = code === undefined ? { message } : { message, code };
    parentPort!.postMessage({ problem } satisfies ScanAnswer);
  }
}
