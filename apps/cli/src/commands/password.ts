/**
 * `bloomery password`: turns a list of bad passwords into a small file that refuses them, and
 * everything one edit away from them, and their usual manglings.
 * packages/stores/src/dictionaries/passwords/password-blocklist.ts explains how that works and what
 * it costs.
 *
 * A password is never an argument (every user sees arguments in `ps`, and they stay in the shell's
 * history), never printed, and never part of an error.
 */

import { formatPairs } from '@bloomery/papers/drawing';
import { BlocklistBuilder, PasswordBlocklist, type PasswordVerdict } from '@bloomery/stores/passwords';
import { FrameError, type KeyLines, type PackedKeys } from 'bloomery';
import { type Command, Option } from 'commander';
import {
  parseCount,
  parseRate,
  withExamples,
  withJson,
  withKeyFile,
  withOutput,
} from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { readFilterBytes } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { inputsOf } from '../keys/input.ts';
import { type KeyOptions, readKeys, withKeyOptions } from '../keys/key-source.ts';
import { formatBytes, formatCount, formatRate, formatSeconds } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { readSecret } from '../terminal/secret-prompt.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors, isTerminal } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('password')
    .description(
      'refuse passwords that are on a list, one character away from it, or words of it in disguise',
    );
  registerBuild(command);
  registerCheck(command);
  registerInfo(command);
  withExamples(command, [
    ['bloomery password build common.txt leaked.txt.gz -o bad.blpw', 'a blocklist of two lists'],
    ['bloomery password check --blocklist bad.blpw', 'asks for a password and says whether it may be chosen'],
  ]);
}

interface BuildOptions extends KeyOptions {
  readonly output: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly rate: number;
  readonly length: number;
  readonly nearMinimum: number;
  readonly caseSensitive?: boolean;
  readonly manglings: boolean;
  readonly keyFile?: string;
}

function registerBuild(parent: Command): void {
  const command = parent
    .command('build')
    .description('make a blocklist of the words in files, or on standard input')
    .argument(
      '[lists...]',
      'files of words, one a line; gzip, zstd and xz are read as they are; - is standard input',
    )
    .option('-r, --rate <rate>', 'the share of passwords that may be refused by mistake', parseRate, 1e-4)
    .option('--length <characters>', 'the length of a password up to which that rate holds', parseLength, 12)
    .option(
      '--near-minimum <characters>',
      'shorter words refuse only themselves, not what is near',
      parseLength,
      4,
    )
    .option('--case-sensitive', 'tell upper and lower case apart')
    .option(
      '--no-manglings',
      'accept words with digits, marks or look-alikes (word12, p4$$word), and backwards',
    );
  withKeyOptions(withKeyFile(command))
    .option('-q, --quiet', 'no progress and no summary')
    .option('--verbose', 'a summary on standard error, also when that is no terminal');
  withJson(withOutput(command, 'where the blocklist goes')).action(build);
  command.addHelpText(
    'after',
    `
Words and passwords are compared after NFKC and case folding. The file is not the list, but a thief of it can test guesses
against it: publish that of a public list, and use --key-file for a list that is a secret.`,
  );
  withExamples(command, [
    ['bloomery password build rockyou.txt.gz -o bad.blpw', 'one mistaken refusal in 10,000 passwords'],
    [
      'bloomery password build names.txt --key-file secret -o names.blpw',
      'useless to a thief who has only the file',
    ],
  ]);
}

async function build(lists: string[], options: BuildOptions): Promise<void> {
  const started = performance.now();
  const { output, json, quiet } = options;
  if (json && output === '-') throw new UsageError('--json and -o - both want standard output');
  checkTarget(output, options);
  const builder = new BlocklistBuilder({
    refusalRate: options.rate,
    typicalLength: options.length,
    nearMinimum: options.nearMinimum,
    caseSensitive: options.caseSensitive === true,
    manglings: options.manglings,
    ...keyOf(options.keyFile),
  });
  const total = inputsOf(lists).reduce((sum, { bytes = Number.NaN }) => sum + bytes, 0) || 0;
  const progress = startProgress({ what: 'reading', total, enabled: !quiet && !json });
  try {
    for await (const { keys } of readKeys(lists, { ...options, forgiving: true }, (bytes) =>
      progress.advance(bytes),
    )) {
      addWords(builder, keys as KeyLines | PackedKeys);
    }
  } finally {
    progress.stop();
  }
  const blocklist = finish(builder);
  if (blocklist.words === 0) throw new UsageError('no words came; a blocklist needs at least one');
  const bytes = blocklist.encode();
  writeTarget(output, bytes, { force: options.force === true });
  const { tooLong } = builder.skipped;
  if (tooLong > 0 && !quiet) warn(`${formatCount(tooLong)} words of more than 72 characters were left out`);
  if (builder.latin1 > 0 && !quiet)
    warn(`${formatCount(builder.latin1)} lines were no UTF-8 and were read as Latin-1`);
  const seconds = (performance.now() - started) / 1000;
  if (json)
    writeJson({ ...describe(blocklist, bytes.length), leftOut: tooLong, latin1: builder.latin1, seconds });
  else if (!quiet && (options.verbose || isTerminal(2))) {
    const { words } = blocklist;
    process.stderr.write(
      `${formatCount(words)} words in ${formatBytes(bytes.length)} (${((8 * bytes.length) / words).toFixed(1)} bits a word), ` +
        `${formatRate(blocklist.estimatedRefusalRate())} mistaken refusals, ${formatSeconds(seconds)}\n`,
    );
  }
}

function addWords(builder: BlocklistBuilder, keys: KeyLines | PackedKeys): void {
  if ('lines' in keys) builder.addLines(keys.lines);
  else {
    const { bytes, offsets } = keys;
    for (let i = 0; i + 1 < offsets.length; i++) builder.addBytes(bytes.subarray(offsets[i], offsets[i + 1]));
  }
}

function finish(builder: BlocklistBuilder): PasswordBlocklist {
  try {
    return builder.build();
  } catch (error) {
    if (error instanceof RangeError && error.message.includes('refusalRate')) {
      throw new UsageError(`--rate is too small: ${error.message.replace(/^Cannot [^:]*: /, '')}`);
    }
    throw error;
  }
}

interface CheckOptions {
  readonly blocklist?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly keyFile?: string;
}

function registerCheck(parent: Command): void {
  const command = parent
    .command('check')
    .description(
      'say whether a password may be chosen: from the terminal, unseen, or one a line on standard input',
    )
    .addOption(
      new Option('-b, --blocklist <file>', 'made by bloomery password build').env('BLOOMERY_BLOCKLIST'),
    )
    .option('-q, --quiet', 'print nothing; the exit code tells')
    // An argument that is not an option may be a password. `check` refuses it without printing it.
    .allowExcessArguments()
    .allowUnknownOption()
    .action(check);
  withJson(withKeyFile(command));
  command.addHelpText('after', '\nExit codes: 0 accepted, 1 refused (any of several), 2 error.');
  withExamples(command, [
    ['bloomery password check --blocklist bad.blpw', 'asks for it on the terminal, without showing it'],
    [
      'bloomery password check --blocklist bad.blpw < candidates.txt',
      'one a line; a verdict a line comes out',
    ],
  ]);
}

async function check(options: CheckOptions, command: Command): Promise<void> {
  if (command.args.length > 0) {
    throw new UsageError(
      'password check takes no arguments but its options (--help): a password on the command line is seen by all users ' +
        'in ps and stays in the history; type it when asked, or pipe it in',
    );
  }
  const { blocklist: path, json, quiet } = options;
  if (path === undefined)
    throw new UsageError('--blocklist names the file; make one with: bloomery password build');
  const blocklist = await openBlocklist(path, options.keyFile);
  let count = 0;
  const say = (password: string) => {
    const verdict = blocklist.refuses(password);
    count++;
    if (verdict.refused) process.exitCode = NOT_FOUND;
    if (quiet) return;
    if (json) writeJson({ number: count, ...verdict });
    else writeLine(inWords(verdict));
  };
  if (process.stdin.isTTY) say(checkTyped(await readSecret('Password: ', 'password')));
  else {
    // `decodePassword` refuses zero bytes, with a message of its own.
    for await (const { keys } of readKeys([], { crlf: true, binary: true, forgiving: true })) {
      const { bytes, offsets } = keys as PackedKeys;
      for (let i = 0; i + 1 < offsets.length; i++)
        say(decodePassword(bytes.subarray(offsets[i], offsets[i + 1]), count === 0));
    }
  }
  if (count === 0) throw new UsageError('no password came on standard input');
}

/**
 * Refuses input from a terminal that sends Latin-1: its letters would be lost, and a listed
 * password would pass as another.
 */
function checkTyped(password: string): string {
  if (password.includes('\ufffd'))
    throw new UsageError('the password that was typed is not UTF-8; set the terminal to UTF-8');
  return password;
}

/**
 * Removes a byte order mark before the first password. With the mark, a listed word with one typo
 * would be two edits away.
 */
function decodePassword(bytes: Uint8Array, first: boolean): string {
  if (bytes.includes(0))
    throw new UsageError(
      'a password on standard input has zero bytes: it is binary, or UTF-16; expected UTF-8',
    );
  try {
    const text = UTF8.decode(bytes);
    return first ? text.replace(/^\ufeff/, '') : text;
  } catch {
    throw new UsageError('a password on standard input is not UTF-8');
  }
}

function inWords({ refused, reason }: PasswordVerdict): string {
  const paint = colors(1);
  return refused ? `${paint.red('refused:')} ${REASONS[reason]}` : paint.green('accepted');
}

function registerInfo(parent: Command): void {
  const command = parent
    .command('info')
    .description('what a blocklist holds: words, rate, size')
    .argument('<blocklist>', 'made by bloomery password build; - is standard input')
    .action(info);
  withJson(withKeyFile(command));
  withExamples(command, [['bloomery password info bad.blpw', 'words, rates, size']]);
}

async function info(path: string, { json, keyFile }: { json?: boolean; keyFile?: string }): Promise<void> {
  const bytes = await readFilterBytes(path);
  const blocklist = decode(path, bytes, keyFile);
  const facts = describe(blocklist, bytes.length);
  if (json) {
    writeJson(facts);
    return;
  }
  const { length } = facts.alphabet;
  writeLine(
    formatPairs([
      ['words', formatCount(facts.words)],
      ['length', `${facts.shortest} to ${facts.longest} characters`],
      ['size', `${formatBytes(facts.bytes)}, ${facts.bitsPerWord.toFixed(1)} bits a word`],
      [
        'mistaken refusals',
        `${formatRate(facts.estimatedRefusalRate)} at ${facts.typicalLength} characters or fewer (asked for: ${formatRate(facts.refusalRate)})`,
      ],
      [
        'lookups',
        `at most ${formatCount(facts.lookups)}, each wrong at ${formatRate(facts.falsePositiveRate)}`,
      ],
      ['alphabet', `${length} characters${facts.wildcards ? ' and a wildcard for others' : ''}`],
      ['case', facts.caseSensitive ? 'told apart' : 'folded'],
      ['manglings', facts.manglings ? 'refused' : 'not refused'],
      ['near', `one edit from words of ${facts.nearMinimum} characters or more`],
      ['hash', facts.hash],
    ]),
  );
}

function describe(blocklist: PasswordBlocklist, size: number) {
  const { parameters, filter } = blocklist;
  return {
    ...parameters,
    alphabet: parameters.alphabet.join(''),
    bytes: size,
    bitsPerWord: parameters.words > 0 ? (8 * size) / parameters.words : 0,
    lookups: blocklist.mostLookups(),
    falsePositiveRate: filter.falsePositiveRate,
    estimatedRefusalRate: blocklist.estimatedRefusalRate(),
    hash: filter.scheme.id,
  };
}

async function openBlocklist(path: string, keyFile: string | undefined): Promise<PasswordBlocklist> {
  if (path === '-') throw new UsageError('--blocklist must be a file: standard input is for passwords');
  return decode(path, await readFilterBytes(path), keyFile);
}

function decode(path: string, bytes: Uint8Array, keyFile: string | undefined): PasswordBlocklist {
  try {
    return PasswordBlocklist.decode(bytes, keyOf(keyFile));
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const hint: Partial<Record<FrameError['code'], string>> = {
      'not-a-frame': 'is no password blocklist; make one with: bloomery password build',
      truncated: 'is cut off, or no password blocklist',
      checksum: 'was damaged; build it again',
      version: 'was written by a later version of bloomery',
      key: `${keyFile === undefined ? 'needs its secret key (--key-file)' : 'was made with another key, or with none'}`,
    };
    throw new UsageError(`${path} ${hint[error.code] ?? `cannot be read: ${error.message}`}`, {
      cause: error,
    });
  }
}

function keyOf(path: string | undefined) {
  return path === undefined ? {} : { key: readSecretKey(path) };
}

function parseLength(text: string): number {
  const value = parseCount()(text);
  if (value > 255) throw new UsageError(`lengths go up to 255 characters, got ${text}`);
  return value;
}

const REASONS = {
  listed: 'it is on the list',
  near: 'it is one character away from a word on the list',
  mangled: 'it is a word on the list with digits, marks or look-alikes, or backwards',
  empty: 'it is empty',
};
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
