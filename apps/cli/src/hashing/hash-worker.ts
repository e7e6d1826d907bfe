/** Counts and hashes pieces on its own thread. Buffers are transferred, not copied. */

import { parentPort, workerData } from 'node:worker_threads';
import { BufferPool } from '../keys/buffer-pool.ts';
import type { KeyOptions } from '../keys/key-options.ts';
import { RangeReader } from '../keys/line-ranges.ts';
import { type HashSource, schemeOf } from './hash-source.ts';
import { type CountedRecords, type HashedRecords, PieceWorker, type RecordPiece } from './piece-worker.ts';

export interface WorkerSetUp {
  readonly options: KeyOptions;
  readonly source: HashSource;
  readonly wantsEnds: boolean;
}

export interface WorkerJob {
  readonly id: number;
  readonly task: 'hash' | 'count';
  readonly piece: RecordPiece;
  readonly columns: ReadonlyMap<string, number>;
  /** Memory for records that are sent back. */
  readonly buffer: ArrayBuffer | undefined;
  /** Memory for hashes. */
  readonly room: Int32Array | undefined;
}

export type WorkerAnswer = HashedRecords | CountedRecords;

const { options, source, wantsEnds } = workerData as WorkerSetUp;
const worker = new PieceWorker(options, schemeOf(source), wantsEnds, new RangeReader());

parentPort!.on('message', ({ id, task, piece, columns, buffer, room }: WorkerJob) => {
  try {
    const names = new Map(columns);
    if (task === 'count') {
      const answer = worker.count(piece, names);
      parentPort!.postMessage({ id, answer }, answer.records.length > 0 ? [answer.records.buffer] : []);
      return;
    }
    const buffers = new BufferPool(buffer?.byteLength ?? 0);
    if (buffer !== undefined) buffers.give(new Uint8Array(buffer));
    const answer = worker.hash(piece, names, buffers, room);
    const moved = [answer.words.buffer as ArrayBuffer];
    if (answer.records.length > 0) moved.push(answer.records.buffer);
    if (answer.ends !== null) moved.push(answer.ends.buffer as ArrayBuffer);
    parentPort!.postMessage({ id, answer }, moved);
  } catch (error) {
    // An error that the user can fix is sent back as one. Any other error ends the thread, and with
    // it the command.
    if ((error as Error).name !== 'UsageError') throw error;
    parentPort!.postMessage({ id, problem: (error as Error).message });
  }
});

// Tells the main thread that this worker is ready.
parentPort!.postMessage({});
