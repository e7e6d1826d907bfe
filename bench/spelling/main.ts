/**
 * `bloomery spell` beside hunspell, on one text: size of the dictionary, speed, agreement, and what
 * the two disagree about; then how often each proposes the word that was meant.
 *
 *     npm --prefix bench run spelling [-- file …]      default: the fortunes of Debian's package `fortunes`
 *
 * Needs hunspell and hunspell-en-us, and codespell for a second list of misspellings. Both
 * programs run as people run them: a process that reads the text from a pipe and writes a list.
 * Times are processor times, the best of three, with the start of the process, which is shown
 * apart. Speeds depend on the machine.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  decodeSpeller,
  HunspellDictionary,
  type Speller,
  wordsOf,
} from '../../packages/stores/dist/dictionaries/spelling/index.js';
import { kindsOf } from './disagreements.ts';
import { COMMON, codespellSample } from './misspellings.ts';
import { compareSlips, compareSuggestions } from './suggestions.ts';

const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const DIC = '/usr/share/hunspell/en_US.dic';
const AFF = '/usr/share/hunspell/en_US.aff';
/** Number of copies of the text in the long one. */
const LONG = 8;
const FORTUNES = '/usr/share/games/fortunes';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-spelling-'));
try {
  main();
} finally {
  rmSync(folder, { recursive: true });
}

function main(): void {
  const text = readText(process.argv.slice(2));
  const dictionary = join(folder, 'en.spell');
  const built = timed(process.execPath, [COMMAND, 'spell', 'build', DIC, '-o', dictionary], '', 1);
  const speller: Speller = decodeSpeller(new Uint8Array(readFileSync(dictionary)));
  const words = [...wordsOf(text)].map(({ word }) => word);
  const distinct = new Set(words.flatMap((word) => word.split('-')).filter((word) => /\p{L}/u.test(word)));

  const ourArgs = [COMMAND, 'spell', '--list', '--text', '-d', dictionary];
  const theirArgs = ['-d', 'en_US', '-i', 'utf-8', '-l'];
  const ours = timed(process.execPath, ourArgs, text, 3);
  const theirs = timed('hunspell', theirArgs, text, 3);
  const ourStart = timed(process.execPath, ourArgs, 'a', 3).seconds;
  const theirStart = timed('hunspell', theirArgs, 'a', 3).seconds;
  // The same text again and again: a long one, in which most words have come before.
  const longText = `${text}\n`.repeat(LONG);
  const long = {
    ours: timed(process.execPath, ourArgs, longText, 3).seconds,
    theirs: timed('hunspell', theirArgs, longText, 1).seconds,
  };

  const size = statSync(dictionary).size;
  const files = statSync(DIC).size + statSync(AFF).size;
  const speed = (seconds: number) => `${Math.round(words.length / seconds).toLocaleString('en-US')} words/s`;
  console.log(
    `text: ${count(words.length)} words, ${count(distinct.size)} distinct; ${count(speller.traits.forms)} forms in the dictionary\n`,
  );
  table([
    ['', 'bloomery spell', 'hunspell'],
    ['dictionary', `${count(size)} bytes`, `${count(files)} bytes (.dic + .aff)`],
    ['built in', `${built.seconds.toFixed(2)} s`, '-'],
    ['whole run', `${ours.seconds.toFixed(2)} s`, `${theirs.seconds.toFixed(2)} s`],
    ['  of that, start', `${ourStart.toFixed(2)} s`, `${theirStart.toFixed(2)} s`],
    ['speed, whole run', speed(ours.seconds), speed(theirs.seconds)],
    ['speed, start left out', speed(ours.seconds - ourStart), speed(theirs.seconds - theirStart)],
    [`${LONG} times the text, whole run`, speed(long.ours / LONG), speed(long.theirs / LONG)],
    ['  ratio of processor times', `${(long.theirs / long.ours).toFixed(1)} times`, '1'],
    ['distinct misspelt words', count(ours.lines.size), count(theirs.lines.size)],
  ]);

  const dictionaryForms = new HunspellDictionary(readFileSync(DIC), readFileSync(AFF));
  const forms = new Set([...dictionaryForms.forms()].map(({ form }) => form));
  const kinds = kindsOf(ours.lines, theirs.lines, distinct, speller, forms);
  const unlike = kinds.reduce((sum, { words: list }) => sum + list.length, 0);
  console.log(
    `\nagreement: ${(100 * (1 - unlike / distinct.size)).toFixed(2)} % of distinct words (${unlike} of ${count(distinct.size)} differ)\n`,
  );
  table([
    ['kind of disagreement', 'words', 'such as'],
    ...kinds.map(({ kind, words: list }) => [kind, count(list.length), list.slice(0, 5).join(', ')]),
  ]);
  const slips = kinds.filter(({ slip }) => slip).reduce((sum, { words: list }) => sum + list.length, 0);
  console.log(
    `\nmisspellings that went unseen by the rate of the filters: ${((100 * slips) / theirs.lines.size).toFixed(2)} % of hunspell's list`,
  );
  console.log(
    `stated: at most ${(100 * speller.falsePositiveRate).toFixed(2)} % for each key asked, of which a word has 1 to 4\n`,
  );
  table(compareSlips(speller, forms, words));
  console.log();
  table(compareSuggestions('common misspellings', speller, forms, COMMON));
  const sample = codespellSample(forms);
  console.log();
  if (sample === undefined) console.log('codespell is not installed; its misspellings are left out');
  else table(compareSuggestions("misspellings of codespell's dictionary", speller, forms, sample));
}

function readText(paths: readonly string[]): string {
  const files =
    paths.length > 0
      ? paths
      : readdirSync(FORTUNES)
          .filter((name) => !name.includes('.'))
          .sort()
          .map((name) => join(FORTUNES, name));
  return files
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
    .replaceAll('\ufffd', ' ');
}

/** The processor time of the best of some runs, and the lines it printed. */
function timed(
  command: string,
  args: readonly string[],
  input: string,
  runs: number,
): { seconds: number; lines: Set<string> } {
  let seconds = Number.POSITIVE_INFINITY;
  let lines = new Set<string>();
  for (let run = 0; run < runs; run++) {
    const env = { ...process.env, LC_ALL: 'C.UTF-8' };
    const script = '"$0" "$@"; code=$?; times >&2; exit $code';
    const { stdout, stderr, status, error } = spawnSync('sh', ['-c', script, command, ...args], {
      input,
      encoding: 'utf8',
      maxBuffer: 2 ** 29,
      env,
    });
    if (error !== undefined || status === null || status > 1)
      throw error ?? new Error(`${command} failed: ${stderr}`);
    seconds = Math.min(seconds, processorSeconds(stderr));
    lines = new Set(stdout.split('\n').filter((line) => line !== ''));
  }
  return { seconds, lines };
}

/** User and system time of the children of a shell, from the last line of `times`. */
function processorSeconds(report: string): number {
  const parts = [
    ...report
      .trim()
      .split('\n')
      .at(-1)!
      .matchAll(/(\d+)m([\d.]+)s/g),
  ];
  if (parts.length !== 2) throw new Error(`expected two times at the end, got ${report}`);
  return parts.reduce((sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds), 0);
}

function table(rows: readonly (readonly string[])[]): void {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  for (const row of rows)
    console.log(
      row
        .map((cell, i) => cell.padEnd(widths[i]))
        .join('  ')
        .trimEnd(),
    );
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
