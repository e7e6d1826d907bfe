/** Hashes chunks on a thread of its own. Bytes come and go without being copied. */

import { parentPort, workerData } from 'node:worker_threads';
import type { KeyOptions } from '../keys/key-options.ts';
import type { RecordChunk } from '../keys/record-chunks.ts';
import { hashRecords } from './chunk-hashes.ts';
import { type HashSource, schemeOf } from './hash-source.ts';

export interface WorkerSetUp {
  readonly options: KeyOptions;
  readonly source: HashSource;
  readonly wantsEnds: boolean;
}

export interface WorkerJob {
  readonly id: number;
  readonly chunk: RecordChunk;
  readonly columns: ReadonlyMap<string, number>;
}

const { options, source, wantsEnds } = workerData as WorkerSetUp;
const scheme = schemeOf(source);

parentPort!.on('message', ({ id, chunk, columns }: WorkerJob) => {
  try {
    const hashed = hashRecords(chunk, options, new Map(columns), scheme, wantsEnds);
    const buffers = [hashed.records.buffer, hashed.words.buffer as ArrayBuffer];
    if (hashed.ends !== null) buffers.push(hashed.ends.buffer as ArrayBuffer);
    parentPort!.postMessage({ id, hashed }, buffers);
  } catch (error) {
    // What the user can mend comes back as such; anything else ends the thread, and with it the command.
    if ((error as Error).name !== 'UsageError') throw error;
    parentPort!.postMessage({ id, problem: (error as Error).message });
  }
});
