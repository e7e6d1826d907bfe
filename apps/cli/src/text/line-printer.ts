/**
 * Prints the lines of a search as grep does: names, line numbers, counts, context, colours, or JSON
 * lines. One printer serves all files of a run.
 */

import { isUtf8 } from 'node:buffer';
import { colors } from '../terminal/terminal.ts';
import type { FoundLine, LineFinder } from './line-finder.ts';
import { countNewlines, type TextPiece } from './read-text.ts';

export interface PrintOptions {
  /** Prints one line for each file: its count, or its name if lines were found or not. */
  readonly only?: 'count' | 'files' | 'files without' | 'nothing' | undefined;
  readonly names: boolean;
  readonly numbers: boolean;
  readonly before: number;
  readonly after: number;
  readonly json: boolean;
  /** Selected lines are those that do not match, so no match in them is coloured. */
  readonly invert: boolean;
  /** Takes the output, in order. */
  readonly write: (bytes: Uint8Array) => void;
}

const FLUSH = 1 << 16;

export class LinePrinter {
  readonly #options: PrintOptions;
  readonly #finder: LineFinder;
  readonly #colors = colors(1);
  #out: Buffer[] = [];
  #outBytes = 0;
  #path = '';
  #count = 0;
  /** Context: lines that may come before a match, lines still to print after one, the last one. */
  #held: { number: number; line: Buffer }[] = [];
  #afterLeft = 0;
  #lastPrinted = 0;
  #anyPrinted = false;

  constructor(finder: LineFinder, options: PrintOptions) {
    this.#finder = finder;
    this.#options = options;
  }

  /** Lines that were selected in the current file. */
  get count(): number {
    return this.#count;
  }

  /** Whether more text of the file changes nothing. */
  get isDecided(): boolean {
    const { only } = this.#options;
    return this.#count > 0 && only !== undefined && only !== 'count';
  }

  beginFile(path: string): void {
    this.#path = path;
    this.#count = 0;
    this.#held = [];
    this.#afterLeft = 0;
    this.#lastPrinted = 0;
  }

  /** Takes a piece of the file. Returns the lines that were selected in it. */
  add(piece: TextPiece): number {
    const { only, before, after } = this.#options;
    const former = this.#count;
    if (only === undefined && before + after > 0) this.#addWithContext(piece);
    else {
      let number = piece.lines + 1;
      let at = 0;
      for (const line of this.#finder.lines(piece.bytes)) {
        this.#count++;
        if (this.isDecided) break;
        if (only !== undefined) continue;
        if (this.#options.numbers || this.#options.json) {
          number += countNewlines(piece.bytes.subarray(at, line.start));
          at = line.start;
        }
        this.#print(piece.bytes.subarray(line.start, line.end), number, ':');
      }
    }
    return this.#count - former;
  }

  /** Lines that would be selected in a piece; nothing is printed. */
  finds({ bytes }: TextPiece): number {
    return this.#finder.lines(bytes).next().done ? 0 : 1;
  }

  endFile(): void {
    const { only, names, json } = this.#options;
    if (only === 'count') {
      if (json) this.#put(`${JSON.stringify({ path: this.#path, count: this.#count })}\n`);
      else this.#put(`${names ? `${this.#name()}${this.#separator(':')}` : ''}${this.#count}\n`);
    } else if (only === 'files' ? this.#count > 0 : only === 'files without' && this.#count === 0) {
      if (json) this.#put(`${JSON.stringify({ path: this.#path })}\n`);
      else this.#put(`${this.#name()}\n`);
    }
    this.flush();
  }

  flush(): void {
    if (this.#outBytes > 0) this.#options.write(Buffer.concat(this.#out));
    this.#out = [];
    this.#outBytes = 0;
  }

  #addWithContext({ bytes, lines }: TextPiece): void {
    const { before, after } = this.#options;
    const selected = this.#finder.lines(bytes);
    let next = selected.next();
    let number = lines;
    for (let start = 0; start < bytes.length; ) {
      const found = bytes.indexOf(10, start);
      const end = found < 0 ? bytes.length : found;
      const line = bytes.subarray(start, end);
      number++;
      if (!next.done && (next.value as FoundLine).start === start) {
        this.#count++;
        const first = this.#held[0]?.number ?? number;
        if (this.#anyPrinted && (this.#lastPrinted === 0 || first > this.#lastPrinted + 1))
          this.#put(`${this.#colors.cyan('--')}\n`);
        for (const held of this.#held) this.#print(held.line, held.number, '-');
        this.#held = [];
        this.#print(line, number, ':');
        this.#afterLeft = after;
        next = selected.next();
      } else if (this.#afterLeft > 0) {
        this.#afterLeft--;
        this.#print(line, number, '-');
      } else if (before > 0) {
        // A copy, because the piece would stay in memory.
        this.#held.push({ number, line: Buffer.from(line) });
        if (this.#held.length > before) this.#held.shift();
      }
      start = end + 1;
    }
  }

  #print(line: Buffer, number: number, mark: ':' | '-'): void {
    const { names, numbers, json, before, after } = this.#options;
    this.#lastPrinted = number;
    this.#anyPrinted = true;
    if (json) {
      const isContext = before + after > 0 ? { context: mark === '-' } : {};
      const text = isUtf8(line) ? { text: line.toString() } : { base64: line.toString('base64') };
      this.#put(`${JSON.stringify({ path: this.#path, line: number, ...text, ...isContext })}\n`);
      return;
    }
    if (names) this.#put(`${this.#name()}${this.#separator(mark)}`);
    if (numbers) this.#put(`${this.#colors.green(String(number))}${this.#separator(mark)}`);
    if (this.#colors.isColorSupported && mark === ':' && !this.#options.invert) this.#putColoured(line);
    else this.#put(line);
    this.#put(NEWLINE);
  }

  #putColoured(line: Buffer): void {
    let at = 0;
    for (const { start, end } of this.#finder.matches(line)) {
      this.#put(line.subarray(at, start));
      // Bytes, because a match may begin within a character.
      this.#put('\x1b[01;31m');
      this.#put(line.subarray(start, end));
      this.#put('\x1b[m');
      at = end;
    }
    this.#put(line.subarray(at));
  }

  #name(): string {
    return this.#colors.magenta(this.#path);
  }

  #separator(mark: ':' | '-'): string {
    return this.#colors.cyan(mark);
  }

  #put(data: string | Buffer): void {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    this.#out.push(bytes);
    this.#outBytes += bytes.length;
    if (this.#outBytes >= FLUSH) this.flush();
  }
}

const NEWLINE = Buffer.from('\n');
