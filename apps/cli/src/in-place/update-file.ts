/**
 * Adds keys to a filter file or removes them. It chooses the way, holds the lock, and reports the
 * result.
 *
 * A file is changed in place (`PagedFrame` of @bloomery/files) if its structure allows it and it is
 * faster: from 1 MiB on, as long as no more than a quarter of the pages is touched. Otherwise the
 * whole file is loaded and replaced. The number of touched pages is known only while keys come in.
 * If there are too many, the rest of the file is loaded around the changed pages, and the work goes
 * on. Files of Bloom and blocked filters beyond 2 GiB are always changed in place, because loading
 * takes three times their size in memory.
 *
 * The lock is held from before the first byte is read until the last byte is written. Keys from a
 * pipe are therefore added in batches (stream-update.ts), each of which is one such change. Readers
 * do not wait for the lock. They wait only while pages are being written (recovered-file.ts). A
 * signal releases the lock before it ends the process.
 */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { PagedFrame, placeOf, writeAtomically } from '@bloomery/files';
import type { SecretKey } from 'bloomery';
import type { GuavaFunnel } from 'bloomery/formats/guava';
import { decodeFilter, FRAME_MAGIC, hasMagic, PAGE, readFrameHead } from 'bloomery/frames';
import { funnelOfBytes } from '../conversion/guava-keys.ts';
import { type FilterFile, openFilter } from '../files/filter-file.ts';
import { naming } from '../files/frame-error-text.ts';
import { structureOf } from '../files/structures.ts';
import type { KeyChunk } from '../keys/key-source.ts';
import { letSignalsIn } from '../terminal/orderly-end.ts';
import { UsageError } from '../usage-error.ts';
import { inWords } from './file-words.ts';
import { type Fullness, fullnessFromSample, fullnessOf } from './fullness.ts';
import { lockFile, recoverFile, settleFile } from './recovered-file.ts';
import { adderFor, encodeLike, removerFor, type TakeKeys } from './whole-file.ts';

export interface UpdateOptions {
  readonly key?: SecretKey | undefined;
  readonly format?: string | undefined;
  /** How Guava turned keys into bytes. The default for text is UTF-8. */
  readonly funnel?: GuavaFunnel | undefined;
  /** How long to wait for another writer. */
  readonly waitMs: number;
  /** Finds out what would happen, and writes nothing. */
  readonly dryRun?: boolean | undefined;
}

export interface Update {
  /** Name of the library's structure, or the format of another system. */
  readonly structure: string;
  readonly keys: number;
  /**
   * Number of keys that changed something: new keys, or removed keys. Undefined if the structure
   * cannot tell.
   */
  readonly effective: number | undefined;
  /** The part that was written, or would have been in a dry run. */
  readonly written: 'pages' | 'file' | 'nothing';
  readonly pagesRead: number;
  readonly pagesWritten: number;
  readonly bytesRead: number;
  /** Bytes written, including the journal; 0 in a dry run. */
  readonly bytesWritten: number;
  /** Size of the file. */
  readonly fileBytes: number;
  readonly fullness: Fullness | undefined;
}

/** Keys as they come, or keys that were gathered. */
export type KeyChunks = AsyncIterable<KeyChunk> | Iterable<KeyChunk>;

/** Adds all keys to a filter file. After an error the file is as it was. */
export function addToFile(path: string, chunks: KeyChunks, options: UpdateOptions): Promise<Update> {
  return underLock(path, options, async (place) => {
    const paged = openPaged(path, place, options);
    return paged === undefined
      ? replaceFile(path, chunks, options, adderFor)
      : addToPages(path, paged, chunks, options).finally(() => paged.close());
  });
}

export interface RemoveOptions extends UpdateOptions {
  /** Changes nothing if a key is certainly not in. */
  readonly strict?: boolean | undefined;
}

/** Removes all keys from a filter file, each once. After an error the file is as it was. */
export function removeFromFile(path: string, chunks: KeyChunks, options: RemoveOptions): Promise<Update> {
  return underLock(path, options, () => replaceFile(path, chunks, options, removerFor, options.strict));
}

/** Enough bytes for the head of any frame. */
const HEAD_BYTES = 64;
/** Smaller files are loaded and replaced. */
const LEAST_BYTES = 2 ** 20;
/** Larger files are always changed in place. */
const MOST_LOADED_BYTES = 2 ** 31;
/** Above this share of all pages, reading and writing the whole file at once is faster. */
const MOST_PAGES = 1 / 4;

async function underLock(
  path: string,
  { waitMs, dryRun }: UpdateOptions,
  work: (place: string) => Promise<Update>,
): Promise<Update> {
  if (path === '-') throw new UsageError('a filter is changed in its file; name it instead of -');
  const found = statSync(path);
  if (found.isDirectory()) throw new UsageError(`${path} is a directory, expected a filter file`);
  if (!found.isFile()) throw new UsageError(`${path} is not a file, and only files can be changed`);
  const place = placeOf(path)!;
  if (dryRun) {
    await recoverFile(path);
    return work(place);
  }
  const lock = await lockFile(place, { waitMs });
  try {
    settleFile(place);
    return await work(place);
  } finally {
    lock.release();
  }
}

/** Opens the file for access by pages, if that is possible and faster. */
function openPaged(
  path: string,
  place: string,
  { key, format, dryRun }: UpdateOptions,
): PagedFrame | undefined {
  const { size } = statSync(place);
  if (size < LEAST_BYTES || (format !== undefined && format !== 'bloomery')) return undefined;
  const head = new Uint8Array(HEAD_BYTES);
  const descriptor = openSync(place, 'r');
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (!hasMagic(FRAME_MAGIC, head)) return undefined;
  const { structure, coded } = naming(path, () => readFrameHead(head));
  if (coded || (structure !== 'BloomFilter' && structure !== 'BlockedBloomFilter')) return undefined;
  const maxPages = size > MOST_LOADED_BYTES ? Number.POSITIVE_INFINITY : MOST_PAGES * (size / PAGE);
  return naming(path, () => PagedFrame.open(place, { key, maxPages, readOnly: dryRun }));
}

async function addToPages(
  path: string,
  paged: PagedFrame,
  chunks: KeyChunks,
  options: UpdateOptions,
): Promise<Update> {
  const { layout } = paged;
  let keys = 0;
  let fresh = 0;
  let add: TakeKeys = (batch) => paged.addMany(batch);
  let loaded: FilterFile | undefined;
  for await (const chunk of chunks) {
    await letSignalsIn();
    let changed = add(chunk.keys);
    if (changed === undefined) {
      // Too many pages. The loaded frame contains the keys that were added so far.
      loaded = openFrame(path, paged.load(), options.key);
      add = adderFor(loaded);
      changed = add(chunk.keys);
    }
    keys += chunk.count;
    fresh += changed ?? 0;
  }
  if (loaded !== undefined && fresh > 0) {
    const report = { keys, effective: fresh, pagesRead: layout.pageCount, bytesRead: layout.length };
    return writeFile(loaded, paged.place, fresh > 0, report, options, () =>
      worded(() => paged.checkSameFile()),
    );
  }
  const pagesWritten = paged.pagesChanged;
  return {
    structure: layout.structure,
    keys,
    effective: fresh,
    written: pagesWritten > 0 ? 'pages' : 'nothing',
    pagesRead: paged.pagesRead,
    pagesWritten,
    bytesRead: paged.pagesRead * layout.pageLength,
    bytesWritten: options.dryRun ? 0 : worded(() => paged.commit()),
    fileBytes: layout.length,
    fullness: fullnessFromSample(layout, paged.sample, fresh),
  };
}

async function replaceFile(
  path: string,
  chunks: KeyChunks,
  options: UpdateOptions,
  takerFor: (file: FilterFile) => TakeKeys,
  strict = false,
): Promise<Update> {
  const { key, format, funnel = 'utf8' } = options;
  const before = statSync(path, { bigint: true });
  const file = await openFilter(path, { key, format, funnel: funnelOfBytes(funnel) });
  const take = takerFor(file);
  let keys = 0;
  let effective: number | undefined = 0;
  for await (const chunk of chunks) {
    await letSignalsIn();
    const changed = take(chunk.keys);
    effective = changed === undefined || effective === undefined ? undefined : effective + changed;
    keys += chunk.count;
  }
  const report = { keys, effective, pagesRead: 0, bytesRead: file.bytes.length };
  const wanted = keys > 0 && !(strict && effective !== keys);
  return writeFile(file, path, wanted, report, options, () => {
    const now = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (now?.ino !== before.ino || now.mtimeNs !== before.mtimeNs || now.size !== before.size) {
      throw new UsageError(`${path} was changed by another process in the meantime; nothing was changed`);
    }
  });
}

/** Replaces the file by the changed filter, if anything changed. */
async function writeFile(
  file: FilterFile,
  path: string,
  wanted: boolean,
  report: Pick<Update, 'keys' | 'effective' | 'pagesRead' | 'bytesRead'>,
  { dryRun }: UpdateOptions,
  checkUnchanged: () => void,
): Promise<Update> {
  const bytes = wanted ? await encodeLike(file) : file.bytes;
  const changed = Buffer.compare(bytes, file.bytes) !== 0;
  if (changed && !dryRun) {
    checkUnchanged();
    writeAtomically(path, bytes);
  }
  return {
    ...report,
    structure: file.format === 'bloomery' ? file.structure.name : file.format,
    written: changed ? 'file' : 'nothing',
    pagesWritten: 0,
    bytesWritten: changed && !dryRun ? bytes.length : 0,
    fileBytes: bytes.length,
    fullness: fullnessOf(file.filter),
  };
}

function openFrame(path: string, frame: Uint8Array, key: SecretKey | undefined): FilterFile {
  const structure = structureOf(readFrameHead(frame).structure);
  const filter = naming(path, () => decodeFilter(frame, key === undefined ? {} : { key }));
  // `bytes` is empty, so that it differs from the encoded filter and the file is written.
  return { path, bytes: new Uint8Array(0), format: 'bloomery', structure, filter, coded: false, frame };
}

/** Runs work of @bloomery/files, and puts its errors into the words of the command. */
function worded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw inWords(error);
  }
}
