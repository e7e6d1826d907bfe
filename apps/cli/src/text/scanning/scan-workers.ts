/**
 * Scans jobs on several threads, and yields their events in the order of the jobs. With one thread
 * the work is done here. Starting a thread takes as long as scanning some megabytes, so the threads
 * are started with the second job.
 */

import { Worker } from 'node:worker_threads';
import { threadFile } from '../../thread-file.ts';
import { runScanJob, type ScanEvent, type ScanJob } from './scan-job.ts';
import type { ScanAnswer, ScanMessage, ScanSetUp } from './scan-worker.ts';

/** Memory for filters that wait for their turn, in blocks of 16 kB: of a thread, and of all. */
const MOST_WAITING = 4096;
const MOST_WAITING_IN_ALL = 32_768;
/** Files that are open at a time, beyond those of two jobs. */
const MOST_OPEN = 512;

export interface JobEvent<Job> {
  readonly job: Job;
  readonly event: ScanEvent;
}

/**
 * Runs the jobs. They are taken from the iterator a few at a time: `threads` of them are scanned,
 * and as many wait.
 */
export async function* scanJobs<Job extends ScanJob>(
  jobs: Iterable<Job>,
  threads: number,
): AsyncGenerator<JobEvent<Job>> {
  const rest = jobs[Symbol.iterator]();
  const first = rest.next();
  if (first.done) return;
  const second = threads > 1 ? rest.next() : null;
  if (second === null || second.done) {
    yield* scanHere(first.value);
    for (let next = rest.next(); second === null && !next.done; next = rest.next())
      yield* scanHere(next.value);
    return;
  }
  const pool = new ScanPool<Job>(threads);
  try {
    pool.add(first.value);
    pool.add(second.value);
    for (let more = true; pool.head !== undefined; ) {
      while (more && pool.size < 2 * threads && (pool.size < 2 || pool.pieces < MOST_OPEN)) {
        const next = rest.next();
        if (next.done) more = false;
        else pool.add(next.value);
      }
      const { job } = pool.head;
      const event = await pool.nextEvent();
      yield { job, event };
    }
  } finally {
    await pool.close();
  }
}

async function* scanHere<Job extends ScanJob>(job: Job): AsyncGenerator<JobEvent<Job>> {
  for await (const event of runScanJob(job)) yield { job, event };
}

interface Task<Job> {
  readonly job: Job;
  /** Events that arrived and were not taken. */
  readonly events: ScanEvent[];
  worker: Worker | null;
}

class ScanPool<Job extends ScanJob> {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #byWorker = new Map<Worker, Task<Job>>();
  readonly #tasks: Task<Job>[] = [];
  readonly #threads: number;
  #wake: (() => void) | null = null;
  #error: Error | null = null;
  #closed = false;

  constructor(threads: number) {
    this.#threads = threads;
  }

  get size(): number {
    return this.#tasks.length;
  }

  /** Pieces of all tasks. */
  get pieces(): number {
    return this.#tasks.reduce((sum, { job }) => sum + job.pieces.length, 0);
  }

  /** The task whose events come next. */
  get head(): { readonly job: Job } | undefined {
    return this.#tasks[0];
  }

  add(job: Job): void {
    this.#tasks.push({ job, events: [], worker: null });
    if (this.#idle.length === 0 && this.#workers.length < this.#threads) this.#start();
    this.#assign();
  }

  /** The next event of the first task. */
  async nextEvent(): Promise<ScanEvent> {
    const task = this.#tasks[0];
    for (;;) {
      if (this.#error !== null) throw this.#error;
      const event = task.events.shift();
      if (event !== undefined) {
        if (event.kind === 'done') this.#tasks.shift();
        else task.worker?.postMessage({ taken: event.blocks.length } satisfies ScanMessage);
        return event;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #start(): void {
    const mostBlocks = Math.min(MOST_WAITING, Math.ceil(MOST_WAITING_IN_ALL / this.#threads));
    const worker = new Worker(threadFile('scan-worker'), { workerData: { mostBlocks } satisfies ScanSetUp });
    worker.on('message', (answer: ScanAnswer) => this.#receive(worker, answer));
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', (code) => {
      if (!this.#closed)
        this.#fail(new Error(`Cannot scan the text: expected the thread to go on, but it ended (${code})`));
    });
    this.#workers.push(worker);
    this.#idle.push(worker);
  }

  #assign(): void {
    for (const task of this.#tasks) {
      if (task.worker !== null) continue;
      const worker = this.#idle.pop();
      if (worker === undefined) return;
      task.worker = worker;
      this.#byWorker.set(worker, task);
      worker.postMessage({ job: { scheme: task.job.scheme, pieces: task.job.pieces } } satisfies ScanMessage);
    }
  }

  #receive(worker: Worker, answer: ScanAnswer): void {
    if ('problem' in answer) {
      const { message, code } = answer.problem;
      this.#fail(Object.assign(new Error(message), code === undefined ? {} : { code }));
      return;
    }
    this.#byWorker.get(worker)?.events.push(answer.event);
    if (answer.event.kind === 'done') {
      this.#byWorker.delete(worker);
      this.#idle.push(worker);
      this.#assign();
    }
    this.#wake?.();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }
}
