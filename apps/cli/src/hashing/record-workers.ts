/**
 * Counts or hashes the records of inputs on all cores, and returns them in order. Workers split
 * records and hash keys, which is most of the work; the main thread then sets or tests the bits. So
 * there is only one filter in memory, and the result does not depend on the number of cores. The
 * main thread takes a piece itself whenever the workers have enough to do, so that with two cores
 * both are busy. For plain files of lines, the thread that works on a piece also reads it.
 *
 * Starting a thread takes longer than working through a quarter of a megabyte, so smaller inputs
 * are handled on the main thread. A few pieces of at most 2 MiB are in progress at a time,
 * whatever the size of the input.
 */

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { BufferPool } from '../keys/buffer-pool.ts';
import { type ColumnNames, nameColumns, warnOfSkipped } from '../keys/extract-keys.ts';
import { type Input, PART } from '../keys/input.ts';
import { isWholeLine, type KeyOptions } from '../keys/key-options.ts';
import { BLOCK, lineRanges, RANGE, RangeReader } from '../keys/line-ranges.ts';
import { checkFirst, recordChunks } from '../keys/record-chunks.ts';
import { threadFile } from '../thread-file.ts';
import { UsageError } from '../usage-error.ts';
import { type HashSource, schemeOf } from './hash-source.ts';
import type { WorkerAnswer, WorkerSetUp } from './hash-worker.ts';
import { type HashedRecords, PieceWorker, type RecordPiece } from './piece-worker.ts';

export interface RecordWorkersOptions {
  readonly keys: KeyOptions;
  readonly source: HashSource;
  /**
   * The number of threads besides the main thread; 0 for none. The default is all cores but one.
   */
  readonly threads?: number | undefined;
  /** Whether the ends of the records are wanted, for callers that print records. */
  readonly wantsEnds?: boolean;
}

type OnRead = (bytes: number) => void;

export interface HashRequest {
  readonly onRead?: OnRead;
  /** Whether the caller reads the hashes again later, so that their memory must not be reused. */
  readonly keepsHashes?: boolean;
}

export class RecordWorkers {
  readonly #setUp: WorkerSetUp;
  readonly #threads: number;
  readonly #buffers = new BufferPool(PART);
  readonly #reader = new RangeReader();
  readonly #worker: PieceWorker;
  /** Memory of hashes that are no longer used. */
  readonly #rooms: Int32Array[] = [];
  #pool: WorkerPool | undefined;

  constructor({ keys, source, threads = defaultThreads(), wantsEnds = false }: RecordWorkersOptions) {
    this.#setUp = { options: keys, source, wantsEnds };
    this.#threads = threads;
    this.#worker = new PieceWorker(keys, schemeOf(source), wantsEnds, this.#reader);
  }

  /** Returns the number of records in an input. */
  async count(input: Input, { onRead }: { onRead?: OnRead } = {}): Promise<number> {
    let total = 0;
    const columns: ColumnNames = new Map();
    const here = (piece: RecordPiece) => this.#worker.count(piece, columns);
    const pieces = this.#pieces(input, columns, onRead);
    for await (const { count } of this.#each(pieces, 'count', columns, here)) total += count;
    return total;
  }

  /**
   * Yields the hashes of all records of an input. The next step overwrites the records, and the
   * hashes unless `keepsHashes` is set.
   */
  async *hash(
    input: Input,
    { onRead, keepsHashes = false }: HashRequest = {},
  ): AsyncGenerator<HashedRecords> {
    const columns: ColumnNames = new Map();
    let [skipped, count] = [0, 0];
    const here = (piece: RecordPiece) => this.#worker.hash(piece, columns, this.#buffers, this.#rooms.pop());
    for await (const found of this.#each(this.#pieces(input, columns, onRead), 'hash', columns, here)) {
      yield found;
      skipped += found.skipped;
      count += found.count;
      if (!keepsHashes && this.#rooms.length < MOST_ROOMS)
        this.#rooms.push(new Int32Array(found.words.buffer));
    }
    warnOfSkipped(input.path, { skipped, count }, this.#setUp.options);
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    this.#reader.close();
    await this.#pool?.close();
  }

  async *#each<Result extends { readonly records: Uint8Array<ArrayBuffer> }>(
    pieces: AsyncIterable<RecordPiece>,
    task: 'hash' | 'count',
    columns: ColumnNames,
    here: (piece: RecordPiece) => Result,
  ): AsyncGenerator<Result> {
    const waiting: Promise<Result>[] = [];
    for await (const piece of pieces) {
      const large = 'range' in piece || piece.chunk.bytes.length >= WORTH_A_THREAD;
      if (large && this.#threads > 0) this.#pool ??= new WorkerPool(this.#setUp, this.#threads);
      if (this.#pool === undefined) {
        const result = here(piece);
        yield result;
        this.#buffers.give(result.records);
        continue;
      }
      const promise =
        this.#pool.busy < BUSY * this.#threads
          ? (this.#pool.run(
              task,
              piece,
              columns,
              this.#buffers,
              this.#rooms,
            ) as Promise<unknown> as Promise<Result>)
          : Promise.resolve(here(piece));
      // It may fail before its turn comes, or after the caller has stopped.
      promise.catch(() => {});
      waiting.push(promise);
      // Answers of workers arrive only between turns of this thread's event loop.
      await new Promise((resolve) => setImmediate(resolve));
      if (waiting.length < 3 * BUSY * this.#threads) continue;
      const result = await waiting.shift()!;
      yield result;
      this.#buffers.give(result.records);
    }
    while (waiting.length > 0) {
      const result = await waiting.shift()!;
      yield result;
      this.#buffers.give(result.records);
    }
  }

  async *#pieces(input: Input, columns: ColumnNames, onRead: OnRead = () => {}): AsyncGenerator<RecordPiece> {
    const { options } = this.#setUp;
    if (input.plainFile && isWholeLine(options) && (input.bytes ?? 0) >= WORTH_A_THREAD) {
      checkFirst(input.path, this.#reader.head(input.path), options);
      const length = this.#setUp.wantsEnds ? RANGE : BLOCKS_A_PIECE * BLOCK;
      for (const range of lineRanges(input.path, input.bytes!, length)) {
        onRead(range.to - range.from);
        yield { range };
      }
      return;
    }
    for await (const chunk of recordChunks(input, options, this.#buffers, onRead)) {
      // The first chunk tells which column a name stands for, and other chunks may overtake it.
      if (chunk.first && options.column !== undefined) nameColumns(chunk, options, columns);
      yield { chunk };
    }
  }
}

/** All cores but the one of the main thread, from 1 to 16. */
function defaultThreads(): number {
  return Math.min(16, Math.max(1, availableParallelism() - 1));
}

const WORTH_A_THREAD = 1 << 18;
const MOST_ROOMS = 32;
/** Messages between threads are expensive. Pieces can be larger if only hashes stay in memory. */
const BLOCKS_A_PIECE = 16;
/**
 * Pieces in progress per thread. With fewer, the threads would wait for the main thread while it is
 * busy.
 */
const BUSY = 4;

/** A small heap for new objects, because objects in these threads are short-lived. */
const SMALL = { maxYoungGenerationSizeMb: 8 };

class WorkerPool {
  readonly #workers: Worker[];
  readonly #jobs = new Map<number, { resolve(answer: WorkerAnswer): void; reject(error: Error): void }>();
  readonly #setUp: WorkerSetUp;
  #count = 0;
  #ready = false;

  constructor(setUp: WorkerSetUp, threads: number) {
    this.#setUp = setUp;
    this.#workers = Array.from({ length: threads }, () => {
      const worker = new Worker(threadFile('hash-worker'), { workerData: setUp, resourceLimits: SMALL });
      worker.on('message', ({ id, answer, problem }) => {
        if (id === undefined) {
          this.#ready = true;
          return;
        }
        const job = this.#jobs.get(id);
        this.#jobs.delete(id);
        if (problem === undefined) job?.resolve(answer);
        else job?.reject(new UsageError(problem));
      });
      worker.on('error', (error) => this.#fail(error));
      // The remaining jobs would never be answered.
      worker.on('exit', (code) =>
        this.#fail(
          new Error(`Cannot hash the keys: expected the thread to go on, but it ended (code ${code})`),
        ),
      );
      return worker;
    });
  }

  /** The number of pieces in progress; infinite until a worker is ready. */
  get busy(): number {
    return this.#ready ? this.#jobs.size : Number.POSITIVE_INFINITY;
  }

  run(
    task: 'hash' | 'count',
    piece: RecordPiece,
    columns: ColumnNames,
    buffers: BufferPool,
    rooms: Int32Array[],
  ): Promise<WorkerAnswer> {
    const id = this.#count++;
    // The buffer for records that stay is transferred to the worker and comes back filled.
    const stays = 'range' in piece && task === 'hash' && this.#setUp.wantsEnds;
    const buffer = stays ? buffers.take(PART).buffer : undefined;
    const room = task === 'hash' ? rooms.pop() : undefined;
    const moved = 'chunk' in piece ? [piece.chunk.bytes.buffer] : stays ? [buffer!] : [];
    if (room !== undefined) moved.push(room.buffer as ArrayBuffer);
    return new Promise((resolve, reject) => {
      this.#jobs.set(id, { resolve, reject });
      this.#workers[id % this.#workers.length].postMessage({ id, task, piece, columns, buffer, room }, moved);
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #fail(error: Error): void {
    for (const { reject } of this.#jobs.values()) reject(error);
    this.#jobs.clear();
  }
}
