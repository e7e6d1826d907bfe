/**
 * Reads trace files, given as parts of bytes, into a `RecordedTrace` and a report of what was in
 * them. The caller opens and unpacks the files.
 *
 * Malformed lines are counted, and are an error only if no line was a request. Lines are read as
 * Latin-1, which accepts every byte and keeps different names different.
 */

import { LineTally, type TraceReport } from './line-tally.ts';
import { objectNumber } from './plain-traces.ts';
import type { RecordedTrace } from './recorded-trace.ts';
import { lineBatches, numberBatches } from './split-parts.ts';
import { BINARY_FORMATS, isBinary, parserOf, sniffTrace, type TraceFormat } from './trace-formats.ts';
import { CACHEABLE, type LogRules } from './trace-line.ts';
import { TraceRecorder } from './trace-recorder.ts';

export interface TraceFile {
  /** Name of the file, for messages. */
  readonly path: string;
  /** The bytes, unpacked, in order. They are read once. */
  readonly parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface ReadTraceOptions {
  /** Default: found by the first lines of the first file. */
  readonly format?: TraceFormat | undefined;
  /** The lines of a log that count as requests. Default: GET with status 200, 206 or 304. */
  readonly rules?: LogRules | undefined;
  readonly signal?: AbortSignal | undefined;
}

const SNIFFED_LINES = 100;

/** Reads the files as one trace, in the order given. The caller closes the trace. */
export async function readTrace(
  files: readonly TraceFile[],
  { format, rules = CACHEABLE, signal }: ReadTraceOptions = {},
): Promise<{ trace: RecordedTrace; report: TraceReport }> {
  const recorder = new TraceRecorder();
  const tally = new LineTally((line) => recorder.add(line));
  let found = format;
  try {
    for (const file of files) {
      tally.beginFile(file.path);
      if (found !== undefined && isBinary(found)) {
        for await (const names of numberBatches(file.parts, BINARY_FORMATS[found])) {
          signal?.throwIfAborted();
          for (const name of names) tally.add(name, objectNumber);
        }
        continue;
      }
      for await (const lines of lineBatches(file.parts, file.path)) {
        signal?.throwIfAborted();
        found ??= sniffTrace(lines.slice(0, SNIFFED_LINES), rules, file.path);
        const parse = parserOf(found, rules);
        for (const line of lines) tally.add(line, parse);
      }
    }
    const report = tally.end(found ?? 'names');
    return { trace: recorder.finish(), report };
  } catch (error) {
    recorder.close();
    throw error;
  }
}
