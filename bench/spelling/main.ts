/**
 * `bloomery spell` beside hunspell, on one text: size of the dictionary, speed, agreement, and what
 * the two disagree about; then how often each proposes the word that was meant.
 *
 *     npm --prefix bench run spelling [-- file …]      default: the fortunes of Debian's package `fortunes`
 *
 * Needs hunspell and hunspell-en-us. Both programs run as people run them: a process that reads the
 * text from a pipe and writes a list; the time is the best of three, with the start of the process,
 * which is shown apart. Speeds depend on the machine.
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
import { compareSuggestions } from './suggestions.ts';

const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const DIC = '/usr/share/hunspell/en_US.dic';
const AFF = '/usr/share/hunspell/en_US.aff';
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
  table(compareSuggestions(speller, forms, words));
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

/** The best of some runs, and the lines it printed. */
function timed(
  command: string,
  args: readonly string[],
  input: string,
  runs: number,
): { seconds: number; lines: Set<string> } {
  let seconds = Number.POSITIVE_INFINITY;
  let lines = new Set<string>();
  for (let run = 0; run < runs; run++) {
    const started = performance.now();
    const env = { ...process.env, LC_ALL: 'C.UTF-8' };
    const { stdout, stderr, status, error } = spawnSync(command, args, {
      input,
      encoding: 'utf8',
      maxBuffer: 2 ** 29,
      env,
    });
    if (error !== undefined || status === null || status > 1)
      throw error ?? new Error(`${command} failed: ${stderr}`);
    seconds = Math.min(seconds, (performance.now() - started) / 1000);
    lines = new Set(stdout.split('\n').filter((line) => line !== ''));
  }
  return { seconds, lines };
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
