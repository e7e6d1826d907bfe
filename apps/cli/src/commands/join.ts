/**
 * `join`: joins tables of PostgreSQL, SQLite and files that lie in different places, and moves a
 * filter of the near keys instead of the far table. `@bloomery/stores/join` does the work; this
 * file holds its options and its output.
 *
 * Rows are written as CSV, or with `--json` as JSON lines. Counts go to standard error, with
 * `--json` as one object.
 */

import { readFileSync } from 'node:fs';
import {
  candidates,
  JoinError,
  type JoinSize,
  joinSizeEstimate,
  KEY_TYPES,
  type KeyType,
  nearFilter,
  type OnColumn,
  type Row,
  semiJoin,
} from '@bloomery/stores/join';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseRate, withExamples, withForce, withJson } from '../command-options.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { answerNames, csvLine, planText, rangeText, reportText } from '../joining/join-text.ts';
import { type OpenSide, openSide } from '../joining/open-side.ts';
import { withoutPassword } from '../joining/without-password.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { write, writeJson, writeLine } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';

interface JoinOptions {
  readonly near?: string;
  readonly far?: string;
  readonly nearTable?: string;
  readonly farTable?: string;
  readonly nearWhere?: string;
  readonly farWhere?: string;
  readonly on: readonly OnColumn[];
  readonly columns: readonly string[];
  readonly nearColumns: readonly string[];
  readonly type?: readonly KeyType[];
  readonly way?: 'all' | 'keys' | 'filter';
  readonly explain?: boolean;
  readonly dryRun?: boolean;
  readonly writeFilter?: string;
  readonly filter?: string;
  readonly rate: number;
  readonly json?: boolean;
  readonly force?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('join')
    .description('join tables of two databases or files, and move a filter instead of a table')
    .option('--near <source>', 'the smaller side: postgres://…, sqlite:FILE, FILE.csv or FILE.jsonl')
    .option('--far <source>', 'the larger side, from which rows come')
    .option('--near-table <name>', 'the table of the near database')
    .option('--far-table <name>', 'the table of the far database')
    .option('--near-where <sql>', 'take only these near rows')
    .option('--far-where <sql>', 'take only these far rows')
    .requiredOption(
      '--on <columns>',
      'columns of the key, with commas between; near=far if the names differ',
      parseOn,
    )
    .addOption(
      new Option('--columns <list>', 'far columns to print').argParser(parseList).default([], 'the key'),
    )
    .addOption(
      new Option('--near-columns <list>', 'near columns to print; a row for each pair then')
        .argParser(parseList)
        .default([], 'none'),
    )
    .option('--type <list>', `types of the key, for two files: ${KEY_TYPES.join(', ')}`, parseTypes)
    .addOption(
      new Option('--way <name>', 'what to send, instead of the least').choices(['all', 'keys', 'filter']),
    )
    .option('--explain', 'say what would move and what would be chosen, and move no rows')
    .option('--dry-run', 'the same as --explain')
    .addOption(
      new Option(
        '--write-filter <file>',
        'write the filter of the near keys, for a process beside the far side',
      ).conflicts(['far', 'farTable', 'farWhere', 'columns', 'nearColumns', 'way', 'filter']),
    )
    .addOption(
      new Option(
        '--filter <file>',
        'print the far rows that pass this filter; there is no near side then',
      ).conflicts(['near', 'nearTable', 'nearWhere', 'nearColumns', 'way', 'explain', 'dryRun']),
    )
    .addOption(
      new Option('--rate <rate>', 'rate of false positives of --write-filter')
        .argParser(parseRate)
        .default(0.001, '0.1%'),
    )
    .addHelpText('after', HELP)
    .action(run);
  withExamples(withJson(withForce(command, 'the file of --write-filter')), [
    [
      'bloomery join --near postgres://here/db --near-table cities --near-where "cost > 50000" --far postgres://there/db --far-table employees --on city --columns name,city',
      'employees in expensive cities, from two servers',
    ],
    [
      'bloomery join --near wanted.csv --far postgres://there/db --far-table users --on email=mail --explain',
      'what would a join of a file with a server move?',
    ],
    [
      'bloomery join --near wanted.csv --on id --write-filter f.blm && ssh there bloomery join --filter f.blm --far big.jsonl --on id --columns name > found.csv',
      'a process beside the far side, where f.blm was copied to',
    ],
  ]);
}

async function run(options: JoinOptions): Promise<void> {
  const { near, far, writeFilter, filter } = options;
  const opened: OpenSide[] = [];
  const open = async (which: 'near' | 'far') => {
    const source = which === 'near' ? near : far;
    if (source === undefined) throw new UsageError(`--${which} is missing; it names a side of the join`);
    const [table, where] =
      which === 'near' ? [options.nearTable, options.nearWhere] : [options.farTable, options.farWhere];
    const side = await openSide(source, { option: `--${which}`, table, where });
    opened.push(side);
    return side.side;
  };
  try {
    if (writeFilter !== undefined) {
      checkTarget(writeFilter, options);
      await makeFilter(await open('near'), writeFilter, options);
    } else if (filter !== undefined) await printCandidates(filter, await open('far'), options);
    else await joinSides(await open('near'), await open('far'), options);
  } catch (error) {
    if (error instanceof UsageError || !isOfDatabase(error)) throw error;
    const sides = [near, far].filter((side) => side !== undefined).map(withoutPassword);
    const outcome = written > 0 ? 'the rows that were printed are not all' : 'nothing was changed';
    throw new UsageError(`${oneLine((error as Error).message)}; ${outcome} (${sides.join(', ')})`, {
      cause: error,
    });
  } finally {
    for (const side of opened) await side.close().catch(() => {});
  }
}

type Side = OpenSide['side'];

/** Rows that were printed so far. */
let written = 0;

/** Whether an error comes from a database, a file or an option, and not from a fault here. */
function isOfDatabase(error: unknown): boolean {
  if (error instanceof JoinError || (error instanceof RangeError && error.message.startsWith('Cannot join')))
    return true;
  const { code, severity, message } = error as { code?: string; severity?: string; message?: string };
  return (
    severity !== undefined ||
    /^(E[A-Z]+|SQLITE_.*)$/.test(code ?? '') ||
    /^(Connection terminated|Client has encountered a connection error)/.test(message ?? '')
  );
}

function oneLine(message: string): string {
  return message.replaceAll(/\s*\n\s*/g, ' ');
}

async function joinSides(near: Side, far: Side, options: JoinOptions): Promise<void> {
  const { on, nearColumns, type, way, json } = options;
  const columns =
    options.columns.length > 0 ? options.columns : on.map((one) => (typeof one === 'string' ? one : one.far));
  const explains = options.explain === true || options.dryRun === true;
  const progress = startProgress({ what: 'reading near keys', unit: 'keys', enabled: !json });
  const join = await semiJoin({
    near,
    far,
    on,
    columns,
    nearColumns,
    ...(type === undefined ? {} : { types: type }),
    ...(way === undefined ? {} : { way }),
    ...(explains ? { precision: EXPLAIN_PRECISION } : {}),
    onNearRows: (rows) => progress.advance(rows),
  }).finally(() => progress.stop());
  const { plan, nearKeys, nearRows, types } = join;
  if (explains) {
    const size = plan === null ? await joinSizeEstimate({ near, far, on, types: type }) : undefined;
    if (json) writeJson({ nearKeys, nearRows, types, plan, ...(size === undefined ? {} : { size }) });
    else if (plan !== null) writeLine(planText(plan));
    else if (size !== undefined) writeLine(localText(size, nearKeys));
    return;
  }
  const names = answerNames(columns, nearColumns);
  const moved = startProgress({
    what: 'joining',
    unit: 'keys',
    total: Math.round(plan?.matches.value ?? 0),
    enabled: !json,
  });
  try {
    if (!json) writeLine(csvLine(names));
    await writeRows(join.rows(), names, options, (rows) => moved.advance(rows));
  } finally {
    moved.stop();
  }
  const report = join.report();
  process.stderr.write(`${json ? JSON.stringify(report) : reportText(report)}\n`);
}

/** The size of a join whose far side is read here, where nothing moves. */
function localText({ farRows, pairs }: JoinSize, nearKeys: number): string {
  return [
    `${formatCount(nearKeys)} near keys; the far side is read here, and nothing moves`,
    `far rows that match: ${rangeText(farRows)}`,
    `pairs of rows: ${rangeText(pairs)}`,
  ].join('\n');
}

async function makeFilter(near: Side, path: string, options: JoinOptions): Promise<void> {
  const { on, type, rate, json, force = false } = options;
  const names = on.map((one) => (typeof one === 'string' ? one : one.near));
  const { frame, keys, types } = await nearFilter({ near, on: names, falsePositiveRate: rate, types: type });
  const isDry = options.dryRun === true || options.explain === true;
  if (!isDry) writeTarget(path, frame, { force });
  if (json) writeJson({ file: path, keys, types, bytes: frame.length, written: !isDry });
  else {
    const what = `${formatCount(keys)} keys of type ${types.join(', ')}, ${formatBytes(frame.length)}`;
    process.stderr.write(`${path}: ${what}${isDry ? '; nothing was written' : ''}\n`);
  }
}

async function printCandidates(path: string, far: Side, options: JoinOptions): Promise<void> {
  const { on, columns, type, json } = options;
  const names = on.map((one) => (typeof one === 'string' ? one : one.far));
  const frame = readFileSync(path);
  const progress = startProgress({ what: 'filtering', unit: 'keys', enabled: !json });
  try {
    const found = await candidates({
      far,
      on: names,
      columns,
      types: type,
      frame,
      onFarRows: (rows) => progress.advance(rows),
    });
    if (!json) writeLine(csvLine(found.names));
    await writeRows(eachRow(found.batches), found.names, options, () => {});
  } finally {
    progress.stop();
  }
}

async function* eachRow(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<Row> {
  for await (const batch of batches) yield* batch;
}

/** Writes rows in pieces of some kilobytes. */
async function writeRows(
  rows: AsyncIterable<Row>,
  names: readonly string[],
  { json }: JoinOptions,
  onRows: (rows: number) => void,
): Promise<void> {
  let lines: string[] = [];
  const flush = () => {
    if (lines.length > 0) write(`${lines.join('\n')}\n`);
    onRows(lines.length);
    written += lines.length;
    lines = [];
  };
  for await (const row of rows) {
    lines.push(
      json ? JSON.stringify(Object.fromEntries(names.map((name, i) => [name, row[i]]))) : csvLine(row),
    );
    if (lines.length >= LINES_AT_ONCE) flush();
  }
  flush();
}

function parseList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => name === ''))
    throw new InvalidArgumentError('Expected names with commas between.');
  return names;
}

function parseOn(text: string): OnColumn[] {
  return parseList(text).map((pair) => {
    const [near, far, ...more] = pair.split('=');
    if (far === undefined) return near;
    if (near === '' || far === '' || more.length > 0)
      throw new InvalidArgumentError('Expected columns such as email, or near_email=far_email.');
    return { near, far };
  });
}

function parseTypes(text: string): KeyType[] {
  return parseList(text).map((name) => {
    const type = KEY_TYPES.find((one) => one === name);
    if (type === undefined) throw new InvalidArgumentError(`Expected some of ${KEY_TYPES.join(', ')}.`);
    return type;
  });
}

const LINES_AT_ONCE = 1000;
/** The standard error of the bytes that --explain prints. */
const EXPLAIN_PRECISION = 0.015;

const HELP = `
The near side should be the smaller one: its keys are read into memory. A far PostgreSQL filters its own rows, and needs
no extension. --explain sends one or two slices of the filter to it, to learn how many rows match.`;
