/**
 * Spools for tests: on each of the two backings, and on backings that give trouble at a chosen
 * byte.
 */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileBacking } from '../../src/store/disk/bodies/file-backing.ts';
import { OpenFiles } from '../../src/store/disk/bodies/open-files.ts';
import { MemoryBacking } from '../../src/store/memory/memory-backing.ts';
import { BodyError } from '../../src/store/response-store.ts';
import { type Backing, Spool } from '../../src/store/spool.ts';

export const WINDOW = 256 * 1024;

/** A spool under test, and what must be left of it at the end. */
export interface SpoolBench {
  readonly spool: Spool;
  readonly backing: Backing;
  /** Ends the part of the writer, after `end` or `abort`. */
  release(): void;
  /** Everything that is still in use: readers, counted and reserved bytes, descriptors, files. */
  left(): Record<string, number>;
  dispose(): void;
}

/** Positions after which the backing gives trouble. */
export interface Trouble {
  /** Position after which it does not admit a longer body. */
  readonly refuseAfter?: number;
  /** Position after which it finds no room. */
  readonly fullAfter?: number;
  /** Position after which it fails. */
  readonly failAfter?: number;
}

export type BackingName = 'memory' | 'a file';
export const BACKINGS: readonly BackingName[] = ['memory', 'a file'];

export function spoolOn(name: BackingName, trouble: Trouble = {}): SpoolBench {
  return name === 'memory' ? inMemory(trouble) : inFile(trouble);
}

function inMemory(trouble: Trouble): SpoolBench {
  const pending = {
    readers: 0,
    pendingBytes: 0,
    maxPendingBytes: Number.POSITIVE_INFINITY,
    maxBodyBytes: Number.POSITIVE_INFINITY,
  };
  const inner = new MemoryBacking(pending);
  const backing = troubled(inner, trouble);
  const spool = new Spool(backing, pending);
  return {
    spool,
    backing,
    release: () => {
      // As the writer does: an abort must stop the count by itself.
      if (spool.failure === undefined) inner.dismiss();
      spool.release();
    },
    left: () => ({ readers: pending.readers, bytes: pending.pendingBytes }),
    dispose: () => {},
  };
}

function inFile(trouble: Trouble): SpoolBench {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-spool-'));
  const { backing: inner, left } = fileBacking(folder);
  const backing = troubled(inner, trouble);
  const tally = { readers: 0 };
  const spool = new Spool(backing, tally);
  return {
    spool,
    backing,
    release: () => {
      inner.discard(false);
      spool.release();
    },
    left: () => ({ ...left(), readers: tally.readers }),
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A file backing in a folder. */
export function fileBacking(folder: string): { backing: FileBacking; left(): Record<string, number> } {
  const files = new OpenFiles(8);
  let reserved = 0;
  let names = 0;
  const backing = new FileBacking(
    {
      maxObjectBytes: Number.POSITIVE_INFINITY,
      reserve: (bytes) => {
        reserved += bytes;
        return true;
      },
      writeFailed: () => {},
      unreserve: (bytes) => {
        reserved -= bytes;
      },
      openTemporary: () => {
        const name = String(++names);
        const path = join(folder, name);
        return { path, file: files.acquire(name, path, 'wx+') };
      },
    },
    true,
  );
  return { backing, left: () => ({ reserved, open: files.open, files: readdirSync(folder).length }) };
}

function troubled(inner: Backing, { refuseAfter, fullAfter, failAfter }: Trouble): Backing {
  return {
    get end() {
      return inner.end;
    },
    admit: (length) => !(length > (refuseAfter ?? Number.POSITIVE_INFINITY)) && inner.admit(length),
    settle: (held) => {
      if (held.end > (failAfter ?? Number.POSITIVE_INFINITY)) {
        return Promise.reject(new BodyError('write-failed', 'The backing failed, as the test wants'));
      }
      if (held.end > (fullAfter ?? Number.POSITIVE_INFINITY)) return Promise.resolve(false);
      return inner.settle(held);
    },
    read: (at, end) => inner.read(at, end),
    dismiss: () => inner.dismiss(),
    close: () => inner.close(),
  };
}
