/**
 * Changing pages of a file so that a crash at any moment leaves the old contents or the new ones.
 *
 * A page cannot be written at once: a crash may leave half of it, or some of several. So what is about to be written is
 * written down first, in a file beside it:
 *
 *     1. where the file has holes, they are filled (with what they read as), so that the disk cannot be full later
 *     2. `.name.bloomery-journal-new` is written and brought to the disk (fsync)
 *     3. it is renamed to `.name.bloomery-journal`, and the directory brought to the disk: from here on the new contents hold
 *     4. the pages and the checksum are written into the file, and brought to the disk
 *     5. the journal is removed
 *
 * A crash before 3 leaves the old file and at most an unfinished `…-journal-new`, which the next writer removes. A crash
 * after it leaves a journal that says all that the file may lack: `recoverFile`, called before a filter file is read, writes
 * it once more, as often as need be. Step 5 need not reach the disk: a journal that comes back after a power failure
 * is carried out again, to the same effect, and later steps 3 make it durable.
 *
 * The journal, integers little-endian:
 *
 *     0   8  'BLMYJRNL'
 *     8   8  version: 1
 *     16  8  length of the file
 *     24  4  checksum of the file before
 *     28  4  checksum of the file after
 *     32  4  number of pages
 *     36  28 the first 27 bytes of the file, which no key changes, and a zero
 *     64  …  for each page, in rising order: its number (4), its new contents (4096 bytes, less for the last of the file)
 *     …   32 SHA-256 of all before
 *
 * A journal fits the file if length and first bytes are the same and each byte of the file's checksum is the one before or
 * the one after (they may be torn as well). So a file that was replaced in the meantime keeps its contents, and the journal
 * is removed. One that belongs to a stranger (neither to the owner of the file, nor to who runs this, nor to root)
 * is not looked at: in a directory such as /tmp anybody can put one there.
 *
 * Cost: three fsyncs and twice the bytes of the pages, whatever the size of the file.
 */

import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncDirectory, writeAll } from '../atomic-file.ts';
import { FileError } from '../file-error.ts';
import { type FileLockOptions, lockFile } from '../lock/file-lock.ts';

/** New contents of some pages of a file. */
export interface PageChanges {
  /** The real place of the file, no link. */
  readonly place: string;
  /** The file, open for reading and writing. */
  readonly descriptor: number;
  /** Of the file; its last four bytes are the checksum. */
  readonly length: number;
  readonly oldChecksum: number;
  readonly newChecksum: number;
  /** In rising order. */
  readonly pages: readonly { readonly page: number; readonly contents: Uint8Array }[];
}

/** How much journal was written; for reports. */
export interface Written {
  readonly bytes: number;
}

/** Writes the changes, all or none. The caller holds the lock of the file. */
export function writePages(changes: PageChanges): Written {
  const steps = writeSteps(changes);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * The same step by step, for tests that stop in between, as a crash would. Each value names what has just been done.
 */
export function* writeSteps(changes: PageChanges): Generator<string, Written> {
  const { place, descriptor, length } = changes;
  const journal = journalName(place);
  const unfinished = `${journal}${NEW}`;
  removeIfThere(unfinished);
  let journalBytes: number;
  try {
    if (isSparse(descriptor)) {
      fillHoles(changes);
      yield 'holes filled';
    }
    journalBytes = yield* writeJournal(unfinished, changes);
    yield 'journal written';
    renameSync(unfinished, journal);
  } catch (error) {
    removeIfThere(unfinished);
    throw error;
  }
  yield 'journal renamed';
  syncDirectory(dirname(place));
  yield 'directory synced';
  try {
    for (const { page, contents } of changes.pages) {
      writeAll(descriptor, contents, page * PAGE);
      yield `page ${page} written`;
    }
    writeAll(descriptor, word(changes.newChecksum), length - CHECKSUM);
    yield 'checksum written';
    fsyncSync(descriptor);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new FileError(
      'unfinished',
      place,
      `Cannot change ${place}: the change is written down beside it but could not be carried out (${reason}); it will be at the next use`,
      { cause },
    );
  }
  yield 'file synced';
  unlinkSync(journal);
  const pageBytes = changes.pages.reduce((sum, { contents }) => sum + contents.length, 0);
  return { bytes: journalBytes + pageBytes + CHECKSUM };
}

/** Where links lead; undefined if nothing is there. */
export function placeOf(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : realpathSync(path);
}

export function journalName(place: string): string {
  return join(dirname(place), `.${basename(place)}.bloomery-journal`);
}

/**
 * What became of the journal that was found. `finished`: the change was carried out. `not begun`, `of another file`: the
 * journal was removed, and the file is as it was. `not ours`: it belongs to another user or is no file, and was left alone.
 */
export type JournalOutcome = 'finished' | 'not begun' | 'of another file' | 'not ours';

/** Told once for each journal that was found. */
export type JournalReport = (outcome: JournalOutcome, place: string) => void;

export interface RecoveryOptions extends Pick<FileLockOptions, 'waiting'> {
  /** How long to wait for a writer that is writing its pages. Default 30 s. */
  readonly waitMs?: number | undefined;
  readonly report?: JournalReport | undefined;
}

/**
 * Finishes or forgets a change that a crash interrupted. Called before a file is read; where nothing was interrupted, that
 * is one look for a journal. A writer that is at work is waited for.
 */
export async function recoverFile(path: string, options: RecoveryOptions = {}): Promise<void> {
  const { waitMs = READER_WAIT_MS, waiting, report } = options;
  const place = placeOf(path);
  const journal = place === undefined ? undefined : journalOf(place);
  if (place === undefined || journal === undefined) return;
  if (journal === 'stranger') {
    report?.('not ours', place);
    return;
  }
  try {
    const lock = await lockFile(place, { waitMs, waiting, until: () => !isThere(journalName(place)) });
    if (lock === undefined) return;
    try {
      settle(place, report);
    } finally {
      lock.release();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') throw error;
    if (!isThere(journalName(place))) return; // its writer has just finished, and there is no lock to be had any more
    throw new FileError(
      'interrupted',
      place,
      `Cannot finish the interrupted change of ${place}: expected to be allowed to write there, got ${code} (${journalName(place)})`,
      { cause: error },
    );
  }
}

/** Whether there is a journal beside a file: one that is no file, or belongs to a stranger, is none. */
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
  // A pipe would be waited for, so nothing is opened before this.
  const outcome = journal === 'ours' ? replay(place) : 'not ours';
  if (outcome !== 'not ours') unlinkSync(journalName(place));
  report?.(outcome, place);
}

/** How long a reader waits for a writer that is writing its pages. */
const READER_WAIT_MS = 30_000;
const PAGE = 4096;
const CHECKSUM = 4;
const HEAD = 64;
/** The first bytes of the file in the journal: what stands before the bits in every frame that is changed in place. */
const SAMPLE = 27;
const HASH = 32;
const PART = 1 << 20;
const NEW = '-new';
const MAGIC = Buffer.from('BLMYJRNL', 'latin1');

function* writeJournal(path: string, changes: PageChanges): Generator<string, number> {
  const { descriptor, length, pages, oldChecksum, newChecksum } = changes;
  const head = Buffer.alloc(HEAD);
  MAGIC.copy(head);
  head.writeUInt32LE(1, 8);
  head.writeBigUInt64LE(BigInt(length), 16);
  head.writeUInt32LE(oldChecksum, 24);
  head.writeUInt32LE(newChecksum, 28);
  head.writeUInt32LE(pages.length, 32);
  readAll(descriptor, head.subarray(36, 36 + SAMPLE), 0);
  // Exclusive: nothing that stands there, not even a link, is written through.
  const journal = openSync(path, 'wx', fstatSync(descriptor).mode & 0o666);
  try {
    const hash = createHash('sha256').update(head);
    writeAll(journal, head);
    yield 'journal begun';
    // In large parts: a write for each page would cost as much as writing it to its place.
    const part = Buffer.allocUnsafe(PART);
    let used = 0;
    let written = HEAD;
    const flush = () => {
      hash.update(part.subarray(0, used));
      writeAll(journal, part.subarray(0, used));
      written += used;
      used = 0;
    };
    for (const { page, contents } of pages) {
      if (used + 4 + PAGE > PART) {
        flush();
        yield 'journal continued';
      }
      part.writeUInt32LE(page, used);
      part.set(contents, used + 4);
      used += 4 + contents.length;
    }
    flush();
    writeAll(journal, hash.digest());
    fsyncSync(journal);
    return written + HASH;
  } finally {
    closeSync(journal);
  }
}

/** Writes the pages of the journal into the file, or says why not. */
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
      const end = Number(head.readBigUInt64LE(16)) - CHECKSUM;
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

/** Whether all of the journal is there, as its checksum says. */
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
  const checksum = Buffer.alloc(CHECKSUM);
  readAll(file, checksum, length - CHECKSUM);
  return checksum.every((byte, i) => byte === head[24 + i] || byte === head[28 + i]);
}

/** Whether the file has fewer blocks than bytes: then writing to it may need room on the disk. */
function isSparse(descriptor: number): boolean {
  const { size, blocks } = fstatSync(descriptor);
  return blocks * 512 < size;
}

/** Writes what is there already, so that it has a place on the disk. */
function fillHoles({ descriptor, pages, length }: PageChanges): void {
  const old = Buffer.allocUnsafe(PAGE);
  for (const { page, contents } of pages) {
    const part = old.subarray(0, contents.length);
    readAll(descriptor, part, page * PAGE);
    writeAll(descriptor, part, page * PAGE);
  }
  const checksum = old.subarray(0, CHECKSUM);
  readAll(descriptor, checksum, length - CHECKSUM);
  writeAll(descriptor, checksum, length - CHECKSUM);
  fsyncSync(descriptor);
}

/** Fills `bytes` from a position on. */
export function readAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length; ) {
    const read = readSync(descriptor, bytes, at, bytes.length - at, position + at);
    if (read === 0) {
      const end = position + at;
      throw new FileError(
        'truncated',
        '',
        `Cannot read the file: expected ${bytes.length} bytes at ${position}, but the file ends at byte ${end}; was it cut off just now?`,
      );
    }
    at += read;
  }
}

function word(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function removeIfThere(path: string): void {
  if (isThere(path)) unlinkSync(path);
}
