/**
 * Threads that run trials. Work is cut into short orders (some tenths of a second each), and a
 * thread that is free takes the next one. Each trial's numbers have a fixed place, so the results
 * do not depend on which thread ran it or when. Results are kept, so a later part that asks for the
 * same experiment has it at once.
 *
 * Memory: two threads take 470 MB for 500 trials and 1.1 GB for 10,000, because the kernel of each
 * thread fills its arena (half a gigabyte) with filters before it clears it.
 */

import { Worker } from 'node:worker_threads';
import { firstSeed, type Results, type Work } from './jobs.ts';
import { Samples } from './samples.ts';
import type { Order } from './trial-worker.ts';
import { COLUMNS, type Job } from './trials.ts';

export interface TrialPoolOptions {
  /** Number of threads. */
  readonly jobs: number;
  readonly seed: number;
  /** The built file of trial-worker.ts: Node 20 runs no TypeScript. */
  readonly workerFile: URL;
}

export class TrialPool {
  readonly #options: TrialPoolOptions;
  readonly #known = new Map<string, Samples>();
  readonly #threads: Worker[] = [];

  constructor(options: TrialPoolOptions) {
    this.#options = options;
  }

  /** The number of orders that `run` will cut this work into. */
  ordersOf(work: readonly Work[]): number {
    return this.#missing(work).flatMap((one) => this.#cut(one)).length;
  }

  /**
   * Runs the work whose results are not known yet, and calls `onOrder` after every order. Returns
   * all results so far.
   */
  async run(work: readonly Work[], onOrder: () => void = () => {}): Promise<Results> {
    const missing = this.#missing(work);
    const orders = missing.flatMap((one) => this.#cut(one));
    const numbers = new Map(
      missing.map(({ job, trials }) => [job.id, new Float64Array(trials * COLUMNS[job.kind].length)]),
    );
    let next = 0;
    const serve = async (thread: Worker) => {
      while (next < orders.length) {
        const order = orders[next++];
        const answer = await ask(thread, order);
        numbers.get(order.job.id)?.set(answer, order.from * COLUMNS[order.job.kind].length);
        onOrder();
      }
    };
    const wanted = Math.min(this.#options.jobs, orders.length);
    while (this.#threads.length < wanted) this.#threads.push(new Worker(this.#options.workerFile));
    await Promise.all(this.#threads.slice(0, wanted).map(serve));
    for (const { job } of missing) this.#known.set(job.id, new Samples(job, numbers.get(job.id)!));
    return this.#known;
  }

  /** Ends the threads, whatever they are doing. */
  async stop(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.terminate()));
  }

  #missing(work: readonly Work[]): Work[] {
    return work.filter(({ job, trials }) => (this.#known.get(job.id)?.trials ?? 0) < trials);
  }

  #cut({ job, trials }: Work): Order[] {
    const seed = firstSeed(job, this.#options.seed);
    const step = Math.max(1, Math.floor(ORDER_COST / costOf(job)));
    return Array.from({ length: Math.ceil(trials / step) }, (_, i) => ({
      job,
      firstSeed: seed,
      from: i * step,
      to: Math.min(trials, (i + 1) * step),
    }));
  }
}

/**
 * The cost of one order, in probes of keys and coded bits. Only the length of an order depends on
 * it.
 */
const ORDER_COST = 2e7;

function costOf(job: Job): number {
  const coded = job.kind === 'filter' && job.code ? job.bits : 0;
  return 2 * job.keys * job.hashes + coded + 5 * job.strangers + 1000;
}

function ask(thread: Worker, order: Order): Promise<Float64Array> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      thread.removeAllListeners('message').removeAllListeners('error').removeAllListeners('exit');
      then();
    };
    thread.once('message', (numbers: Float64Array) => settle(() => resolve(numbers)));
    thread.once('error', (error) => settle(() => reject(error)));
    thread.once('exit', (code) =>
      settle(() =>
        reject(new Error(`Cannot run the trials: expected the worker to go on, but it ended (code ${code})`)),
      ),
    );
    thread.postMessage(order);
  });
}
