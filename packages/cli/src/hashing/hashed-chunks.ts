/**
 * The hashes of all keys of the inputs, in order, at the speed of all cores. Workers split records and hash keys, which is
 * most of the work; one thread then sets or asks the bits. So there is one filter in memory however many cores there are,
 * and what comes out does not depend on their number.
 *
 * A thread takes 40 ms to start: inputs of less than a megabyte are hashed right here. At most `AHEAD` chunks a worker are
 * under way, so memory stays at a few chunks of 4 MB whatever the size of the input.
 */

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { ColumnNames } from '../keys/extract-keys.ts';
import { extractKeys } from '../keys/extract-keys.ts';
import type { Input } from '../keys/input.ts';
import type { KeyOptions } from '../keys/key-options.ts';
import { type RecordChunk, recordChunks } from '../keys/record-chunks.ts';
import { UsageError } from '../usage-error.ts';
import { type HashedRecords, hashRecords } from './chunk-hashes.ts';
import { type HashSource, schemeOf } from './hash-source.ts';
import type { WorkerSetUp } from './worker.ts';

export interface HashingOptions {
  readonly keys: KeyOptions;
  readonly source: HashSource;
  /** How many threads hash; all cores but one by default, 0: none but this one. */
  readonly threads?: number | undefined;
  /** Whether the ends of the records are wanted, for those who print them. */
  readonly wantsEnds?: boolean;
  readonly onRead?: (bytes: number) => void;
}

export async function* hashedChunks(
  inputs: readonly Input[],
  { keys, source, threads = defaultThreads(), wantsEnds = false, onRead }: HashingOptions,
): AsyncGenerator<HashedRecords> {
  const scheme = schemeOf(source);
  const columns: ColumnNames = new Map();
  let pool: HashingPool | undefined;
  const waiting: Promise<HashedRecords>[] = [];
  try {
    for (const input of inputs) {
      for await (const chunk of recordChunks(input, keys, onRead)) {
        if (threads === 0 || (pool === undefined && chunk.bytes.length < WORTH_A_THREAD)) {
          yield hashRecords(chunk, keys, columns, scheme, wantsEnds);
          continue;
        }
        // Which column a name stands for is in the first chunk, and the others may overtake it.
        if (chunk.first && keys.column !== undefined) extractKeys(headOf(chunk), keys, columns);
        pool ??= new HashingPool({ options: keys, source, wantsEnds }, threads);
        waiting.push(pool.hash(chunk, columns));
        if (waiting.length >= AHEAD * threads) yield await waiting.shift()!;
      }
    }
    while (waiting.length > 0) yield await waiting.shift()!;
  } finally {
    // Errors of chunks that nobody waits for any more.
    for (const promise of waiting) promise.catch(() => {});
    await pool?.close();
  }
}

/** All cores but the one that sets the bits. */
export function defaultThreads(): number {
  return Math.min(16, Math.max(1, availableParallelism() - 1));
}

const WORTH_A_THREAD = 1 << 20;
const AHEAD = 3;

/** Enough of a chunk to read the names of the columns. */
function headOf(chunk: RecordChunk): RecordChunk {
  const newline = chunk.bytes.indexOf(10);
  return { ...chunk, bytes: newline < 0 ? chunk.bytes : chunk.bytes.slice(0, newline + 1) };
}

class HashingPool {
  readonly #workers: Worker[];
  readonly #jobs = new Map<
    number,
    { resolve: (hashed: HashedRecords) => void; reject: (error: Error) => void }
  >();
  #count = 0;

  constructor(setUp: WorkerSetUp, threads: number) {
    this.#workers = Array.from({ length: threads }, () => {
      const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: setUp });
      worker.on('message', ({ id, hashed, problem }) => {
        const job = this.#jobs.get(id)!;
        this.#jobs.delete(id);
        if (problem === undefined) job.resolve(hashed);
        else job.reject(new UsageError(problem));
      });
      worker.on('error', (error) => this.#fail(error));
      // Nobody would answer what is still waiting.
      worker.on('exit', (code) => this.#fail(new Error(`a hashing thread ended early (code ${code})`)));
      return worker;
    });
  }

  hash(chunk: RecordChunk, columns: ColumnNames): Promise<HashedRecords> {
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#jobs.set(id, { resolve, reject });
      this.#workers[id % this.#workers.length].postMessage({ id, chunk, columns }, [chunk.bytes.buffer]);
    });
  }

  #fail(error: Error): void {
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
