/**
 * Options that say what a key is in the input: a line, a column, or a field of a JSON object. They
 * are the same for every command that reads keys.
 */

import { type Command, Option } from 'commander';
import { withFormerFlag } from '../terminal/former-flag.ts';
import { UsageError } from '../usage-error.ts';
import { parseJsonPath } from './json-path.ts';

export interface KeyOptions {
  /** A column of CSV or TSV: its number, counted from 1, or its name in the first line. */
  readonly column?: string | undefined;
  /** One character, or `\t` for a tab. */
  readonly delimiter?: string | undefined;
  /** Whether the first line names the columns and holds no key. */
  readonly header?: boolean | undefined;
  /** A path into the JSON value on each line, such as `.user.id` or `tags[0]`. */
  readonly jsonl?: string | undefined;
  /** Whether records without the column or the field are left out. */
  readonly skipMissing?: boolean | undefined;
  /** Whether keys end with a zero byte instead of a newline. */
  readonly null?: boolean | undefined;
  /** Whether lines end with CR LF. */
  readonly crlf?: boolean | undefined;
  /** Whether lines may contain zero bytes. */
  readonly binary?: boolean | undefined;
  /**
   * Whether to skip the warnings about CR LF and a byte order mark, because the caller removes
   * both.
   */
  readonly forgiving?: boolean | undefined;
}

/** Adds the options. `hasCount` says that -c is `--count` in this command, as in grep. */
export function withKeyOptions(command: Command, { hasCount = false } = {}): Command {
  const read = command
    .hook('preAction', (_, running) => checkKeyOptions(running.opts()))
    .option(
      '--column <name|number>',
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
    .option('--skip-missing', 'leave out records that lack the column or the field, instead of failing')
    .addOption(
      new Option('-0, --null', 'keys end with a zero byte, as from find -print0').conflicts([
        'column',
        'jsonl',
      ]),
    )
    .option('--crlf', 'lines end with CR LF; without it the CR is part of the key')
    .option('--binary', 'take lines with zero bytes as they are');
  return hasCount ? read : withFormerFlag(read, { flags: '-c <name|number>', now: '--column' });
}

/** Refuses options that would have no effect, before anything is read. */
function checkKeyOptions({ column, delimiter, header, jsonl, skipMissing }: KeyOptions): void {
  if (skipMissing && column === undefined && jsonl === undefined) {
    throw new UsageError('--skip-missing is about --column and --jsonl; a line always has a key');
  }
  if (column === undefined && (header || delimiter !== undefined)) {
    throw new UsageError(
      `${header ? '--header' : '--delimiter'} is about columns; --column says which of them is the key`,
    );
  }
  if (jsonl !== undefined) parseJsonPath(jsonl);
}

/** Whether each key is a whole line, which is the fast case. */
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
