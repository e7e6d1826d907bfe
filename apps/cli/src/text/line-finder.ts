/** Finds the lines of a text that match, or with `invert` those that do not. */

import type { LinePattern } from '@bloomery/stores/text';

/** A line: its first byte, and the byte behind its last, without the newline. */
export interface FoundLine {
  readonly start: number;
  readonly end: number;
}

export class LineFinder {
  readonly #pattern: LinePattern;
  readonly #invert: boolean;

  constructor(pattern: LinePattern, invert: boolean) {
    this.#pattern = pattern;
    this.#invert = invert;
  }

  /** The lines in order, from a text of whole lines. */
  *lines(bytes: Buffer): Generator<FoundLine> {
    const matching = this.#pattern.needle === null ? this.#byAutomaton(bytes) : this.#byNeedle(bytes);
    if (!this.#invert) {
      yield* matching;
      return;
    }
    let at = 0;
    for (const line of matching) {
      yield* eachLine(bytes, at, line.start);
      at = line.end + 1;
    }
    yield* eachLine(bytes, at, bytes.length);
  }

  /** The matches within a line, for colours. Lines on which a RegExp may take long get none. */
  *matches(line: Buffer): Generator<FoundLine> {
    const { regexp, longestPlaced } = this.#pattern;
    if (line.length > longestPlaced) return;
    const text = line.toString('latin1');
    regexp.lastIndex = 0;
    for (let match = regexp.exec(text); match !== null; match = regexp.exec(text)) {
      if (match[0].length > 0) yield { start: match.index, end: match.index + match[0].length };
      else regexp.lastIndex++;
    }
  }

  *#byNeedle(bytes: Buffer): Generator<FoundLine> {
    const needle = this.#pattern.needle!;
    for (let found = bytes.indexOf(needle); found >= 0; ) {
      const line = lineAt(bytes, found);
      yield line;
      found = line.end + 1 < bytes.length ? bytes.indexOf(needle, line.end + 1) : -1;
    }
  }

  *#byAutomaton(bytes: Buffer): Generator<FoundLine> {
    const { lines } = this.#pattern;
    for (let line = lines.findLine(bytes, 0); line !== null; line = lines.findLine(bytes, line.end + 1))
      yield line;
  }
}

/** The line that contains a byte; a newline belongs to the line that it ends. */
function lineAt(bytes: Buffer, place: number): FoundLine {
  const start = place === 0 ? 0 : bytes.lastIndexOf(10, place - 1) + 1;
  const end = bytes.indexOf(10, place);
  return { start, end: end < 0 ? bytes.length : end };
}

function* eachLine(bytes: Buffer, from: number, to: number): Generator<FoundLine> {
  for (let start = from; start < to; ) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    yield { start, end };
    start = end + 1;
  }
}
