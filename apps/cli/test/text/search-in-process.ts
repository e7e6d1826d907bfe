/**
 * A search of files or of a server in this process: a command for each would take longer to start.
 */

import { linePattern, NOTHING_REQUIRED, type PatternSyntax } from '@bloomery/stores/text';
import { type GrepReport, grepFiles } from '../../src/text/grep-files.ts';
import { LineFinder } from '../../src/text/line-finder.ts';
import { LinePrinter } from '../../src/text/line-printer.ts';
import { filesOf } from '../../src/text/list-files.ts';
import { localTargets } from '../../src/text/local-targets.ts';
import type { Traffic } from '../../src/text/remote/http-client.ts';
import { remoteTargets } from '../../src/text/remote/remote-targets.ts';

export interface InProcessSearch {
  readonly pattern: Uint8Array | string;
  readonly syntax?: PatternSyntax;
  /** Flags of grep, one each. */
  readonly flags?: readonly string[];
  readonly headers?: Record<string, string>;
}

export interface InProcessResult {
  readonly output: string;
  readonly errors: readonly string[];
  readonly report: GrepReport;
  readonly traffic: Traffic;
}

/** Searches files, or what one address stands for. Lines have their names before them. */
export async function searchInProcess(
  { pattern, syntax = 'fixed', flags = [], headers = {} }: InProcessSearch,
  source: readonly string[] | string,
): Promise<InProcessResult> {
  const has = (flag: string) => flags.includes(flag);
  const number = (flag: string) => Number(flags.find((one) => one.startsWith(flag))?.slice(2) ?? 0);
  const invert = has('-v');
  const read = linePattern([Buffer.from(pattern)], {
    syntax,
    ignoreCase: has('-i'),
    words: has('-w'),
    wholeLines: has('-x'),
  });
  const output: Uint8Array[] = [];
  const errors: string[] = [];
  const [before, after] = [number('-B') || number('-C'), number('-A') || number('-C')];
  const printer = new LinePrinter(new LineFinder(read, invert), {
    only: has('-c') ? 'count' : has('-l') ? 'files' : has('-L') ? 'files without' : undefined,
    names: true,
    numbers: has('-n'),
    before,
    after,
    json: false,
    invert,
    write: (bytes) => output.push(bytes),
  });
  const traffic = { requests: 0, downloaded: 0 };
  const options = {
    required: invert ? NOTHING_REQUIRED : read.required,
    counts: { blocks: 0, candidates: 0, indexBytes: 0 },
    onError: (message: string) => errors.push(message),
  };
  const found =
    typeof source === 'string'
      ? await remoteTargets(source, { ...options, traffic, headers, isWanted: () => true })
      : {
          targets: source.flatMap((path) => filesOf(path).files).map(localTargets(options)),
          close: async () => {},
        };
  try {
    const report = await grepFiles(found.targets, {
      printer,
      counts: options.counts,
      context: before + after > 0 && !has('-c') && !has('-l') && !has('-L'),
      quiet: false,
      onError: options.onError,
    });
    return { output: Buffer.concat(output).toString('latin1'), errors, report, traffic };
  } finally {
    await found.close();
  }
}
