/**
 * `find`: searches the folders of the groups that the running `share` is in, its own among them.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import { parseCount, withExamples, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { costText, plainText, resultText, type ShareResult } from '../searching/result-text.ts';
import { askShare, defaultStateFile } from '../searching/share-state.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';

interface FindOptions {
  readonly most: number;
  readonly timeout: number;
  readonly holders?: string;
  readonly state: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('find')
    .description('search the shared folders of your groups: words, "phrases", +must, name:word, type:md')
    .argument('[words...]', 'the words; quote phrases for the shell as well')
    .option('--most <count>', 'results at most, up to 100', parseCount(), 10)
    .option('--timeout <ms>', 'time that each peer has to answer', parseCount(), 2000)
    .option('--holders <file>', 'find the peers that hold a copy of this file, instead of words')
    .option('--state <file>', 'the file of the share that runs', defaultStateFile())
    .action(find);
  withExamples(withJson(command), [
    ['bloomery find bloom filter', 'files with either word; those with both come first'],
    [`bloomery find '"counting filter" type:md'`, 'Markdown files with these two words in a row'],
    ['bloomery find name:report +budget --json', 'for scripts'],
    ['bloomery find --holders plan.pdf', 'who has a copy of a file'],
  ]);
}

async function find(words: readonly string[], options: FindOptions): Promise<void> {
  const { most, timeout, holders, state, json } = options;
  if (holders !== undefined) {
    if (words.length > 0)
      throw new UsageError('--holders names a file, so there are no words; leave them out');
    await findHolders(holders, state, json ?? false);
    return;
  }
  if (words.length === 0) throw new UsageError('name the words to search for');
  const query = new URLSearchParams({ q: words.join(' '), most: String(most), timeout: String(timeout) });
  const result = (await askShare(state, `/find?${query}`)) as ShareResult;
  if (json) writeJson(result);
  else {
    if (result.results.length > 0) writeLine(resultText(result));
    process.stderr.write(`${costText(result)}\n`);
  }
  if (result.results.length === 0) process.exitCode = NOT_FOUND;
}

interface Holder {
  readonly peer: string;
  readonly group: string;
  readonly paths: readonly string[];
}

async function findHolders(file: string, state: string, json: boolean): Promise<void> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece);
  const all = (await askShare(state, `/holders?sha256=${hash.digest('hex')}`)) as Holder[];
  if (json) writeJson(all);
  else
    for (const { peer, group, paths } of all)
      for (const path of paths) writeLine(`${plainText(peer)} (${plainText(group)}): ${plainText(path)}`);
  if (all.length === 0) process.exitCode = NOT_FOUND;
}
