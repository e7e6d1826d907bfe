/**
 * `bloomery grep`: prints the lines of files that contain a needle, as zgrep does, and reads only
 * the parts that the index (`bloomery index`) does not rule out. Bytes are compared, as in the C
 * locale, and every file is taken for text: the lines are those of `LC_ALL=C zgrep -a`.
 */

import { linePattern, NOTHING_REQUIRED, PatternSyntaxError } from '@bloomery/stores/text';
import { type Command, Option } from 'commander';
import { parseCount, withExamples, withJson } from '../command-options.ts';
import { FAILED, FOUND, NOT_FOUND } from '../exit-codes.ts';
import { describeError } from '../terminal/error-text.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { write } from '../terminal/standard-output.ts';
import { type GrepReport, grepFiles } from '../text/grep-files.ts';
import { LineFinder } from '../text/line-finder.ts';
import { LinePrinter } from '../text/line-printer.ts';
import { filesOf } from '../text/list-files.ts';
import { localTargets, type TargetOptions } from '../text/local-targets.ts';
import { type GlobKind, type NameGlob, NameGlobs } from '../text/name-globs.ts';
import type { Traffic } from '../text/remote/http-client.ts';
import type { TextTarget } from '../text/text-target.ts';
import { UsageError } from '../usage-error.ts';

interface GrepCommandOptions {
  readonly regexp: readonly string[];
  readonly extendedRegexp?: boolean;
  readonly basicRegexp?: boolean;
  readonly ignoreCase?: boolean;
  readonly wordRegexp?: boolean;
  readonly lineRegexp?: boolean;
  readonly invertMatch?: boolean;
  readonly count?: boolean;
  readonly filesWithMatches?: boolean;
  readonly filesWithoutMatch?: boolean;
  readonly quiet?: boolean;
  readonly messages: boolean;
  readonly lineNumber?: boolean;
  readonly withFilename?: boolean;
  readonly filename: boolean;
  readonly afterContext?: number;
  readonly beforeContext?: number;
  readonly context?: number;
  readonly ignore: boolean;
  readonly header: readonly string[];
  /** `--include`, `--exclude` and `--exclude-dir` in the order of the command line. */
  readonly globs: readonly NameGlob[];
  readonly stats?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const globs: NameGlob[] = [];
  const command = program
    .command('grep')
    .description('print lines with a needle, reading only the parts of files that may contain it')
    .helpOption('--help', 'display help for command')
    .argument('[needle]', 'the text to look for; without it, -e gives it')
    .argument(
      '[paths...]',
      'folders, files, and addresses (https://host/logs/); a folder stands for all below it',
    )
    .addOption(
      new Option('-e, --regexp <pattern>', 'a needle or pattern; several of them match any')
        .argParser((value: string, former: string[]) => [...former, value])
        .default([], 'the first argument'),
    )
    .option('-F, --fixed-strings', 'needles are texts, the default')
    .option('-E, --extended-regexp', 'needles are extended regular expressions')
    .option('-G, --basic-regexp', 'needles are basic regular expressions, as grep has them by default')
    .option('-i, --ignore-case', 'A to Z match in both cases')
    .option('-w, --word-regexp', 'only matches that are whole words')
    .option('-x, --line-regexp', 'only matches that are whole lines')
    .option('-v, --invert-match', 'the lines that do not match; all files are read whole')
    .option('-c, --count', 'print the number of lines for each file')
    .option('-l, --files-with-matches', 'print the names of files with such lines')
    .option('-L, --files-without-match', 'print the names of files without such lines')
    .option('-q, --quiet', 'print nothing; the exit code tells')
    .option('-s, --no-messages', 'say nothing about files that cannot be read, or are read whole')
    .option('-n, --line-number', 'print the numbers of lines')
    .option('-H, --with-filename', 'print the name of the file before each line')
    .option('-h, --no-filename', 'do not print it')
    .option('-A, --after-context <n>', 'print n lines after each match', parseCount(0))
    .option('-B, --before-context <n>', 'print n lines before each match', parseCount(0))
    .option('-C, --context <n>', 'print n lines on both sides', parseCount(0))
    .option('-a, --text', 'accepted for grep: every file is taken for text')
    .option('-r, --recursive', 'accepted for grep: folders are searched with all below them')
    .addOption(globOption('include', 'search only files whose names match the glob', globs))
    .addOption(globOption('exclude', 'skip files whose names match the glob', globs))
    .addOption(globOption('exclude-dir', 'skip folders whose names match the glob', globs))
    .option('--no-ignore', 'search files that .bloomeryignore names as well')
    .addOption(
      new Option(
        '--header <field>',
        'a field for requests to servers, "Name: value"; @FILE has one in each line',
      )
        .argParser((value: string, former: string[]) => [...former, value])
        .default([], 'none'),
    )
    .option('--stats', 'say on standard error what was read and what was left out')
    .addHelpText('after', HELP)
    .action((needle, paths, options) => run(needle, paths, { ...options, globs }));
  withExamples(withJson(command), [
    ['bloomery grep 4bf92f3577b34da6 /var/log/app', 'the lines with a trace id, in plain and gzip files'],
    ['bloomery grep -c 192.0.2.17 /var/log/app', 'how often an address occurs in each file'],
    ['bloomery grep 4bf92f3577b34da6 https://logs.example/app/', 'logs on a server, with their index'],
    ["bloomery grep -E 'timeout after [0-9]+ ms' logs --stats", 'a regular expression, by its literals'],
  ]);
}

async function run(
  needle: string | undefined,
  more: readonly string[],
  options: GrepCommandOptions,
): Promise<void> {
  const given = options.regexp.length > 0;
  const paths = given && needle !== undefined ? [needle, ...more] : more;
  const patterns = given ? options.regexp : needle === undefined ? [] : [needle];
  if (patterns.length === 0) throw new UsageError('a needle is missing; bloomery grep NEEDLE FOLDER');
  if (paths.length === 0) throw new UsageError('a folder or a file is missing; bloomery grep NEEDLE FOLDER');
  const { json = false, quiet = false, invertMatch: invert = false } = options;
  const pattern = readPattern(patterns, options);
  const tell = (message: string) => {
    if (options.messages) process.stderr.write(`bloomery: ${message}\n`);
  };
  const counts = { blocks: 0, candidates: 0, indexBytes: 0 };
  const required = invert ? NOTHING_REQUIRED : pattern.required;
  const found = await findTargets(paths, options, { required, counts, onError: tell });
  const { context = 0, beforeContext: before = context, afterContext: after = context } = options;
  const only = quiet
    ? 'nothing'
    : options.filesWithoutMatch
      ? 'files without'
      : options.filesWithMatches
        ? 'files'
        : options.count
          ? 'count'
          : undefined;
  const names =
    options.filename && (options.withFilename === true || found.targets.length > 1 || found.hasFolder);
  const printer = new LinePrinter(new LineFinder(pattern, invert), {
    only,
    names,
    numbers: options.lineNumber === true,
    before,
    after,
    json,
    invert,
    write: (bytes) => write(bytes),
  });
  const report = await grepFiles(found.targets, {
    printer,
    counts,
    context: only === undefined && before + after > 0,
    quiet,
    onError: tell,
  }).finally(found.close);
  if (!quiet) tellWhole(report, invert, tell);
  if (options.stats) process.stderr.write(statsText({ ...report, ...found.traffic }, json));
  const isFailed = (found.failed || report.failed) && !(quiet && report.lines > 0);
  process.exitCode = isFailed ? FAILED : report.lines > 0 ? FOUND : NOT_FOUND;
}

function readPattern(patterns: readonly string[], options: GrepCommandOptions) {
  const syntax = options.extendedRegexp ? 'extended' : options.basicRegexp ? 'basic' : 'fixed';
  const { ignoreCase = false, wordRegexp: words = false, lineRegexp: wholeLines = false } = options;
  try {
    // A newline in a pattern separates two, as in grep.
    const each = patterns.flatMap((text) => text.split('\n')).map((text) => Buffer.from(text));
    return linePattern(each, { syntax, ignoreCase, words, wholeLines });
  } catch (error) {
    if (!(error instanceof PatternSyntaxError)) throw error;
    throw new UsageError(`${error.message}; without -E and -G the needle is a text`, { cause: error });
  }
}

interface FoundTargets {
  readonly targets: readonly TextTarget[];
  readonly failed: boolean;
  readonly hasFolder: boolean;
  /** Requests to servers; empty without an address. */
  readonly traffic: Partial<Traffic>;
  close(): Promise<void>;
}

/** The files of all paths and addresses, in the order of the command line. */
async function findTargets(
  paths: readonly string[],
  { globs: given, ignore, header }: GrepCommandOptions,
  options: TargetOptions,
): Promise<FoundTargets> {
  const globs = new NameGlobs(given);
  const local = localTargets(options);
  const traffic = { requests: 0, downloaded: 0 };
  const targets: TextTarget[] = [];
  const closes: (() => Promise<void>)[] = [];
  let failed = false;
  let hasFolder = false;
  for (const path of paths) {
    try {
      if (isAddress(path)) {
        // Loaded when a server is asked, because its client takes some time to load.
        const { headersOf, remoteTargets } = await import('../text/remote/remote-targets.ts');
        const isWanted = (name: string) => globs.takesPath(name);
        const remote = await remoteTargets(path, {
          ...options,
          headers: headersOf(header),
          traffic,
          isWanted,
        });
        closes.push(remote.close);
        hasFolder ||= remote.isFolder;
        targets.push(...remote.targets);
        continue;
      }
      const { files, isFolder } = filesOf(path, { globs, ignore });
      hasFolder ||= isFolder;
      targets.push(...files.map(local));
    } catch (error) {
      if (error instanceof UsageError) throw error;
      const text = describeError(error);
      options.onError(isAddress(path) ? text : `${path}: ${text.replace(`${path}: `, '')}`);
      failed = true;
    }
  }
  const close = async () => {
    for (const one of closes) await one();
  };
  return { targets, failed, hasFolder, traffic: paths.some(isAddress) ? traffic : {}, close };
}

function isAddress(path: string): boolean {
  return /^https?:\/\//i.test(path);
}

function globOption(kind: GlobKind, description: string, globs: NameGlob[]): Option {
  return new Option(`--${kind} <glob>`, description).argParser((glob: string) => {
    globs.push({ kind, glob });
    return glob;
  });
}

/** Says which files were read whole, and why: the answer is right, but it took longer. */
function tellWhole({ whole }: GrepReport, invert: boolean, tell: (message: string) => void): void {
  const parts: string[] = [];
  if (whole['not indexed'] > 0) parts.push(`${formatCount(whole['not indexed'])} not indexed`);
  if (whole.changed > 0) parts.push(`${formatCount(whole.changed)} changed since they were indexed`);
  if (whole['damaged index'] > 0) parts.push(`${formatCount(whole['damaged index'])} with a damaged index`);
  if (whole['every block'] > 0)
    parts.push(
      `${formatCount(whole['every block'])} because ${invert ? '-v needs every line' : 'the index cannot help with this needle (it needs 5 bytes in a row that are certain)'}`,
    );
  if (whole['unknown age'] > 0)
    parts.push(`${formatCount(whole['unknown age'])} whose server does not say when they changed`);
  if (whole['no ranges'] > 0)
    parts.push(`${formatCount(whole['no ranges'])} whose server does not answer range requests`);
  if (parts.length > 0) tell(`files that were read whole: ${parts.join(', ')}`);
}

function statsText(report: GrepReport & Partial<Traffic>, json: boolean): string {
  if (json) return `${JSON.stringify(report)}\n`;
  const { files, filesWithLines, lines, blocks, candidates, falseBlocks, indexBytes, textBytes } = report;
  const whole = Object.values(report.whole).reduce((sum, count) => sum + count, 0);
  const skipped = blocks - candidates;
  const share = blocks === 0 ? 0 : (100 * skipped) / blocks;
  return [
    `lines         ${formatCount(lines)} in ${formatCount(filesWithLines)} of ${formatCount(files)} files`,
    `blocks        ${formatCount(blocks)}, ${formatCount(skipped)} left out (${share.toFixed(2)} %)`,
    `false blocks  ${formatCount(falseBlocks)}`,
    `text read     ${formatBytes(textBytes)}`,
    `index read    ${formatBytes(indexBytes)}`,
    `read whole    ${formatCount(whole)} files`,
    ...(report.requests === undefined
      ? []
      : [`downloaded    ${formatBytes(report.downloaded ?? 0)} in ${formatCount(report.requests)} requests`]),
    '',
  ].join('\n');
}

const HELP = `
The lines are those of LC_ALL=C zgrep -a with the same flags; without -E or -G, those of zgrep -F. zstd files are unpacked
as by zstdgrep. Files that are not indexed, or changed since, are read whole. An address such as https://host/logs/ is a
folder that was indexed and then uploaded, .bloomery last; https://user:password@host/ gives credentials.
Exit codes are those of grep: 0 found, 1 not found, 2 error.`;
