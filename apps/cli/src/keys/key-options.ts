/** What a key is in the input: a line, a column, a field of a JSON object. The same options for every command that reads keys. */

import { type Command, Option } from 'commander';
import { UsageError } from '../usage-error.ts';
import { parseJsonPath } from './json-path.ts';

export interface KeyOptions {
  /** A column of CSV or TSV: its number from 1 on, or its name in the first line. */
  readonly column?: string | undefined;
  /** One character; `\t` is understood. */
  readonly delimiter?: string | undefined;
  /** The first line names columns and holds no key. */
  readonly header?: boolean | undefined;
  /** A path into the JSON value on each line, such as `.user.id` or `tags[0]`. */
  readonly jsonl?: string | undefined;
  /** Keys end with a zero byte instead of a newline. */
  readonly null?: boolean | undefined;
  /** Lines end with CR LF. */
  readonly crlf?: boolean | undefined;
  /** Lines may contain zero bytes. */
  readonly binary?: boolean | undefined;
  /** Whoever reads the keys drops a CR at their ends and a byte order mark himself: no warning. */
  readonly forgiving?: boolean | undefined;
}

export function withKeyOptions(command: Command): Command {
  return command
    .hook('preAction', (_, running) => checkKeyOptions(running.opts()))
    .option(
      '-c, --column <name|number>',
      'the key is a column of CSV: its number from 1 on, or its name in the first line',
    )
    .option('-d, --delimiter <character>', 'between columns; \\t for tabs (default: a comma, tabs in *.tsv)')
    .option('--header', 'the first line of each file names the columns (implied by --column NAME)')
    .addOption(
      new Option(
        '--jsonl <path>',
        'the key is a field of the JSON value on each line, such as .user.id',
      ).conflicts(['column', 'delimiter', 'header']),
    )
    .addOption(
      new Option('-0, --null', 'keys end with a zero byte, as from find -print0').conflicts([
        'column',
        'jsonl',
      ]),
    )
    .option('--crlf', 'lines end with CR LF; without it the CR is part of the key')
    .option('--binary', 'take lines with zero bytes as they are');
}

/** Refuses what would be passed over, before anything is read. */
function checkKeyOptions({ column, delimiter, header, jsonl }: KeyOptions): void {
  if (column === undefined && (header || delimiter !== undefined)) {
    throw new UsageError(
      `${header ? '--header' : '--delimiter'} is about columns; --column says which of them is the key`,
    );
  }
  if (jsonl !== undefined) parseJsonPath(jsonl);
}

/** Whether a key is a line as it stands: the fast way. */
export function isWholeLine({ column, jsonl, null: zero, crlf }: KeyOptions): boolean {
  return column === undefined && jsonl === undefined && !zero && !crlf;
}

/** The byte between columns of a file. */
export function delimiterOf({ delimiter }: KeyOptions, path: string): number {
  const text = delimiter ?? (/\.tsv(\.gz|\.zst)?$/i.test(path) ? '\t' : ',');
  const character = text === '\\t' || text === 'tab' ? '\t' : text;
  if (character.length !== 1 || character.charCodeAt(0) > 127 || character === '"' || character === '\n') {
    throw new UsageError(
      `--delimiter must be one ASCII character other than a quote, got ${JSON.stringify(text)}`,
    );
  }
  return character.charCodeAt(0);
}
