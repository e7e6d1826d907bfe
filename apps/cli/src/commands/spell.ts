/**
 * `bloomery spell`: a spell checker whose dictionary is a filter (survey 3.1; McIlroy's `spell`),
 * with a packed list of the words beside it for suggestions.
 *
 * `bloomery spell notes.md` works without options: it takes the system's hunspell dictionary for
 * the locale, and keeps the filter built from it under $XDG_CACHE_HOME/bloomery. `spell build`
 * makes a dictionary file, `spell check` is the default subcommand, and `spell suggest` asks for
 * one word.
 *
 * Text is read line by line and may have any size; Markdown has to be read as a whole and may have
 * 64 MB. Up to 100,000 words that were looked up are remembered, because most words of a text come
 * again.
 */

import { accessSync, constants, statSync } from 'node:fs';
import { basename, extname } from 'node:path';
import {
  encodeSpeller,
  FrequencyCounter,
  maskMarkdown,
  type Speller,
  type TextWord,
  type WordFrequencies,
  WordScanner,
} from '@bloomery/stores/spelling';
import { type Command, Option } from 'commander';
import { parseCount, parseRate, withExamples, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { buildSpeller, type DictionaryOptions, openSpeller } from '../spelling/dictionary-choice.ts';
import { readLines } from '../spelling/text-lines.ts';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors, isTerminal } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const spell = program.command('spell').description('check spelling with a dictionary that is a filter');
  withExamples(spell, [
    ['bloomery spell README.md', 'misspelt words with line, column and suggestions'],
    ['bloomery spell build /usr/share/hunspell/en_US.dic -o en.spell', 'a dictionary file'],
  ]);
  registerCheck(spell.command('check [files...]', { isDefault: true }));
  registerBuild(spell.command('build <source>'));
  registerSuggest(spell.command('suggest <word>'));
}

function registerCheck(command: Command): void {
  command
    .description('print misspelt words; exit code 1 if there are any (this is what spell does without check)')
    .option('-s, --suggest <count>', 'suggestions for each word; 0: none', parseCount(0), 3)
    .option('-l, --list', 'print distinct misspelt words, one a line, and nothing else')
    .option('-p, --personal <file>', 'words that are right as well, one a line')
    .option('--markdown', 'read as Markdown; default for .md and .markdown')
    .option('--text', 'read as plain text, whatever the name')
    .action(check);
  withJson(withDictionary(command));
  withExamples(command, [
    ['bloomery spell README.md docs/*.md', 'Markdown: code, link targets and HTML are skipped'],
    ['man ls | bloomery spell --list', 'distinct misspelt words of standard input'],
    ['bloomery spell --language de_DE brief.txt', 'another dictionary of the system'],
    ['bloomery spell --json notes.txt | jq -r .word', 'one JSON object for each misspelt word'],
  ]);
}

function registerBuild(command: Command): void {
  command
    .description('make a dictionary file of a hunspell dictionary (.dic with its .aff) or of a word list')
    .option('--aff <file>', 'the affix file; default: the one beside the .dic')
    .option(
      '-o, --output <file>',
      'where the dictionary goes; default: the name of the source with .spell; - is standard output',
    )
    .option('-f, --force', 'replace the output if it exists already')
    .option(
      '--rate <rate>',
      'at which misspellings in small letters may go unseen; default: 0.1 %',
      parseRate,
    )
    .option(
      '--corpus <files...>',
      'texts in the language, whose common words are suggested first; default: a table for English',
    )
    .addOption(new Option('--structure <name>', 'the filter').choices(['static', 'bloom']).default('static'))
    .option('--language <name>', 'such as en_US; default: what the dictionary or its name says')
    .action(build);
  withJson(command);
  withExamples(command, [
    ['bloomery spell build /usr/share/hunspell/en_US.dic', 'makes en_US.spell'],
    [
      'bloomery spell build /usr/share/hunspell/de_DE.dic --corpus buch.txt',
      'suggests common words first, as far as the text knows them',
    ],
  ]);
}

function registerSuggest(command: Command): void {
  command
    .description('print what may have been meant, the best first; the word itself if it is right')
    .option('-s, --suggest <count>', 'how many at most', parseCount(1), 5)
    .action(suggest);
  withJson(withDictionary(command));
  withExamples(command, [['bloomery spell suggest recieve', 'receive']]);
}

function withDictionary(command: Command): Command {
  return command
    .option(
      '-d, --dictionary <file>',
      "made by spell build; default: $BLOOMERY_DICTIONARY, else the system's hunspell dictionary",
    )
    .option('--language <name>', "which of the system's dictionaries; default: that of the locale");
}

interface CheckOptions extends DictionaryOptions {
  readonly suggest: number;
  readonly list?: boolean;
  readonly personal?: string;
  readonly markdown?: boolean;
  readonly text?: boolean;
  readonly json?: boolean;
}

function check(files: readonly string[], options: CheckOptions): void {
  if (options.markdown && options.text)
    throw new UsageError('--markdown and --text exclude each other; give one of them');
  const paths = files.length === 0 ? ['-'] : files;
  readOnce([...paths, options.dictionary, options.personal]);
  const speller = openSpeller(options);
  if (options.personal !== undefined) speller.addWords(readPersonal(options.personal));
  if (options.suggest > 0 && !options.list) warnWithoutList(speller);
  // A wrong file name is reported before anything is printed.
  for (const path of paths) checkReadable(path);
  const seen = new Map<string, boolean>();
  const listed = new Set<string>();
  const suggestions = new Map<string, string[]>();
  let [words, wrong] = [0, 0];
  for (const path of paths) {
    for (const found of readWords(path, options, speller.traits.wordCharacters)) {
      words++;
      if (isRight(speller, found, seen)) continue;
      for (const part of misspeltParts(speller, found)) {
        wrong++;
        if (!options.list)
          report(path, part, suggestionsFor(part.word, speller, options.suggest, suggestions), options);
        else if (!listed.has(part.word) && listed.add(part.word)) {
          if (options.json) writeJson({ word: part.word });
          else writeLine(part.word);
        }
      }
    }
  }
  if (isTerminal(2) && isTerminal(1) && !options.json) {
    const rate = formatRate(speller.falsePositiveRate);
    process.stderr.write(
      `${formatCount(words)} words, ${formatCount(wrong)} misspelt; up to ${rate} of misspellings go unseen, twice that with a capital\n`,
    );
  }
  if (wrong > 0) process.exitCode = NOT_FOUND;
}

function report(
  path: string,
  { word, line, column }: TextWord,
  suggestions: readonly string[],
  options: CheckOptions,
): void {
  if (options.json) {
    writeJson({ file: path, line, column, word, suggestions });
    return;
  }
  const paint = colors();
  const arrow = suggestions.length > 0 ? ` → ${suggestions.join(', ')}` : '';
  writeLine(`${paint.dim(`${path}:${line}:${column}:`)} ${paint.red(word)}${arrow}`);
}

/** Remembers the suggestions, because a misspelling often comes again. */
function suggestionsFor(
  word: string,
  speller: Speller,
  count: number,
  known: Map<string, string[]>,
): string[] {
  if (count === 0) return [];
  let found = known.get(word);
  if (found === undefined) {
    found = speller.suggest(word, count);
    if (known.size >= MOST_REMEMBERED) known.clear();
    known.set(word, found);
  }
  return found;
}

function isRight(speller: Speller, { word, dotted }: TextWord, seen: Map<string, boolean>): boolean {
  const key = dotted ? `${word}.` : word;
  let right = seen.get(key);
  if (right === undefined) {
    right = speller.check(word, { dotted });
    if (seen.size >= MOST_REMEMBERED) seen.clear();
    seen.set(key, right);
  }
  return right;
}

/**
 * Yields the misspelt parts of a hyphenated word. A part is right if it is right alone or together
 * with its neighbours.
 */
function* misspeltParts(speller: Speller, found: TextWord): Generator<TextWord> {
  if (!speller.traits.hyphens || !found.word.includes('-')) return yield found;
  const parts = found.word.split('-');
  const right = parts.map(() => false);
  for (let length = 1; length <= MOST_JOINED && length < parts.length; length++) {
    for (let start = 0; start + length <= parts.length; start++) {
      const end = start + length;
      if (right.slice(start, end).every(Boolean)) continue;
      const dotted = found.dotted && end === parts.length;
      if (speller.check(parts.slice(start, end).join('-'), { dotted })) right.fill(true, start, end);
    }
  }
  // Every part is right alone or with neighbours, but the whole word is wrong.
  if (right.every(Boolean)) return yield found;
  let { column } = found;
  for (const [i, word] of parts.entries()) {
    if (!right[i]) yield { ...found, word, column };
    column += [...word].length + 1;
  }
}

function* readWords(path: string, options: CheckOptions, wordCharacters: string): Generator<TextWord> {
  const scanner = new WordScanner({ wordCharacters });
  const markdown = options.markdown || (!options.text && MARKDOWN.has(extname(path).toLowerCase()));
  if (!markdown) {
    for (const line of readLines(path)) yield* scanner.scan(line);
    return;
  }
  let text = '';
  for (const line of readLines(path)) {
    text += `${line}\n`;
    if (text.length > MOST_MARKDOWN)
      throw new UsageError(`${path} has more than 64 MB, too much for Markdown; --text reads it as text`);
  }
  for (const line of maskMarkdown(text).split('\n')) yield* scanner.scan(line);
}

interface BuildOptions {
  readonly aff?: string;
  readonly output?: string;
  readonly force?: boolean;
  readonly rate?: number;
  readonly structure: 'static' | 'bloom';
  readonly corpus?: readonly string[];
  readonly language?: string;
  readonly json?: boolean;
}

function build(source: string, options: BuildOptions): void {
  readOnce([source, options.aff, ...(options.corpus ?? [])]);
  const output = options.output ?? `${source === '-' ? 'words' : basename(source, extname(source))}.spell`;
  checkTarget(output, options);
  const speller = buildSpeller(source, options.aff, {
    falsePositiveRate: options.rate,
    structure: options.structure,
    language: options.language,
    frequencies: countWords(options.corpus),
  });
  const bytes = encodeSpeller(speller);
  writeTarget(output, bytes, { force: options.force === true });
  const { forms, language, compounds, ordinals } = speller.traits;
  const rate = speller.falsePositiveRate;
  if (compounds && !ordinals) {
    warn(
      `${source} also makes compounds, which cannot be listed; those that are not in it as words will be called misspelt`,
    );
  }
  if (output === '-') return;
  if (options.json) {
    writeJson({ output, bytes: bytes.length, words: forms, language, falsePositiveRate: rate });
    return;
  }
  const size = `${formatCount(forms)} words in ${formatBytes(bytes.length)}`;
  writeLine(
    `${output}: ${size}; up to ${formatRate(rate)} of misspellings go unseen, twice that with a capital`,
  );
}

function suggest(word: string, options: DictionaryOptions & { suggest: number; json?: boolean }): void {
  const speller = openSpeller(options);
  warnWithoutList(speller);
  const right = speller.check(word);
  const suggestions = right ? [] : speller.suggest(word, options.suggest);
  if (options.json) writeJson({ word, right, suggestions });
  else for (const text of right ? [word] : suggestions) writeLine(text);
  if (!right && suggestions.length === 0) process.exitCode = NOT_FOUND;
}

/** Counts the words of texts, or returns undefined if there are none. */
function countWords(paths: readonly string[] | undefined): WordFrequencies | undefined {
  if (paths === undefined) return undefined;
  const counter = new FrequencyCounter();
  for (const path of paths) for (const line of readLines(path)) counter.add(line);
  return counter.classes();
}

/** Says why a dictionary of an earlier version gives no suggestions. */
function warnWithoutList({ parts: { list } }: Speller): void {
  if (list === undefined)
    warn(
      'the dictionary was made by an earlier version and gives no suggestions; spell build makes it again',
    );
}

function readPersonal(path: string): string[] {
  const words: string[] = [];
  for (const line of readLines(path)) if (line.trim() !== '') words.push(line.trim());
  return words;
}

/**
 * Checks a file without opening it. A named pipe can be opened only once: its writer would see the
 * reader leave.
 */
function checkReadable(path: string): void {
  if (path === '-') return;
  if (statSync(path).isDirectory()) throw new UsageError(`${path} is a directory; name the files in it`);
  accessSync(path, constants.R_OK);
}

function readOnce(paths: readonly (string | undefined)[]): void {
  if (paths.filter((path) => path === '-').length > 1)
    throw new UsageError(
      'standard input can be read once only: one of the files can be -, or what is left out',
    );
}

const MARKDOWN = new Set(['.md', '.markdown', '.mdown', '.mkd']);
const MOST_REMEMBERED = 100_000;
/**
 * The largest number of joined parts of a hyphenated word to look up, the same as in the speller.
 */
const MOST_JOINED = 4;
const MOST_MARKDOWN = 64e6;
