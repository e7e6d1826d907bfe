/** Searches files one after the other, and reads of each what its index left over. */

import { describeError } from '../terminal/error-text.ts';
import { ClosedPipe } from '../terminal/standard-output.ts';
import { UnpackError } from '../unpacking/packed-part.ts';
import type { LinePrinter } from './line-printer.ts';
import { countNewlines, extentText, wholeText } from './read-text.ts';
import { RemoteError } from './remote/remote-error.ts';
import type { FileAnswer, SearchCounts, WholeReason } from './search-indexes.ts';
import type { OpenText, TextTarget } from './text-target.ts';

export interface GrepOptions {
  readonly printer: LinePrinter;
  /** Sums over the indexes; opening a file adds to them. */
  readonly counts: SearchCounts;
  /** Lines around a match are wanted: a file with a match is read whole then. */
  readonly context: boolean;
  /** Stops at the first selected line of all files. */
  readonly quiet: boolean;
  readonly onError: (message: string) => void;
}

export interface GrepReport extends SearchCounts {
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

export async function grepFiles(targets: Iterable<TextTarget>, options: GrepOptions): Promise<GrepReport> {
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
    whole: {
      'not indexed': 0,
      changed: 0,
      'damaged index': 0,
      'every block': 0,
      'unknown age': 0,
      'no ranges': 0,
    },
    failed: false,
  };
  const { printer, onError, quiet, counts } = options;
  for (const target of targets) {
    const { path } = target;
    try {
      await grepFile(await target.open(), report, { ...options, outcomes });
    } catch (error) {
      if (error instanceof ClosedPipe) throw error;
      printer.flush();
      const text = describeError(error);
      onError(text.startsWith(path) || error instanceof RemoteError ? text : `${path}: ${text}`);
      report.failed = true;
    }
    if (quiet && report.lines > 0) break;
  }
  report.falseBlocks = [...outcomes.values()].filter((found) => !found).length;
  return Object.assign(report, counts);
}

/** Whether a line was found in a block, by index file and number. */
type BlockOutcomes = Map<string, boolean>;

interface GrepRun extends GrepOptions {
  readonly outcomes: BlockOutcomes;
}

async function grepFile(file: OpenText, report: GrepReport, options: GrepRun): Promise<void> {
  const { printer } = options;
  const { path, answer } = file;
  try {
    printer.beginFile(path);
    report.files++;
    if (answer.read === 'all') {
      report.whole[answer.why]++;
      await readWhole(file, report, options);
    } else await readExtents(file, answer, report, options);
    printer.endFile();
    report.lines += printer.count;
    if (printer.count > 0) report.filesWithLines++;
    await file.check();
  } finally {
    file.close();
  }
}

async function readWhole(
  file: OpenText & { readonly start?: number; readonly lines?: number },
  report: GrepReport,
  { printer }: GrepRun,
): Promise<void> {
  for await (const piece of wholeText(file.readAll, file, (bytes) => (report.textBytes += bytes))) {
    printer.add(piece);
    if (printer.isDecided) return;
  }
}

async function readExtents(
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
    for await (const piece of extentText(file.read, file.kind, answer.extents, onRead)) {
      const found = context ? printer.finds(piece) : printer.add(piece);
      const { index, block } = answer.extents[next++];
      const key = `${index} ${block}`;
      outcomes.set(key, found > 0 || outcomes.get(key) === true);
      if (found > 0 && context) {
        await readWhole(file, report, options);
        return;
      }
      done = piece.start + piece.bytes.length;
      if (printer.isDecided) return;
    }
  } catch (error) {
    const isWithoutRanges = error instanceof RemoteError && error.code === 'no-ranges';
    if (!(error instanceof UnpackError) && !isWithoutRanges) throw error;
    report.whole[isWithoutRanges ? 'no ranges' : 'changed']++;
    // With context, nothing was printed yet, and lines before this place may belong to a match.
    await readAfter(file, context ? 0 : done, report, options);
    return;
  }
  if (answer.rest === null) return;
  // With context, the lines before the unread rest are needed as well.
  await readWhole({ ...file, ...(context ? {} : answer.rest) }, report, options);
}

/** Reads a file whole whose extents were not where the index says, behind the part that is done. */
async function readAfter(
  file: OpenText,
  done: number,
  report: GrepReport,
  { printer }: GrepRun,
): Promise<void> {
  for await (const { start, lines, bytes } of wholeText(
    file.readAll,
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
