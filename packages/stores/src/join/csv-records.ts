/**
 * The records of CSV (RFC 4180): fields in quotes may hold separators, line ends and doubled
 * quotes. As in PostgreSQL's CSV, an empty field without quotes is NULL, and `""` is an empty text,
 * so that the output of the command can be read again. Empty lines are skipped.
 *
 * A quote in the middle of a field is refused, because what follows could be read in two ways.
 */

import { JoinError } from './join-error.ts';
import { MOST_LINE_CHARACTERS, textLines, tooLong } from './text-lines.ts';

export interface CsvRecord {
  /** The number of the record's first line, from 1. */
  readonly line: number;
  readonly values: (string | null)[];
}

export async function* csvRecords(
  bytes: AsyncIterable<Uint8Array>,
  { separator, name }: { readonly separator: string; readonly name: string },
): AsyncGenerator<CsvRecord> {
  let line = 0;
  let open: OpenRecord | undefined;
  for await (const text of textLines(bytes, name)) {
    line++;
    if (open === undefined) {
      if (text === '' || text === '\r') continue;
      if (!text.includes('"')) {
        const plain = text.endsWith('\r') ? text.slice(0, -1) : text;
        yield { line, values: plain.split(separator).map((value) => value || null) };
        continue;
      }
      open = new OpenRecord(separator, `${name}, line ${line}`, line);
    }
    if (!open.take(text)) continue;
    yield { line: open.line, values: open.values };
    open = undefined;
  }
  if (open !== undefined) throw wrong('a closing quote', 'the end of the file', open.where);
}

/** A record with quotes, which may go on over several lines. */
class OpenRecord {
  readonly values: (string | null)[] = [];
  readonly where: string;
  readonly line: number;
  readonly #separator: string;
  /** The text of a quoted field so far, or undefined outside of quotes. */
  #quoted: string | undefined;

  constructor(separator: string, where: string, line: number) {
    this.#separator = separator;
    this.where = where;
    this.line = line;
  }

  /** Takes the next line. Returns true at the end of the record. */
  take(line: string): boolean {
    let at = 0;
    if (this.#quoted !== undefined) {
      this.#quoted += '\n';
      if (this.#quoted.length > MOST_LINE_CHARACTERS) throw tooLong(this.where);
      at = this.#takeQuoted(line, 0);
      if (at > line.length) return this.#quoted === undefined;
    }
    for (;;) {
      if (line[at] === '"') {
        this.#quoted = '';
        at = this.#takeQuoted(line, at + 1);
      } else at = this.#takePlain(line, at);
      if (at > line.length) return this.#quoted === undefined;
    }
  }

  /** Takes a field up to its separator. Returns the place after it, beyond the line at its end. */
  #takePlain(line: string, at: number): number {
    const found = line.indexOf(this.#separator, at);
    const end = found < 0 ? line.length : found;
    const text = line.slice(at, found < 0 && line.endsWith('\r') ? end - 1 : end);
    if (text.includes('"')) throw wrong('quotes around the whole field', 'one in the middle', this.where);
    this.values.push(text || null);
    return end + this.#separator.length;
  }

  #takeQuoted(line: string, start: number): number {
    let at = start;
    for (;;) {
      const quote = line.indexOf('"', at);
      if (quote < 0) {
        this.#quoted += line.slice(at);
        return line.length + 1;
      }
      this.#quoted += line.slice(at, quote);
      if (line[quote + 1] !== '"') {
        at = quote + 1;
        break;
      }
      this.#quoted += '"';
      at = quote + 2;
    }
    this.values.push(this.#quoted!);
    this.#quoted = undefined;
    if (at === line.length || line.slice(at) === '\r') return line.length + 1;
    if (line.startsWith(this.#separator, at)) return at + this.#separator.length;
    throw wrong('a separator after a closing quote', JSON.stringify(line.slice(at, at + 20)), this.where);
  }
}

function wrong(expected: string, got: string, where: string): JoinError {
  return new JoinError('file', `Cannot join: expected ${expected}, got ${got} (${where})`);
}
