/**
 * The formats of trace files by name, and how the format of a file is found by its first lines: the
 * format that reads most of them wins, and of two that read equally many the one that stands
 * earlier here. Lists of names come last, because they read every line without a space.
 *
 * Binary lists of numbers cannot be recognised, because any bytes are such a list. Their byte order
 * does not matter: a number is only a name.
 */

import { nodeJsonLog, nodeLog, squidLog } from './cache-logs.ts';
import { commonLog } from './common-log.ts';
import { objectNames, sizedObjects } from './plain-traces.ts';
import { TraceError } from './trace-error.ts';
import type { LineParser, LogRules } from './trace-line.ts';

const TEXT_FORMATS = {
  common: commonLog,
  squid: squidLog,
  bloomery: nodeLog,
  'bloomery-json': nodeJsonLog,
  sizes: () => sizedObjects,
  names: () => objectNames,
} satisfies Record<string, (rules: LogRules) => LineParser>;

export const BINARY_FORMATS = { int32: 4, int64: 8 } as const;

export type TextFormat = keyof typeof TEXT_FORMATS;
export type BinaryFormat = keyof typeof BINARY_FORMATS;
export type TraceFormat = TextFormat | BinaryFormat;

/** All formats, and one line about each. */
export const TRACE_FORMATS: Readonly<Record<TraceFormat, string>> = {
  common: 'access log of Apache, nginx and others: common, combined, with virtual hosts',
  squid: 'native access log of Squid',
  bloomery: "Bloomery's access log as text",
  'bloomery-json': "Bloomery's access log as JSON",
  sizes: 'time in seconds, object, size on each line',
  names: 'one object per line',
  int32: 'object numbers of 4 bytes',
  int64: 'object numbers of 8 bytes',
};

export function isBinary(format: TraceFormat): format is BinaryFormat {
  return format in BINARY_FORMATS;
}

export function parserOf(format: TextFormat, rules: LogRules): LineParser {
  return TEXT_FORMATS[format](rules);
}

/** Finds the format of these lines, the first ones of a file. */
export function sniffTrace(lines: readonly string[], rules: LogRules, path: string): TextFormat {
  let best: TextFormat | null = null;
  let most = 0;
  for (const format of Object.keys(TEXT_FORMATS) as TextFormat[]) {
    const parse = parserOf(format, rules);
    const read = lines.filter((line) => parse(line) !== null).length;
    if (read > most) [best, most] = [format, read];
  }
  if (best !== null) return best;
  const first = lines.find((line) => line !== '') ?? '';
  throw new TraceError(
    'format',
    `Cannot read a trace: expected an access log, lines of "time object size", or one object per line, got ${JSON.stringify(first.slice(0, 80))} (${path}, line 1)`,
  );
}
