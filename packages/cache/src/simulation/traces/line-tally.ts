/**
 * Counts the lines of a trace by what became of them, and passes requests on to the recorder. The
 * first malformed line is kept with its place, for the report.
 */

import { TraceError } from './trace-error.ts';
import type { TraceFormat } from './trace-formats.ts';
import type { LineParser, SkipReason, TraceLine } from './trace-line.ts';

/** A line that could not be read. */
export interface BadLine {
  readonly path: string;
  /** Number of the line in its file, from 1. */
  readonly line: number;
  /** The first 80 characters. */
  readonly text: string;
}

export interface TraceReport {
  readonly format: TraceFormat;
  /** Lines, or numbers of a binary trace. Empty lines are not counted. */
  readonly lines: number;
  readonly malformed: number;
  readonly firstMalformed: BadLine | null;
  /** Well-formed lines that are no request for a cache: another method, another status. */
  readonly skipped: Readonly<Record<SkipReason, number>>;
}

export class LineTally {
  readonly #record: (line: TraceLine) => void;
  readonly #skipped: Record<SkipReason, number> = { method: 0, status: 0 };
  #path = '';
  #inFile = 0;
  #lines = 0;
  #malformed = 0;
  #firstMalformed: BadLine | null = null;

  constructor(record: (line: TraceLine) => void) {
    this.#record = record;
  }

  /** Begins a file: the numbers of lines start again. */
  beginFile(path: string): void {
    this.#path = path;
    this.#inFile = 0;
  }

  add(text: string, parse: LineParser): void {
    this.#inFile++;
    if (text === '') return;
    this.#lines++;
    const verdict = parse(text);
    if (verdict === null) this.#refuse(text);
    else if (typeof verdict === 'string') this.#skipped[verdict]++;
    else this.#record(verdict);
  }

  /** The report. Throws if no line was a request. */
  end(format: TraceFormat): TraceReport {
    const skipped = this.#skipped.method + this.#skipped.status;
    if (this.#lines === this.#malformed + skipped) throw this.#emptyError(format, skipped);
    return {
      format,
      lines: this.#lines,
      malformed: this.#malformed,
      firstMalformed: this.#firstMalformed,
      skipped: { ...this.#skipped },
    };
  }

  #refuse(text: string): void {
    this.#malformed++;
    this.#firstMalformed ??= { path: this.#path, line: this.#inFile, text: text.slice(0, SHOWN) };
  }

  #emptyError(format: TraceFormat, skipped: number): TraceError {
    const bad = this.#firstMalformed;
    const got =
      this.#lines === 0
        ? 'an empty file'
        : bad === null
          ? `${skipped} lines with other methods or statuses`
          : JSON.stringify(bad.text);
    const where = bad === null ? this.#path : `${bad.path}, line ${bad.line}`;
    return new TraceError(
      'empty',
      `Cannot read a trace: expected requests in the format "${format}", got ${got} (${where})`,
    );
  }
}

const SHOWN = 80;
