/**
 * `layer`: local changes over a base that is only read. `@bloomery/stores/layered` does the work;
 * this file holds the options and the output.
 *
 * Values are texts. Records go in and out as JSON lines: `{"key": …, "value": …}`, and
 * `{"key": …, "deleted": true}` for a deletion.
 */

import { existsSync } from 'node:fs';
import { formatPairs } from '@bloomery/papers/drawing';
import { type Change, type Layered, layered, textValues } from '@bloomery/stores/layered';
import { type Command, InvalidArgumentError } from 'commander';
import { withExamples, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { eachJsonLine } from '../layering/json-lines.ts';
import { type BaseOptions, layerWords, openBase } from '../layering/open-base.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

interface LayerOptions extends BaseOptions {
  readonly bits?: number;
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly changed?: boolean;
}

type TextLayer = Layered<string>;

/** Changes of `apply` that take effect together, and are flushed together. */
const BATCH = 1000;

export function register(program: Command): void {
  const command = program
    .command('layer')
    .description('keep local changes over a read-only base: SQLite, PostgreSQL or HTTP');
  registerReading(command);
  registerChanging(command);
  withExamples(command, [
    [
      'bloomery layer set changes/ ada "Ada Lovelace" --base sqlite:users.sqlite --table users',
      'a change beside the file, which stays as it is',
    ],
    [
      'bloomery layer get changes/ ada --base sqlite:users.sqlite --table users',
      'the record: changed, or that of the base',
    ],
    [
      'bloomery layer merge changes/ --base sqlite:users.sqlite --table users',
      'a new base with all changes, in the place of the old one',
    ],
  ]);
}

function registerReading(layer: Command): void {
  const get = layer
    .command('get')
    .argument('<directory>', 'the folder of the changes')
    .argument('<key...>', 'keys of records')
    .description('print records, changed or not; exit code 1 if one is missing')
    .action((folder: string, keys: string[], options: LayerOptions) =>
      withLayer(folder, options, true, (records) => printRecords(records, keys, options)),
    );
  withExamples(withBase(get), [
    ['bloomery layer get changes/ ada --base "https://example.org/users/{key}"', 'over an HTTP server'],
  ]);
  const list = layer
    .command('list')
    .argument('<directory>', 'the folder of the changes')
    .description('print all records as JSON lines')
    .option('--changed', 'print only the changes')
    .action((folder: string, options: LayerOptions) =>
      withLayer(folder, options, true, (records) => printAll(records, options)),
    );
  withExamples(withBase(list), [
    ['bloomery layer list changes/ --changed --base sqlite:users.sqlite --table users', 'a small backup'],
  ]);
  const status = layer
    .command('status')
    .argument('<directory>', 'the folder of the changes')
    .description('print how many records were changed, and the sizes of log and filter')
    .action((folder: string, options: LayerOptions) =>
      withLayer(folder, options, true, async (records) => printStatus(records, options)),
    );
  withExamples(withBase(status), [
    ['bloomery layer status changes/ --base sqlite:users.sqlite --table users', 'is it time to merge?'],
  ]);
}

function registerChanging(layer: Command): void {
  const set = layer
    .command('set')
    .argument('<directory>', 'the folder of the changes; it is created if it does not exist')
    .argument('<key>', 'the key of the record')
    .argument('<value>', 'its new value')
    .description('set a record')
    .action((folder: string, key: string, value: string, options: LayerOptions) =>
      withLayer(folder, options, false, async (records) => {
        await records.set(key, value);
        if (options.json) writeJson({ set: 1, deleted: 0 });
      }),
    );
  withExamples(withBase(set), [
    [
      'bloomery layer set changes/ ada Ada --base sqlite:users.sqlite --table users',
      'it is on the disk then',
    ],
  ]);
  const remove = layer
    .command('delete')
    .argument('<directory>', 'the folder of the changes')
    .argument('<key...>', 'keys of records')
    .description('delete records, all of them or none')
    .action((folder: string, keys: string[], options: LayerOptions) =>
      withLayer(folder, options, false, async (records) => {
        await records.batch(keys.map((key) => ({ key, deleted: true })));
        if (options.json) writeJson({ set: 0, deleted: keys.length });
      }),
    );
  withExamples(withBase(remove), [
    [
      'bloomery layer delete changes/ ada --base sqlite:users.sqlite --table users',
      'the base keeps its record',
    ],
  ]);
  const apply = layer
    .command('apply')
    .argument('<directory>', 'the folder of the changes')
    .argument('[file]', 'JSON lines; default: standard input', '-')
    .description('make many changes, given as JSON lines')
    .option('--dry-run', 'check the lines and change nothing')
    .action((folder: string, file: string, options: LayerOptions) => applyFile(folder, file, options));
  withExamples(withBase(apply), [
    [
      'bloomery layer apply changes/ today.jsonl --base sqlite:users.sqlite --table users',
      'a day of changes',
    ],
  ]);
  const merge = layer
    .command('merge')
    .argument('<directory>', 'the folder of the changes')
    .description('make a new base with all changes, and empty the log')
    .option('--dry-run', 'say what would be merged and change nothing')
    .action((folder: string, options: LayerOptions) =>
      withLayer(folder, options, options.dryRun === true, (records) => mergeAll(records, options)),
    );
  withExamples(withBase(merge), [
    [
      'bloomery layer merge changes/ --base sqlite:users.sqlite --table users --dry-run',
      'what would change?',
    ],
  ]);
}

function withBase(command: Command): Command {
  return withJson(
    command
      .requiredOption('--base <source>', 'sqlite:FILE, postgres://…, or https://…/{key}')
      .option('--table <name>', 'the table of a database')
      .option('--key <column>', 'the column of the keys', 'key')
      .option('--value <column>', 'the column of the values', 'value')
      .option('--bits <count>', 'bits of the filter for each changed record; default: 10', parseBits),
  );
}

/** Opens the layer, and closes it after the work. */
async function withLayer(
  folder: string,
  options: LayerOptions,
  readOnly: boolean,
  work: (records: TextLayer) => Promise<void>,
): Promise<void> {
  if (readOnly && !existsSync(folder))
    throw new UsageError(`${folder} does not exist; set and apply create it`);
  try {
    const base = await openBase(options);
    const records = await layered<string>(base, folder, {
      values: textValues,
      readOnly,
      bitsPerChange: options.bits,
      torn: ({ path, offset, bytes }) =>
        warn(`${path}: an unfinished change of ${formatBytes(bytes)} was cut off (offset ${offset})`),
    }).catch(async (error: unknown) => {
      await base.close?.();
      throw error;
    });
    try {
      await work(records);
    } finally {
      await records.close();
    }
  } catch (error) {
    throw layerWords(error);
  }
}

async function printRecords(
  records: TextLayer,
  keys: readonly string[],
  { json }: LayerOptions,
): Promise<void> {
  for (const key of keys) {
    const value = await records.get(key);
    if (value === undefined) process.exitCode = NOT_FOUND;
    if (json) writeJson({ key, value: value ?? null });
    else if (value !== undefined) writeLine(value);
  }
}

async function printAll(records: TextLayer, { changed, json }: LayerOptions): Promise<void> {
  const progress = startProgress({ what: 'listing', unit: 'keys', enabled: !json });
  try {
    if (changed) {
      for await (const change of records.changes()) {
        writeJson(change);
        progress.advance(1);
      }
      return;
    }
    for await (const [key, value] of records) {
      writeJson({ key, value });
      progress.advance(1);
    }
  } finally {
    progress.stop();
  }
}

async function printStatus(records: TextLayer, { json }: LayerOptions): Promise<void> {
  const { changedKeys, logBytes, filterBytes, startMs } = records.stats();
  if (json) writeJson({ changedKeys, logBytes, filterBytes, startMs });
  else {
    const pairs: [string, string][] = [
      ['changed records', formatCount(changedKeys)],
      ['log', formatBytes(logBytes)],
      ['filter in memory', formatBytes(filterBytes)],
      ['time to open', `${startMs.toFixed(0)} ms`],
    ];
    writeLine(formatPairs(pairs));
  }
}

async function applyFile(folder: string, file: string, options: LayerOptions): Promise<void> {
  const { json, dryRun } = options;
  const counts = { set: 0, deleted: 0 };
  let made = 0;
  const progress = startProgress({ what: 'changing', unit: 'keys', enabled: !json });
  const run = async (take: (changes: Change<string>[]) => Promise<void>) => {
    let batch: Change<string>[] = [];
    for await (const change of eachJsonLine(file)) {
      batch.push(change);
      if (change.deleted === true) counts.deleted++;
      else counts.set++;
      if (batch.length < BATCH) continue;
      await take(batch);
      progress.advance(batch.length);
      if (!dryRun) made += batch.length;
      batch = [];
    }
    await take(batch);
  };
  try {
    if (dryRun) await run(async () => {});
    else await withLayer(folder, options, false, (records) => run((changes) => records.batch(changes)));
  } catch (error) {
    if (made > 0) warn(`${formatCount(made)} changes were made before the error`);
    throw error;
  } finally {
    progress.stop();
  }
  if (json) writeJson({ ...counts, dryRun: dryRun === true });
  else {
    const verb = dryRun ? 'would be' : 'were';
    writeLine(`${formatCount(counts.set)} records ${verb} set, ${formatCount(counts.deleted)} deleted`);
  }
}

async function mergeAll(records: TextLayer, { json, dryRun }: LayerOptions): Promise<void> {
  if (dryRun) {
    let [set, deleted] = [0, 0];
    for await (const change of records.changes()) {
      if (change.deleted === true) deleted++;
      else set++;
    }
    if (json) writeJson({ set, deleted, dryRun: true });
    else writeLine(`${formatCount(set)} records would be set, ${formatCount(deleted)} deleted in a new base`);
    return;
  }
  const total = records.stats().logBytes;
  const progress = startProgress({ what: 'merging', unit: 'bytes', total, enabled: !json });
  let shown = 0;
  try {
    const { set, deleted, ms } = await records.merge({
      onProgress(done) {
        progress.advance(done - shown);
        shown = done;
      },
    });
    progress.stop();
    if (json) writeJson({ set, deleted, ms, dryRun: false });
    else
      writeLine(
        `${formatCount(set)} records were set, ${formatCount(deleted)} deleted in a new base, in ${(ms / 1000).toFixed(1)} s`,
      );
  } finally {
    progress.stop();
  }
}

function parseBits(text: string): number {
  const bits = Number(text);
  if (!(bits >= 1 && bits <= 64)) throw new InvalidArgumentError('Expected a number from 1 to 64.');
  return bits;
}
