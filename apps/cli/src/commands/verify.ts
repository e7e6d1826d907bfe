/**
 * `bloomery verify`: runs an experiment on a filter file. All keys that were added must be found.
 * Keys that were not added may be "maybe" only as often as the filter says; otherwise its promise
 * is broken and the exit code is 1. filter-verdict.ts explains what is compared with what.
 *
 * With `--signed-by`, the promise is the publisher's: the file is the one that it signed. The
 * experiment is then made only if one of its options is given.
 *
 * A million random keys take 0.5 s of processor time for filters of the library, 1 to 3 s for those
 * of other systems, which are asked key by key.
 */

import { formatPairs } from '@bloomery/papers/drawing';
import type { GuavaFunnel } from 'bloomery/formats/guava';
import { type Command, Option } from 'commander';
import { parseCount, withExamples, withFormat, withJson, withKeyFile } from '../command-options.ts';
import { funnelOfBytes } from '../conversion/guava-keys.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { type FilterFile, openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { eachKey } from '../keys/each-key.ts';
import { type KeyOptions, readKeys, withKeyOptions } from '../keys/key-source.ts';
import {
  checkPublication,
  type PublicationOptions,
  type PublicationReport,
  publicationRows,
} from '../signing/check-publication.ts';
import { formatCount, formatRate } from '../terminal/format-values.ts';
import { type Progress, startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';
import { type FilterVerdict, isKept, judge, type Subject, subjectOf } from '../verifying/filter-verdict.ts';
import { randomKeys } from '../verifying/random-keys.ts';

interface VerifyOptions extends KeyOptions, Partial<PublicationOptions> {
  readonly keys?: readonly string[];
  readonly absent?: readonly string[];
  readonly trials?: number;
  readonly seed?: number;
  readonly keyFile?: string;
  readonly format?: string;
  readonly funnel?: GuavaFunnel;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('verify')
    .description(
      'measure whether a filter keeps its promise, or see whether a file is signed; exit code 1 if not',
    )
    .argument(
      '<filter>',
      'a filter file of bloomery or of another system; - is standard input. With --signed-by also a delta, or a folder with an index',
    )
    .option('--keys <file...>', 'keys that were added: all of them must be found')
    .option('--absent <file...>', 'distinct keys that were not added, instead of random ones')
    .option('--trials <count>', 'how many random keys to ask for (default: 1M)', parseCount())
    .option('--seed <number>', 'the random keys of another seed (default: 1)', parseCount(0))
    .addOption(
      new Option('--funnel <name>', 'Guava: how keys became bytes').choices([
        'utf8',
        'utf16',
        'int',
        'long',
        'bytes',
      ]),
    )
    .option(
      '--signed-by <key>',
      'see whether the file is signed with this public key; with one of them, if it is given several times',
      (key: string, former: string[] = []) => [...former, key],
    )
    .option('--signature <file>', 'the signature (default: FILE.sig)')
    .option('--name <text>', 'the name that the signature must have (default: none)')
    .option('--at-least-epoch <number>', 'refuse signatures with a lower epoch', parseCount(0))
    .option('--state <file>', 'remember the last accepted signature here, and refuse older ones')
    .option('--base <filter>', 'the filter that a signed delta starts from')
    .action(run);
  withExamples(withJson(withFormat(withKeyFile(withKeyOptions(command)))), [
    [
      'bloomery verify words.blm --keys /usr/share/dict/words',
      'every word is found, and non-member keys only at the promised rate',
    ],
    ['bloomery verify seen.bloom --absent other-urls.txt', 'non-member keys that look like the keys'],
    ['bloomery verify words.blm --trials 100M && cp words.blm /srv/', 'only what holds is published'],
    [
      'bloomery verify words.blm --signed-by publisher.pub --name words --state words.seen',
      'is it the file that the publisher signed, and not an older one',
    ],
    [
      'bloomery verify today.delta --base yesterday.blm --signed-by publisher.pub --signature today.blm.sig',
      'does the delta lead to the signed filter',
    ],
  ]);
}

/** The JSON output. */
interface Report extends FilterVerdict {
  readonly path: string;
  readonly publication?: PublicationReport | undefined;
  readonly keys?: KeyReport | undefined;
  readonly strangers: StrangerReport;
  readonly kept: boolean;
}

interface KeyReport {
  readonly asked: number;
  readonly missed: number;
  /** The first ten. */
  readonly examples: readonly string[];
}

interface StrangerReport {
  readonly source: 'random' | 'files';
  readonly seed?: number | undefined;
  readonly trials: number;
  readonly wrong: number;
  readonly measuredRate: number;
}

async function run(path: string, options: VerifyOptions): Promise<void> {
  const { absent, trials, seed } = options;
  if (absent !== undefined && (trials !== undefined || seed !== undefined)) {
    throw new UsageError(
      '--absent and --trials or --seed contradict: keys from files are all asked for, once',
    );
  }
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  const inputs = [path, ...(options.keys ?? []), ...(absent ?? []), options.base];
  if (inputs.filter((input) => input === '-').length > 1) throw new UsageError('- can be given once only');
  const publication = await checkSigned(path, options);
  if (publication !== undefined && (!publication.signed || !asksForExperiment(options))) {
    return reportPublication(path, publication, options);
  }
  const funnel = funnelOfBytes(options.funnel ?? 'utf8');
  const file = await openFilter(path, { key, format: options.format, funnel });
  const subject = subjectOf(file);
  const keys = options.keys === undefined ? undefined : await askKeys(subject, options.keys, options);
  const strangers =
    absent === undefined ? askRandom(file, subject, options) : await askAbsent(subject, absent, options);
  const verdict = judge(subject, strangers.trials, strangers.wrong);
  const kept = (keys === undefined || keys.missed === 0) && isKept(subject, verdict);
  const report: Report = { path, publication, keys, strangers, ...verdict, kept };
  if (options.json) writeJson(report);
  else writeReport(report, subject, options);
  if (strangers.measuredRate > 0.5 && (subject.estimated?.rate ?? 0) > 0.5) {
    warn(`${path} says "maybe" to ${formatRate(strangers.measuredRate)} of all keys; build a larger one`);
  }
  if (!kept) process.exitCode = NOT_FOUND;
}

/** The check of the signature, or undefined if there is none to make. */
async function checkSigned(path: string, options: VerifyOptions): Promise<PublicationReport | undefined> {
  const { signedBy, signature, name, atLeastEpoch, state, base } = options;
  if (signedBy !== undefined) {
    if (path === '-' && signature === undefined) {
      throw new UsageError('standard input has no signature of its own; --signature names the file');
    }
    if (path === '-' && asksForExperiment(options)) {
      throw new UsageError('standard input can be read once: verify its signature, or make the experiment');
    }
    return checkPublication(path, { ...options, signedBy });
  }
  const given = { signature, name, atLeastEpoch, state, base };
  if (Object.values(given).some((value) => value !== undefined)) {
    throw new UsageError(
      '--signature, --name, --at-least-epoch, --state and --base belong to --signed-by; name the public key',
    );
  }
  return undefined;
}

function asksForExperiment({ keys, absent, trials, seed }: VerifyOptions): boolean {
  return [keys, absent, trials, seed].some((option) => option !== undefined);
}

function reportPublication(path: string, report: PublicationReport, options: VerifyOptions): void {
  if (!report.signed) process.exitCode = NOT_FOUND;
  if (options.json) {
    writeJson({ path, ...report });
    return;
  }
  const paint = colors(1);
  writeRows(signatureRows(report, options));
  writeLine(report.signed ? `${path}: ${paint.green('signed')}` : `${path}: ${paint.red('not signed')}`);
}

function signatureRows(report: PublicationReport | undefined, { signedBy = [] }: VerifyOptions): Row[] {
  if (report === undefined) return [];
  return publicationRows(report, signedBy).map(([name, good, text]) => [
    name,
    good === undefined ? '' : mark(good),
    text,
  ]);
}

async function askKeys(
  subject: Subject,
  paths: readonly string[],
  options: VerifyOptions,
): Promise<KeyReport> {
  let asked = 0;
  let missed = 0;
  const examples: string[] = [];
  await eachChunk(paths, options, 'keys', (chunk) => {
    const answers = subject.find(chunk.keys);
    asked += answers.length;
    if (answers.indexOf(0) < 0) return;
    let i = 0;
    for (const key of eachKey(chunk.keys)) {
      if (answers[i++] !== 0) continue;
      missed++;
      if (examples.length < EXAMPLES) examples.push(Buffer.from(key).toString());
    }
  });
  if (asked === 0) throw new UsageError(`${paths.join(', ')}: no keys to ask for`);
  return { asked, missed, examples };
}

async function askAbsent(
  subject: Subject,
  paths: readonly string[],
  options: VerifyOptions,
): Promise<StrangerReport> {
  let trials = 0;
  let wrong = 0;
  await eachChunk(paths, options, 'strangers', ({ keys, count }) => {
    trials += count;
    wrong += subject.countWrong(keys);
  });
  if (trials === 0) throw new UsageError(`${paths.join(', ')}: no keys to ask for`);
  return { source: 'files', trials, wrong, measuredRate: wrong / trials };
}

function askRandom(
  file: FilterFile,
  subject: Subject,
  { trials = 1e6, seed = 1, json }: VerifyOptions,
): StrangerReport {
  const prefix = file.format === 'squid' ? 'http://stranger.invalid/' : '';
  let wrong = 0;
  withProgress({ what: 'asking', total: trials, unit: 'keys', enabled: !json }, (progress) => {
    for (const chunk of randomKeys(trials, seed, prefix)) {
      wrong += subject.countWrong(chunk);
      progress.advance(chunk.count);
    }
  });
  return { source: 'random', seed, trials, wrong, measuredRate: wrong / trials };
}

async function eachChunk(
  paths: readonly string[],
  options: VerifyOptions,
  what: string,
  visit: (chunk: Awaited<ReturnType<ReturnType<typeof readKeys>['next']>>['value']) => void,
): Promise<void> {
  const progress = startProgress({ what: `asking for ${what}`, unit: 'bytes', enabled: !options.json });
  try {
    for await (const chunk of readKeys(paths, options, (bytes) => progress.advance(bytes))) visit(chunk);
  } finally {
    progress.stop();
  }
}

function withProgress(
  options: Parameters<typeof startProgress>[0],
  work: (progress: Progress) => void,
): void {
  const progress = startProgress(options);
  try {
    work(progress);
  } finally {
    progress.stop();
  }
}

function writeReport(
  { path, publication, keys, strangers, estimated, promised, kept }: Report,
  subject: Subject,
  options: VerifyOptions,
): void {
  const paint = colors(1);
  const rows: Row[] = signatureRows(publication, options);
  if (keys !== undefined) {
    rows.push([
      'keys',
      mark(keys.missed === 0),
      `${formatCount(keys.asked - keys.missed)} of ${formatCount(keys.asked)} found`,
    ]);
    for (const example of keys.examples) rows.push(['', '', `missing: ${shown(example)}`]);
    if (keys.missed > keys.examples.length)
      rows.push(['', '', `and ${formatCount(keys.missed - keys.examples.length)} more`]);
  }
  const { trials, wrong, measuredRate, source, seed } = strangers;
  const origin = source === 'random' ? `random keys, seed ${seed}` : 'keys from files';
  const answer = subject.estimated === undefined ? 'counted too high by more than ε · total' : '"maybe"';
  rows.push([
    'non-members',
    '',
    `${formatCount(wrong)} of ${formatCount(trials)} ${answer}: ${formatRate(measuredRate)} (${origin})`,
  ]);
  if (estimated !== undefined) {
    const interval = subject.estimated?.atMost
      ? `at most ${formatCount(estimated.high)}`
      : `${formatCount(estimated.low)} to ${formatCount(estimated.high)}`;
    const sign = subject.estimated?.decides ? mark(estimated.kept) : '';
    const remark = sign === '' && !estimated.kept ? '; double hashing in a small filter does that' : '';
    rows.push(['by its bits', sign, `${formatRate(estimated.rate)}: ${interval} (5 sigma)${remark}`]);
  }
  if (promised !== undefined) {
    const size =
      subject.promised?.capacity === undefined ? '' : ` with ${formatCount(subject.promised.capacity)} keys`;
    rows.push([
      'promised',
      mark(promised.kept),
      `${formatRate(promised.rate)}${size}: at most ${formatCount(promised.most)} (5 sigma)`,
    ]);
  }
  writeRows(rows);
  writeLine(
    kept
      ? `${path}: ${paint.green('kept')}`
      : `${path}: ${paint.red('broken')}${reason({ keys, estimated, promised }, options)}`,
  );
}

/** Name, mark and text of a line. */
type Row = [name: string, mark: string, text: string];

function writeRows(rows: readonly Row[]): void {
  writeLine(formatPairs(rows.map(([name, sign, text]) => [name, `${sign === '' ? ' ' : sign} ${text}`])));
}

function mark(good: boolean): string {
  const paint = colors(1);
  return good ? paint.green('✓') : paint.red('✗');
}

function reason(
  { keys, estimated, promised }: Pick<Report, 'keys' | 'estimated' | 'promised'>,
  options: VerifyOptions,
): string {
  if (keys !== undefined && keys.missed > 0) {
    return ': a key that was added is not found; was it added as the same bytes (--crlf, --column)?';
  }
  if (promised?.kept === false && estimated?.kept !== false)
    return ': it holds more keys than it was made for';
  if (options.absent !== undefined)
    return ': non-member keys are not answered as its bits say, or some of the absent keys were added, or came several times';
  return ': non-member keys are not answered as its bits say';
}

/** Keys may be anything; on a terminal they are shown without control characters. */
function shown(key: string): string {
  return JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key);
}

const EXAMPLES = 10;
