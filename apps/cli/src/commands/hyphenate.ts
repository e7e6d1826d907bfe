/**
 * `bloomery hyphenate`: the application from Bloom's paper, with real files. Rules hyphenate most
 * words. The words that they get wrong are in a dictionary on disk, and a filter in memory says
 * which words need no lookup there. At the end the command says how many lookups that saved. How it
 * works: packages/stores/src/dictionaries/hyphenation/filtered-hyphenator.ts.
 *
 * The text is unchanged except for the marks. Words that already have soft hyphens are left alone.
 */

import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { formatPairs } from '@bloomery/papers/drawing';
import {
  type DictionaryBytes,
  encodeHyphenation,
  exceptionFilter,
  type FilteredHyphenator,
  findExceptions,
  Hyphenator,
  insertMarks,
  openHyphenation,
  PatternError,
  parsePatternFile,
  parseTruth,
  replaceWords,
  strongestPatterns,
  wordsOf,
} from '@bloomery/stores/hyphenation';
import { FrameError } from 'bloomery';
import type { Command } from 'commander';
import { parseCount, parseRate, withExamples, withJson, withOutput } from '../command-options.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { type Input, inputsOf } from '../keys/input.ts';
import { formatBytes, formatCount, formatRate, formatSeconds } from '../terminal/format-values.ts';
import { write, writeJson, writeLine } from '../terminal/standard-output.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('hyphenate')
    .description(
      'hyphenate a text by rules, a dictionary of exceptions on disk, and a filter that saves lookups',
    )
    .argument('[files...]', 'texts in UTF-8; none or -: standard input')
    .option('-d, --dictionary <file>', 'made by bloomery hyphenate build')
    .option('-m, --mark <text>', 'what marks a break: soft (U+00AD), or any text such as - or ·', 'soft')
    .option('--no-filter', 'look up every word, as if there were no filter')
    .option('-q, --quiet', 'no counts on standard error')
    .action(hyphenate);
  withJson(command);
  withExamples(command, [
    [
      'bloomery hyphenate build --patterns /usr/share/hyphen/hyph_en_US.dic --words /usr/share/dict/words --rules 3400 -o en.blhy',
      "Bloom's experiment: simple rules, and a dictionary of the words they get wrong, about one in ten",
    ],
    [
      'bloomery hyphenate -d en.blhy --mark - book.txt',
      'the text with its breaks, and how many lookups were saved',
    ],
  ]);
  registerBuild(command);
  registerInfo(command);
}

interface HyphenateOptions {
  readonly dictionary?: string;
  readonly mark: string;
  readonly filter: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

async function hyphenate(files: string[], options: HyphenateOptions): Promise<void> {
  const { dictionary: path, mark, json, quiet } = options;
  if (path === undefined)
    throw new UsageError('--dictionary names the file; make one with: bloomery hyphenate build');
  if (mark === '') throw new UsageError('--mark must not be empty; soft is the invisible soft hyphen');
  const inputs = inputsOf(files);
  await withHyphenator(path, async (hyphenator) => {
    hyphenator.usesFilter = options.filter;
    const sign = mark === 'soft' ? SOFT_HYPHEN : mark;
    const inText = (word: string) => {
      if (word.includes(SOFT_HYPHEN)) return word;
      const { points, source } = hyphenator.ask(word);
      const hyphenated = insertMarks(word, points, sign);
      if (json) writeJson({ word, hyphenated, points, source });
      return hyphenated;
    };
    for (const input of inputs) {
      for await (const text of textOf(input)) {
        const hyphenated = replaceWords(text, inText);
        if (!json) write(hyphenated);
      }
    }
    if (json) writeJson({ summary: summarize(hyphenator) });
    else if (!quiet) process.stderr.write(`${inWords(hyphenator)}\n`);
  });
}

function summarize(hyphenator: FilteredHyphenator) {
  const { counts } = hyphenator;
  const others = counts.words - counts.found;
  return {
    ...counts,
    measuredFalseDropRate: others > 0 ? counts.falseDrops / others : null,
    estimatedFalseDropRate: hyphenator.estimatedFalseDropRate(),
  };
}

function inWords(hyphenator: FilteredHyphenator): string {
  const { words, shortWords, lookups, found, falseDrops, saved, reads, ...rates } = summarize(hyphenator);
  const share = words > 0 ? ` (${formatRate(saved / words)})` : '';
  const measured = rates.measuredFalseDropRate;
  return [
    `${formatCount(words)} words (and ${formatCount(shortWords)} too short to break)`,
    `${formatCount(lookups)} lookups in the dictionary: ${formatCount(found)} found, ${formatCount(falseDrops)} for nothing; ${formatCount(reads)} pages read`,
    `${formatCount(saved)} lookups saved${share}`,
    measured === null
      ? 'no word without an exception'
      : `false drops: ${formatRate(measured)} of the words that are no exceptions; the filter's rate is ${formatRate(rates.estimatedFalseDropRate)}`,
  ].join('\n');
}

interface BuildOptions {
  readonly patterns: string;
  readonly exceptions?: string;
  readonly truth?: string;
  readonly words?: string[];
  readonly rules?: number;
  readonly rate: number;
  readonly left?: number;
  readonly right?: number;
  readonly output: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

function registerBuild(parent: Command): void {
  const command = parent
    .command('build')
    .description('find the words that rules get wrong, and make rules, filter and dictionary of them')
    .requiredOption(
      '-p, --patterns <file>',
      "Liang's patterns: of libhyphen (hyph_*.dic) or TeX (\\patterns{…})",
    )
    .option('-t, --truth <file>', 'words with their breaks (hy-phen-ation), or TeX \\hyphenation{…}')
    .option(
      '-w, --words <files...>',
      'instead: words for which all patterns tell the truth; goes with --rules',
    )
    .option('-e, --exceptions <file>', 'more words with their breaks, which count more than the others')
    .option('-n, --rules <count>', 'keep only the patterns that decide most, as simple rules', parseCount())
    .option('-r, --rate <rate>', 'false positives of the filter: lookups for nothing', parseRate, 0.01)
    .option(
      '--left <letters>',
      'letters that stay together at the beginning (default: as in the patterns)',
      parseLetters,
    )
    .option('--right <letters>', 'at the end', parseLetters)
    .option('-q, --quiet', 'no summary')
    .option('--verbose', 'a summary on standard error, also when that is no terminal');
  withJson(withOutput(command, 'where the hyphenation file goes')).action(build);
  withExamples(command, [
    [
      'bloomery hyphenate build -p hyph_en_US.dic -w /usr/share/dict/words --rules 3400 -o en.blhy',
      'simple rules that are right for nine words of ten, and a dictionary of the others',
    ],
    [
      'bloomery hyphenate build -p hyphen.tex --truth hyphenated-words.txt -o en.blhy',
      'all patterns against a list',
    ],
  ]);
}

async function build(_: unknown, command: Command): Promise<void> {
  // `hyphenate` itself takes --json and --quiet, and its parser sees them first.
  const options = command.optsWithGlobals<BuildOptions>();
  const started = performance.now();
  const { output, json } = options;
  if (json && output === '-') throw new UsageError('--json and -o - both want standard output');
  if (options.truth !== undefined && options.words !== undefined) {
    throw new UsageError('--truth and --words both say what is true; give one of them');
  }
  if (options.words !== undefined && options.rules === undefined) {
    throw new UsageError(
      '--words takes the patterns for the truth, so there are no exceptions; --rules N makes the rules simpler',
    );
  }
  checkTarget(output, options);
  const file = explained(options.patterns, () => parsePatternFile(readFileSync(options.patterns)));
  const { left: leftMinimum = file.leftMinimum, right: rightMinimum = file.rightMinimum } = options;
  const minimums = { leftMinimum, rightMinimum, noHyphen: file.noHyphen };
  const all = new Hyphenator({ patterns: file.patterns, ...minimums });
  const truth = await readTruth(options, all, file.exceptions);
  if (truth.size === 0) {
    throw new UsageError(
      'nothing says where the rules are wrong: give --truth, --words with --rules, or --exceptions',
    );
  }
  const { rules: count } = options;
  const rules =
    count === undefined
      ? all
      : new Hyphenator({ patterns: strongestPatterns(all, truth.keys(), count), ...minimums });
  const { exceptions, truthWords, tooLong } = findExceptions({ rules, truth });
  const filter = exceptionFilter(exceptions.keys(), exceptions.size, options.rate);
  const bytes = encodeHyphenation({ rules, filter, exceptions, truthWords });
  writeTarget(output, bytes, { force: options.force === true });
  if (tooLong > 0 && !options.quiet)
    warn(`${formatCount(tooLong)} words of more than 255 bytes were left out`);
  const facts = {
    patterns: rules.patterns.length,
    words: truthWords,
    exceptions: exceptions.size,
    filterBytes: filter.byteLength,
    bytes: bytes.length,
    seconds: (performance.now() - started) / 1000,
  };
  if (json) writeJson({ output, ...facts });
  else if (options.verbose || (!options.quiet && isTerminal(2))) {
    process.stderr.write(
      `${output}: ${formatCount(facts.patterns)} patterns are wrong about ${formatCount(facts.exceptions)} of ${formatCount(truthWords)} words ` +
        `(${formatRate(facts.exceptions / Math.max(1, truthWords))}); filter ${formatBytes(facts.filterBytes)}, ` +
        `all in ${formatBytes(facts.bytes)}, ${formatSeconds(facts.seconds)}\n`,
    );
  }
}

/**
 * Reads the correct breaks of each word. If several sources have the same word, `--exceptions`
 * wins, then the pattern file, then the other files.
 */
async function readTruth(
  { truth: truthFile, words: wordFiles, exceptions }: BuildOptions,
  all: Hyphenator,
  fromPatterns: ReadonlyMap<string, readonly number[]>,
): Promise<Map<string, readonly number[]>> {
  const truth = new Map<string, readonly number[]>(
    truthFile === undefined ? [] : await readHyphenated(truthFile),
  );
  for (const input of wordFiles === undefined ? [] : inputsOf(wordFiles)) {
    for await (const text of textOf(input)) {
      for (const word of wordsOf(text)) {
        const lower = word.replaceAll(SOFT_HYPHEN, '').toLowerCase();
        if (!truth.has(lower)) truth.set(lower, all.points(lower));
      }
    }
  }
  for (const [word, points] of fromPatterns) truth.set(word, points);
  if (exceptions !== undefined)
    for (const [word, points] of await readHyphenated(exceptions)) truth.set(word, points);
  return truth;
}

async function readHyphenated(path: string): Promise<Map<string, number[]>> {
  let whole = '';
  for (const input of inputsOf([path])) for await (const text of textOf(input)) whole += text;
  return explained(path, () => parseTruth(whole));
}

function registerInfo(parent: Command): void {
  const command = parent
    .command('info')
    .description('what a hyphenation file holds')
    .argument('<dictionary>', 'made by bloomery hyphenate build')
    .action(info);
  withJson(command);
  withExamples(command, [['bloomery hyphenate info en.blhy', 'patterns, exceptions, sizes, rate']]);
}

async function info(path: string, _: unknown, command: Command): Promise<void> {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  await withHyphenator(path, async ({ rules, filter, dictionary, truthWords, exceptions }, bytes) => {
    const facts = {
      patterns: rules.patterns.length,
      leftMinimum: rules.leftMinimum,
      rightMinimum: rules.rightMinimum,
      words: truthWords,
      exceptions,
      pages: dictionary.pages,
      filterBytes: filter.byteLength,
      filterHashes: filter.hashes,
      estimatedFalseDropRate: filter.estimatedFalsePositiveRate(),
      bytes,
    };
    if (json) {
      writeJson(facts);
      return;
    }
    const share = exceptions / Math.max(1, truthWords);
    writeLine(
      formatPairs([
        [
          'rules',
          `${formatCount(facts.patterns)} patterns; ${facts.leftMinimum} and ${facts.rightMinimum} letters stay together at the ends`,
        ],
        [
          'exceptions',
          `${formatCount(exceptions)} of ${formatCount(truthWords)} words (${formatRate(share)})`,
        ],
        [
          'dictionary',
          `${formatCount(facts.pages)} pages on disk; a lookup reads up to ${Math.ceil(Math.log2(facts.pages + 1))}`,
        ],
        [
          'filter',
          `${formatBytes(facts.filterBytes)} in memory, ${facts.filterHashes} hashes, false drops ${formatRate(facts.estimatedFalseDropRate)}`,
        ],
        ['size', formatBytes(bytes)],
      ]),
    );
  });
}

/**
 * Opens a hyphenation file while `use` runs. Errors in the file, now or at a later lookup, name the
 * file.
 */
async function withHyphenator(
  path: string,
  use: (hyphenator: FilteredHyphenator, bytes: number) => Promise<void>,
): Promise<void> {
  const descriptor = openSync(path, 'r');
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw new UsageError(`${path} is no file; a dictionary is read at many positions`);
    await use(openHyphenation(fileBytes(descriptor, found.size)), found.size);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const hint: Partial<Record<FrameError['code'], string>> = {
      'not-a-frame': 'is no hyphenation file; make one with: bloomery hyphenate build',
      truncated: 'is cut off, or no hyphenation file',
      checksum: 'was damaged; build it again',
      version: 'was written by a later version of bloomery',
    };
    throw new UsageError(`${path} ${hint[error.code] ?? `cannot be read: ${error.message}`}`, {
      cause: error,
    });
  } finally {
    closeSync(descriptor);
  }
}

function fileBytes(descriptor: number, size: number): DictionaryBytes {
  return {
    size,
    read(position, length) {
      const bytes = new Uint8Array(length);
      let at = 0;
      for (let got = -1; at < length && got !== 0; at += got) {
        got = readSync(descriptor, bytes, at, length - at, position + at);
      }
      return bytes.subarray(0, at);
    },
  };
}

/** The text of an input in parts that end between words. */
async function* textOf(input: Input): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  const decode = (part?: Uint8Array) => {
    try {
      return part === undefined ? decoder.decode() : decoder.decode(part, { stream: true });
    } catch {
      throw new UsageError(
        `${input.path} is not UTF-8; make it so first, for example: iconv -f ISO-8859-1 -t UTF-8`,
      );
    }
  };
  for await (const part of input.parts()) {
    const text = rest + decode(part);
    if (text.includes('\0')) throw new UsageError(`${input.path} looks binary: it has zero bytes`);
    let cut = text.length;
    while (cut > 0 && text.length - cut < LONGEST_WORD && isInWord(text.charCodeAt(cut - 1))) cut--;
    // Both surrogates of a letter beyond the BMP stay together.
    if (cut < text.length && (text.charCodeAt(cut) & 0xfc00) === 0xdc00) cut++;
    yield text.slice(0, cut);
    rest = text.slice(cut);
  }
  yield rest + decode();
}

/**
 * True for letters, marks and soft hyphens, and for each surrogate of a character beyond the BMP.
 */
function isInWord(code: number): boolean {
  return (code & 0xf800) === 0xd800 || /[\p{L}\p{M}\u00ad]/u.test(String.fromCharCode(code));
}

function explained<T>(path: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof PatternError) throw new UsageError(`${path}: ${error.message}`, { cause: error });
    throw error;
  }
}

function parseLetters(text: string): number {
  const value = parseCount()(text);
  if (value > 255) throw new UsageError(`up to 255 letters can stay together, got ${text}`);
  return value;
}

const SOFT_HYPHEN = '\u00ad';
const LONGEST_WORD = 100_000;
