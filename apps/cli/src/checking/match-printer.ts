/**
 * Prints the records that `check` selects, and counts them. A record is selected if any of the
 * filters may have its key, or all of them (`--all`); `--invert-match` selects the others, as in
 * grep. Lines that are printed unchanged are written in runs.
 */

import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { LineWriter } from './line-writer.ts';
import { gather, type Records } from './selected-records.ts';

export interface MatchOptions {
  readonly invertMatch?: boolean;
  readonly all?: boolean;
  readonly count?: boolean;
  readonly quiet?: boolean;
  readonly withFilename?: boolean;
  readonly lineNumber?: boolean;
  readonly json?: boolean;
  readonly null?: boolean | undefined;
}

export interface NamedRecords extends Records {
  readonly path: string;
  /** Number of each record within this chunk, from 0; null if none was skipped. */
  readonly numbers: Uint32Array | null;
  /** Records of this chunk that have no key and were skipped. */
  readonly skipped: number;
}

export class MatchPrinter {
  matched = 0;
  #checked = 0;
  readonly #filters: readonly string[];
  readonly #options: MatchOptions;
  readonly #writer: LineWriter;
  /** Records before this chunk in the same file. */
  #before = 0;
  /** Totals at the beginning of the file. */
  #atStart = { matched: 0, checked: 0 };

  /** `filters` are the names of the filters, in the order of their answers. */
  constructor(filters: readonly string[], options: MatchOptions) {
    this.#filters = filters;
    this.#options = options;
    this.#writer = new LineWriter(options.null ? 0 : 10);
  }

  /** Prints the records of a chunk. Returns false if no more records are needed. */
  print(records: NamedRecords, answers: readonly Uint8Array[]): boolean {
    const { count, quiet, invertMatch, all } = this.#options;
    const maybe = answers.length === 1 ? answers[0] : combined(answers, all === true);
    const wanted = invertMatch ? 0 : 1;
    if (count || quiet) {
      for (let i = 0; i < maybe.length; i++) if (maybe[i] === wanted) this.matched++;
    } else {
      this.#printChosen(records, maybe, wanted, answers);
    }
    this.#before += records.count + records.skipped;
    this.#checked += records.count;
    return !(quiet && this.matched > 0);
  }

  flush(): void {
    this.#writer.flush();
  }

  /** Ends a file: with `--count --with-filename` each file has a line. */
  endFile(path: string): void {
    const { count, quiet, withFilename } = this.#options;
    const { matched, checked } = this.#atStart;
    if (count && !quiet && withFilename) {
      this.#writeCount({ file: path, checked: this.#checked - checked, matched: this.matched - matched });
    }
    this.#before = 0;
    this.#atStart = { matched: this.matched, checked: this.#checked };
  }

  end(): void {
    this.flush();
    const { count, quiet, withFilename } = this.#options;
    if (count && !quiet && !withFilename) {
      this.#writeCount({ checked: this.#checked, matched: this.matched });
    }
  }

  #writeCount(counts: { file?: string; checked: number; matched: number }): void {
    if (this.#options.json) writeJson(counts);
    else writeLine(counts.file === undefined ? `${counts.matched}` : `${counts.file}:${counts.matched}`);
  }

  /** Whether each line is printed with the names of the filters that may have it. */
  get #named(): boolean {
    const { invertMatch, all } = this.#options;
    return this.#filters.length > 1 && !invertMatch && !all;
  }

  #printChosen(
    records: NamedRecords,
    maybe: Uint8Array,
    wanted: 0 | 1,
    answers: readonly Uint8Array[],
  ): void {
    const { json, withFilename, lineNumber } = this.#options;
    if (!json && !withFilename && !lineNumber && !this.#named) {
      const { chosen, count } = gather(records, maybe, wanted);
      this.matched += count;
      this.#writer.add(chosen);
      return;
    }
    for (let i = 0; i < maybe.length; i++) {
      if (maybe[i] !== wanted) continue;
      this.matched++;
      this.#printOne(records, i, answers);
    }
  }

  #printOne(
    { records, ends, path, start, numbers }: NamedRecords,
    record: number,
    answers: readonly Uint8Array[],
  ): void {
    const { json, withFilename, lineNumber } = this.#options;
    const end = this.#options.null ? 0 : 10;
    const from = record === 0 ? start : ends[record - 1];
    const to = ends[record];
    const text = records.subarray(from, to > from && records[to - 1] === end ? to - 1 : to);
    const holders = this.#named ? this.#filters.filter((_, f) => answers[f][record] === 1) : [];
    const number = this.#before + (numbers?.[record] ?? record) + 1;
    if (json) {
      const filters = this.#named ? { filters: holders } : {};
      writeJson({ file: path, record: number, text: Buffer.from(text).toString(), ...filters });
    } else {
      const before = `${withFilename ? `${path}:` : ''}${lineNumber ? `${number}:` : ''}`;
      const after = this.#named ? `\t${holders.join(',')}` : '';
      this.#writer.add(Buffer.concat([Buffer.from(before), text, Buffer.from(after), Buffer.of(end)]));
    }
  }
}

/** The common answer of several filters for each record: that all say "maybe", or that one does. */
function combined(answers: readonly Uint8Array[], all: boolean): Uint8Array {
  const found = Uint8Array.from(answers[0]);
  for (const more of answers.slice(1)) {
    for (let i = 0; i < found.length; i++) found[i] = all ? found[i] & more[i] : found[i] | more[i];
  }
  return found;
}
