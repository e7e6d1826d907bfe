/**
 * Searches files by their index. A file is opened once, compared with the index, and read through
 * the same descriptor, so that a file that is replaced meanwhile does not mix with the new one.
 */

import { closeSync, openSync } from 'node:fs';
import type { RequiredText } from '@bloomery/stores/text';
import { describeError } from '../terminal/error-text.ts';
import { ClosedPipe } from '../terminal/standard-output.ts';
import { type FileAnswer, FolderSearch, type WholeReason } from './folder-search.ts';
import { GzipError } from './gzip-parts.ts';
import type { LinePrinter } from './line-printer.ts';
import { indexedFolderOf } from './list-files.ts';
import { countNewlines, extentText, wholeText } from './read-text.ts';
import { type FileKind, inodeOf, kindOf, statOf } from './text-file.ts';

export interface GrepOptions {
  readonly required: RequiredText;
  readonly printer: LinePrinter;
  /** Lines around a match are wanted: a file with a match is read whole then. */
  readonly context: boolean;
  /** Stops at the first selected line of all files. */
  readonly quiet: boolean;
  readonly onError: (message: string) => void;
}

export interface GrepReport {
  files: number;
  filesWithLines: number;
  lines: number;
  blocks: number;
  /** Blocks that the index did not rule out. */
  candidates: number;
  /** Candidates that were read, and in which no line was found. */
  falseBlocks: number;
  indexBytes: number;
  /** Unpacked bytes that were read. */
  textBytes: number;
  readonly whole: Record<WholeReason, number>;
  failed: boolean;
}

export async function grepFiles(paths: readonly string[], options: GrepOptions): Promise<GrepReport> {
  const searches = new Map<string, FolderSearch>();
  const outcomes: BlockOutcomes = new Map();
  const report: GrepReport = {
    files: 0,
    filesWithLines: 0,
    lines: 0,
    blocks: 0,
    candidates: 0,
    falseBlocks: 0,
    indexBytes: 0,
    textBytes: 0,
    whole: { 'not indexed': 0, changed: 0, 'damaged index': 0, 'every block': 0 },
    failed: false,
  };
  const { printer, onError, quiet } = options;
  for (const path of paths) {
    try {
      await grepFile(path, await searchFor(path, searches, report, options), report, {
        ...options,
        outcomes,
      });
    } catch (error) {
      if (error instanceof ClosedPipe) throw error;
      printer.flush();
      const text = describeError(error);
      onError(text.startsWith(path) ? text : `${path}: ${text}`);
      report.failed = true;
    }
    if (quiet && report.lines > 0) break;
  }
  report.falseBlocks = [...outcomes.values()].filter((found) => !found).length;
  return report;
}

async function searchFor(
  path: string,
  searches: Map<string, FolderSearch>,
  report: GrepReport,
  { required, onError }: GrepOptions,
): Promise<FolderSearch | null> {
  const folder = indexedFolderOf(path);
  if (folder === null) return null;
  const known = searches.get(folder);
  if (known !== undefined) return known;
  const search = await FolderSearch.open(folder, required);
  searches.set(folder, search);
  report.blocks += search.counts.blocks;
  report.candidates += search.counts.candidates;
  report.indexBytes += search.counts.indexBytes;
  if (search.problem !== null)
    onError(`${search.problem}; its files are read whole; bloomery index --rebuild ${folder} repairs it`);
  return search;
}

/** Whether a line was found in a block, by index file and number. */
type BlockOutcomes = Map<string, boolean>;

interface GrepRun extends GrepOptions {
  readonly outcomes: BlockOutcomes;
}

async function grepFile(
  path: string,
  search: FolderSearch | null,
  report: GrepReport,
  options: GrepRun,
): Promise<void> {
  const { printer } = options;
  const descriptor = openSync(path, 'r');
  try {
    const stat = statOf(descriptor);
    const file = { path, kind: kindOf(descriptor), size: Number(stat.size) };
    const answer: FileAnswer = search?.answer(path, descriptor) ?? { read: 'all', why: 'not indexed' };
    printer.beginFile(path);
    report.files++;
    if (answer.read === 'all') {
      report.whole[answer.why]++;
      await readWhole(descriptor, file, report, options);
    } else await readExtents(descriptor, file, answer, report, options);
    printer.endFile();
    report.lines += printer.count;
    if (printer.count > 0) report.filesWithLines++;
    const later = statOf(descriptor);
    // A log that grows is read as far as it was at the beginning.
    if (
      later.size < stat.size ||
      (later.size === stat.size && inodeOf(later) !== inodeOf(stat) && later.mtimeNs !== stat.mtimeNs)
    )
      throw new Error('Cannot search the whole file: it was changed while it was read');
  } finally {
    closeSync(descriptor);
  }
}

interface OpenText {
  readonly path: string;
  readonly kind: FileKind;
  readonly size: number;
}

async function readWhole(
  descriptor: number,
  file: OpenText & { readonly start?: number; readonly lines?: number },
  report: GrepReport,
  { printer }: GrepRun,
): Promise<void> {
  for await (const piece of wholeText(descriptor, file, (bytes) => (report.textBytes += bytes))) {
    printer.add(piece);
    if (printer.isDecided) return;
  }
}

async function readExtents(
  descriptor: number,
  file: OpenText,
  answer: FileAnswer & { read: 'extents' },
  report: GrepReport,
  options: GrepRun,
): Promise<void> {
  const { printer, context, outcomes } = options;
  const onRead = (bytes: number) => {
    report.textBytes += bytes;
  };
  let done = 0;
  let next = 0;
  try {
    for await (const piece of extentText(descriptor, file.kind, answer.extents, onRead)) {
      const found = context ? printer.finds(piece) : printer.add(piece);
      const { index, block } = answer.extents[next++];
      const key = `${index} ${block}`;
      outcomes.set(key, found > 0 || outcomes.get(key) === true);
      if (found > 0 && context) {
        await readWhole(descriptor, file, report, options);
        return;
      }
      done = piece.start + piece.bytes.length;
      if (printer.isDecided) return;
    }
  } catch (error) {
    if (!(error instanceof GzipError)) throw error;
    // With context, nothing was printed yet, and lines before this place may belong to a match.
    await readAfter(descriptor, file, context ? 0 : done, report, options);
    return;
  }
  if (answer.rest === null) return;
  // With context, the lines before the unread rest are needed as well.
  await readWhole(descriptor, { ...file, ...(context ? {} : answer.rest) }, report, options);
}

/** Reads a file whole whose extents were not where the index says, behind the part that is done. */
async function readAfter(
  descriptor: number,
  file: OpenText,
  done: number,
  report: GrepReport,
  { printer }: GrepRun,
): Promise<void> {
  for await (const { start, lines, bytes } of wholeText(
    descriptor,
    file,
    (read) => (report.textBytes += read),
  )) {
    if (start + bytes.length <= done) continue;
    const cut = Math.max(0, done - start);
    const newlines = countNewlines(bytes.subarray(0, cut));
    printer.add({ start: start + cut, lines: lines + newlines, bytes: bytes.subarray(cut) });
    if (printer.isDecided) return;
  }
}
