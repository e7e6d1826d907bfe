/**
 * Finishes or discards a change that a crash interrupted (page-journal.ts), before a file is read
 * or changed again.
 *
 * A journal matches the file if length and first bytes are the same, and each byte of the file's
 * checksum is either the old one or the new one (the checksum may be torn as well). So a file that
 * was replaced in the meantime keeps its contents, and the journal is removed. A journal that
 * belongs neither to the owner of the file, nor to the user who runs this, nor to root is ignored,
 * because in a directory such as /tmp any user can put one there.
 */

import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { readAll, writeAll } from '../descriptor-bytes.ts';
import { FileError } from '../file-error.ts';
import { type FileLockOptions, lockFile } from '../lock/file-lock.ts';
import {
  HASH,
  HEAD,
  isThere,
  journalName,
  MAGIC,
  NEW,
  PAGE,
  PART,
  removeIfThere,
  SAMPLE,
  TAIL,
} from './page-journal.ts';

/**
 * The outcome for the journal that was found. `finished` means that the change was carried out.
 * With `not begun` and `of another file`, the journal was removed and the file is unchanged. A
 * journal that is `not ours` belongs to another user or is not a regular file, and was left alone.
 */
export type JournalOutcome = 'finished' | 'not begun' | 'of another file' | 'not ours';

/** Called once for each journal that was found. */
export type JournalReport = (outcome: JournalOutcome, place: string) => void;

export interface RecoveryOptions extends Pick<FileLockOptions, 'waiting' | 'signal'> {
  /** How long to wait for a writer that is writing its pages. Default 30 s. */
  readonly waitMs?: number | undefined;
  readonly report?: JournalReport | undefined;
}

/**
 * Finishes or discards a change that a crash interrupted. It is called before a file is read, and
 * costs one look for a journal if nothing was interrupted. It waits for a writer that is at work.
 */
export async function recoverFile(path: string, options: RecoveryOptions = {}): Promise<void> {
  const { waitMs = READER_WAIT_MS, waiting, signal, report } = options;
  signal?.throwIfAborted();
  const place = placeOf(path);
  const journal = place === undefined ? undefined : journalOf(place);
  if (place === undefined || journal === undefined) return;
  if (journal === 'stranger') {
    report?.('not ours', place);
    return;
  }
  try {
    const lock = await lockFile(place, {
      waitMs,
      waiting,
      signal,
      until: () => !isThere(journalName(place)),
    });
    if (lock === undefined) return;
    try {
      settle(place, report);
    } finally {
      lock.release();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') throw error;
    // Its writer has just finished, so the lock is not needed any more.
    if (!isThere(journalName(place))) return;
    throw new FileError(
      'interrupted',
      place,
      `Cannot finish the interrupted change of ${place}: expected to be allowed to write there, got ${code} (${journalName(place)})`,
      { cause: error },
    );
  }
}

/**
 * Whether a file has a journal. One that is not a regular file, or belongs to another user, does
 * not count.
 */
export function hasJournal(place: string): boolean {
  return journalOf(place) === 'ours';
}

function journalOf(place: string): 'ours' | 'stranger' | undefined {
  const found = lstatSync(journalName(place), { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return found.isFile() && isTrusted(found.uid, place) ? 'ours' : 'stranger';
}

function isTrusted(owner: number, place: string): boolean {
  return [0, process.getuid?.() ?? owner, statSync(place).uid].includes(owner);
}

/** Carries out or removes the journal of a file whose lock the caller holds. */
export function settle(place: string, report?: JournalReport): void {
  removeIfThere(`${journalName(place)}${NEW}`);
  const journal = journalOf(place);
  if (journal === undefined) return;
  // Nothing is opened before this check, because opening a pipe would wait.
  const outcome = journal === 'ours' ? replay(place) : 'not ours';
  if (outcome !== 'not ours') unlinkSync(journalName(place));
  report?.(outcome, place);
}

/** The real path, with links resolved; undefined if nothing is there. */
export function placeOf(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : realpathSync(path);
}

/** How long a reader waits for a writer that is writing its pages. */
const READER_WAIT_MS = 30_000;
/** Writes the pages of the journal into the file, or returns why not. */
function replay(place: string): JournalOutcome {
  let journal: number;
  try {
    journal = openSync(journalName(place), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') return 'not ours';
    throw error;
  }
  try {
    const { uid, size } = fstatSync(journal);
    if (!isTrusted(uid, place)) return 'not ours';
    if (!isComplete(journal, size)) return 'not begun';
    const head = Buffer.alloc(HEAD);
    readAll(journal, head, 0);
    const file = openSync(place, 'r+');
    try {
      if (!fits(file, head)) return 'of another file';
      const end = Number(head.readBigUInt64LE(16)) - TAIL;
      const record = Buffer.alloc(4 + PAGE);
      for (let at = HEAD; at < size - HASH; ) {
        readAll(journal, record.subarray(0, 4), at);
        const start = record.readUInt32LE(0) * PAGE;
        const contents = record.subarray(4, 4 + Math.min(PAGE, end - start));
        readAll(journal, contents, at + 4);
        writeAll(file, contents, start);
        at += 4 + contents.length;
      }
      writeAll(file, head.subarray(28, 32), end);
      fsyncSync(file);
      return 'finished';
    } finally {
      closeSync(file);
    }
  } finally {
    closeSync(journal);
  }
}

/** Whether the journal is complete, by its checksum. */
function isComplete(journal: number, size: number): boolean {
  if (size < HEAD + HASH) return false;
  const hash = createHash('sha256');
  const part = Buffer.allocUnsafe(PART);
  for (let at = 0; at < size - HASH; ) {
    const piece = part.subarray(0, Math.min(PART, size - HASH - at));
    readAll(journal, piece, at);
    if (at === 0 && !(piece.subarray(0, 8).equals(MAGIC) && piece.readUInt32LE(8) === 1)) return false;
    hash.update(piece);
    at += piece.length;
  }
  const digest = part.subarray(0, HASH);
  readAll(journal, digest, size - HASH);
  return hash.digest().equals(digest);
}

function fits(file: number, head: Buffer): boolean {
  const length = Number(head.readBigUInt64LE(16));
  if (fstatSync(file).size !== length) return false;
  const sample = Buffer.alloc(SAMPLE);
  readAll(file, sample, 0);
  if (!sample.equals(head.subarray(36, 36 + SAMPLE))) return false;
  const checksum = Buffer.alloc(TAIL);
  readAll(file, checksum, length - TAIL);
  return checksum.every((byte, i) => byte === head[24 + i] || byte === head[28 + i]);
}
