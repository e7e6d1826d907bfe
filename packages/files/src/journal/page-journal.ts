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
 * after it leaves a journal that says all that the file may lack: `recoverFile` (journal-recovery.ts), called before a file is
 * read, writes it once more, as often as need be. Step 5 need not reach the disk: a journal that comes back after a power failure
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
 * The file is a frame of the library only in this: its last four bytes are a checksum of the whole, and its first 27 bytes
 * are never changed in place. The cache's index is a log of records instead: it is appended to and replayed from its
 * beginning, a crash may cost its end, and it keeps a checksum for each frame of records. One format for both would carry
 * the fields of both and serve neither better, so the index journal stays in the cache.
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
/** The last bytes of the file, where its checksum stands. The journal keeps them and does not look into them. */
export const TAIL = 4;
export const HEAD = 64;
/** The first bytes of the file, which the journal keeps to recognise the file that it belongs to. */
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
