/**
 * Changes pages of a file so that a crash at any moment leaves the old contents or the new ones.
 *
 * A page cannot be written atomically: a crash may leave half of it, or some of several pages. So
 * the new contents are first written to a journal next to the file:
 *
 *     1. holes in the file are filled with their contents, so that the disk cannot be full later
 *     2. `.name.bloomery-journal-new` is written and flushed to the disk (fsync)
 *     3. it is renamed to `.name.bloomery-journal`, and the directory is flushed: from here on the
 *        new contents hold
 *     4. the pages and the checksum are written into the file, and flushed
 *     5. the journal is removed
 *
 * A crash before 3 leaves the old file and at most an unfinished `…-journal-new`, which the next
 * writer removes. A crash after it leaves a journal with everything that the file may lack.
 * `recoverFile` (journal-recovery.ts), called before a file is read, writes it again, as often as
 * necessary. Step 5 need not reach the disk: a journal that comes back after a power failure is
 * carried out again, with the same result, and a later step 3 makes the removal durable.
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
 *     64  …  for each page, in rising order: its number (4), its new contents (4096 bytes, less for
 *            the last of the file)
 *     …   32 SHA-256 of all before
 *
 * The journal assumes only two things about the file: its last four bytes are a checksum of the
 * whole, and its first 27 bytes are never changed in place. The cache's index is a log of records
 * instead. It is appended to and replayed from its beginning, a crash may cost its end, and it
 * keeps a checksum for each frame of records. One format for both would carry the fields of both
 * and serve neither better, so the index journal stays in the cache.
 *
 * Cost: three fsyncs and twice the bytes of the pages, whatever the size of the file.
 */

import { createHash } from 'node:crypto';
import { closeSync, fstatSync, fsyncSync, lstatSync, openSync, renameSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readAll, syncDirectory, writeAll } from '../descriptor-bytes.ts';
import { FileError } from '../file-error.ts';

/** New contents of some pages of a file. */
export interface PageChanges {
  /** The real path of the file, with links resolved. */
  readonly place: string;
  /** The file, open for reading and writing. */
  readonly descriptor: number;
  /** Length of the file; its last four bytes are the checksum. */
  readonly length: number;
  readonly oldChecksum: number;
  readonly newChecksum: number;
  /** The changed pages, in rising order. */
  readonly pages: readonly { readonly page: number; readonly contents: Uint8Array }[];
}

/** Number of bytes written, for reports. */
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
 * Writes the changes step by step, for tests that stop in between, as a crash would. Each value
 * names the step that was just done.
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
    writeAll(descriptor, word(changes.newChecksum), length - TAIL);
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
  return { bytes: journalBytes + pageBytes + TAIL };
}

export function journalName(place: string): string {
  return join(dirname(place), `.${basename(place)}.bloomery-journal`);
}

export const PAGE = 4096;
/**
 * Length of the checksum at the end of the file. The journal stores the checksum and does not
 * interpret it.
 */
export const TAIL = 4;
export const HEAD = 64;
/**
 * Number of first bytes of the file that the journal keeps, to recognise the file that it belongs
 * to.
 */
export const SAMPLE = 27;
export const HASH = 32;
export const PART = 1 << 20;
export const NEW = '-new';
export const MAGIC = Buffer.from('BLMYJRNL', 'latin1');

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
  // Exclusive, so that no existing file or link is written to.
  const journal = openSync(path, 'wx', fstatSync(descriptor).mode & 0o666);
  try {
    const hash = createHash('sha256').update(head);
    writeAll(journal, head);
    yield 'journal begun';
    // Written in large parts, because a write per page would cost as much as writing the page to
    // its place.
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

/** Whether the file has holes, so that writing to it may need more room on the disk. */
function isSparse(descriptor: number): boolean {
  const { size, blocks } = fstatSync(descriptor);
  return blocks * 512 < size;
}

/** Writes the old contents of the pages again, so that the disk has room for them. */
function fillHoles({ descriptor, pages, length }: PageChanges): void {
  const old = Buffer.allocUnsafe(PAGE);
  for (const { page, contents } of pages) {
    const part = old.subarray(0, contents.length);
    readAll(descriptor, part, page * PAGE);
    writeAll(descriptor, part, page * PAGE);
  }
  const checksum = old.subarray(0, TAIL);
  readAll(descriptor, checksum, length - TAIL);
  writeAll(descriptor, checksum, length - TAIL);
  fsyncSync(descriptor);
}

function word(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function removeIfThere(path: string): void {
  if (isThere(path)) unlinkSync(path);
}
