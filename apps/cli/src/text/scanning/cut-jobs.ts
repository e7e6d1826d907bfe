/**
 * Cuts files into jobs for threads. Small files share a job, because they share blocks. A large
 * file has jobs of its own.
 */

import type { GramScheme } from '@bloomery/stores/text';
import type { ScanJob, ScanPiece } from './scan-job.ts';
import type { ScannedFile } from './scanned-file.ts';

/** Small files share a job up to this many bytes and files. */
const SHARED_BYTES = 16 << 20;
const SHARED_FILES = 256;
/** A packed file of this size has its own job: its text is some times as large. */
const OWN_PACKED_BYTES = 1 << 20;

/** A job, with the file of each of its pieces. */
export interface FileJob extends ScanJob {
  readonly files: readonly ScannedFile[];
}

/** The jobs, in the order of the files. Files are taken from the iterator when they are needed. */
export function* cutJobs(files: Iterable<ScannedFile>, scheme: GramScheme): Generator<FileJob> {
  let shared: ScannedFile[] = [];
  let bytes = 0;
  const close = (): FileJob => {
    const job = { scheme, files: shared, pieces: shared.map((file) => file.pieces[0]) };
    shared = [];
    bytes = 0;
    return job;
  };
  for (const file of files) {
    if (file.pieces.length > 1 || isLarge(file.pieces[0])) {
      if (shared.length > 0) yield close();
      for (const piece of file.pieces) yield { scheme, files: [file], pieces: [piece] };
      continue;
    }
    shared.push(file);
    bytes += file.pieces[0].to - file.pieces[0].from;
    if (bytes >= SHARED_BYTES || shared.length >= SHARED_FILES) yield close();
  }
  if (shared.length > 0) yield close();
}

function isLarge({ kind, from, to }: ScanPiece): boolean {
  return to - from >= (kind === 'plain' ? SHARED_BYTES : OWN_PACKED_BYTES);
}
