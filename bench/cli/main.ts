/**
 * `npm run bench:cli`: the command beside DCSO's `bloom` (Debian: golang-github-dcso-bloom-cli),
 * `grep -Fx -f` and `sort | comm`, on generated URL lines: build a filter of all lines of one file,
 * then find which lines of another are in it (one fifth are). Whole commands are timed, start and
 * end included; several rounds, each runs all contenders in turn; medians, and the most memory that
 * any process of a command had. Then the same command on inputs of 1 M to 100 M lines, and the
 * straight line through the times.
 */

import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { needPrograms } from '../shared/need-programs.ts';

const HELP = `npm run bench:cli -- [options]

  --lines N          lines of the comparison (10000000)
  --rounds N         rounds (5)
  --scaling LIST     sizes of the second part (1000000,3000000,10000000,30000000,100000000); none: leave it out
  --quick            1 M lines, 3 rounds, scaling to 1 M
  --folder DIR       where the inputs go (a temporary folder; 100 M lines take 5 GB, removed afterwards)
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    lines: { type: 'string' },
    rounds: { type: 'string' },
    scaling: { type: 'string' },
    quick: { type: 'boolean', default: false },
    folder: { type: 'string' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const LINES = Number(options.lines ?? (options.quick ? 1e6 : 1e7));
const ROUNDS = Number(options.rounds ?? (options.quick ? 3 : 5));
const SCALING = (options.scaling ?? (options.quick ? '100000,300000,1000000' : '1e6,3e6,1e7,3e7,1e8'))
  .split(',')
  .map(Number)
  .filter((size) => size > 0);
const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'bloomery-bench-'));

interface Contender {
  readonly name: string;
  /** A shell command in the folder. */
  readonly command: string;
  /** Rounds for a program that is too slow or too large to run on every occasion. */
  readonly rounds?: number;
}

interface Measured {
  readonly seconds: number;
  readonly kilobytes: number;
}

const BLOOMERY = `"${process.execPath}" "${COMMAND}"`;
const BUILDERS: readonly Contender[] = [
  { name: 'bloomery build', command: `${BLOOMERY} build in.txt -o in.blm --force` },
  {
    name: 'bloomery build -s bloom',
    command: `${BLOOMERY} build in.txt -s bloom -o classic.blm --force`,
  },
  { name: 'bloomery build, from a pipe', command: `${BLOOMERY} build -o pipe.blm --force < in.txt` },
  {
    name: 'bloom create, insert (DCSO)',
    command: `rm -f in.bloom && bloom create -p 0.01 -n ${LINES} in.bloom && bloom insert in.bloom < in.txt`,
  },
];
const CHECKERS: readonly Contender[] = [
  { name: 'bloomery check', command: `${BLOOMERY} check in.blm mixed.txt > found.txt` },
  { name: 'bloomery check, of -s bloom', command: `${BLOOMERY} check classic.blm mixed.txt > found2.txt` },
  { name: 'bloom check (DCSO)', command: 'bloom check in.bloom < mixed.txt > found3.txt' },
  {
    name: 'LC_ALL=C sort | comm (exact)',
    command:
      'LC_ALL=C sort -S 1G in.txt > a.sorted && LC_ALL=C sort -S 1G mixed.txt > b.sorted && LC_ALL=C comm -12 a.sorted b.sorted > found4.txt',
    rounds: 1,
  },
  {
    name: 'grep -Fx -f (exact)',
    // 2 kB of memory a pattern: beyond some million lines it ends here, and not the machine.
    command: 'ulimit -v 12000000; LC_ALL=C timeout 300 grep -Fx -f in.txt mixed.txt > found5.txt',
    rounds: 1,
  },
];

function main(): void {
  needPrograms(['bloom', 'sort', 'comm', 'grep', '/usr/bin/time'], 'golang-github-dcso-bloom-cli time');
  const lines = [
    '# The command beside others',
    '',
    `Made by \`npm run bench:cli${options.quick ? ' -- --quick' : ''}\`: ${LINES.toLocaleString('en')} generated URLs, ${ROUNDS} rounds, medians of whole commands.`,
    'Memory is the most that one process of the command had. One fifth of the lines that are checked are in.',
    '',
  ];
  generate('in.txt', LINES, 1);
  mix('mixed.txt', LINES);
  lines.push(`Input: ${megabytes(statSync(join(folder, 'in.txt')).size)} MB.`, '');
  const built = measureAll(BUILDERS);
  const filter = statSync(join(folder, 'in.blm')).size;
  lines.push(...table('build at 1 %', built, 'bloom create, insert (DCSO)'));
  const checked = measureAll(CHECKERS);
  lines.push(...table('check', checked, 'bloom check (DCSO)'));
  lines.push(...verdicts(built, checked, filter));
  if (SCALING.length > 0) lines.push(...scaling());
  const text = lines.join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
}

function measureAll(contenders: readonly Contender[]): Map<string, Measured> {
  const samples = new Map<string, Measured[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, command, rounds = ROUNDS } of contenders) {
      if (round >= rounds) continue;
      process.stderr.write(`round ${round + 1}: ${name}\n`);
      const sample = samples.get(name) ?? [];
      samples.set(name, sample);
      const measured = run(command);
      if (measured !== undefined) sample.push(measured);
    }
  }
  return new Map(
    [...samples].map(([name, sample]) => [
      name,
      {
        seconds: median(sample.map(({ seconds }) => seconds)),
        kilobytes: Math.max(0, ...sample.map(({ kilobytes }) => kilobytes)),
      },
    ]),
  );
}

/** Undefined if the command failed: out of memory, or out of time. */
function run(command: string): Measured | undefined {
  const start = process.hrtime.bigint();
  const { status, stderr } = spawnSync('/usr/bin/time', ['-f', 'peak %M', 'bash', '-c', command], {
    cwd: folder,
  });
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const peak = /peak (\d+)/.exec(stderr.toString());
  if (status !== 0 || peak === null) {
    process.stderr.write(`${command}: exit ${status}: ${stderr}\n`);
    return undefined;
  }
  return { seconds, kilobytes: Number(peak[1]) };
}

function table(title: string, measured: Map<string, Measured>, base: string): string[] {
  const reference = measured.get(base)!.seconds;
  const rows = [...measured].map(([name, { seconds, kilobytes }]) => {
    const cell = name.replaceAll('|', '\\|');
    return Number.isNaN(seconds)
      ? `| ${cell} | failed: out of 12 GB of memory, or of 5 minutes | | | |`
      : `| ${cell} | ${seconds.toFixed(2)} | ${(LINES / seconds / 1e6).toFixed(2)} | ${(reference / seconds).toFixed(1)} | ${megabytes(1024 * kilobytes)} |`;
  });
  return [
    `| ${title} | seconds | million lines a second | times ${base} | MB |`,
    '|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

function verdicts(built: Map<string, Measured>, checked: Map<string, Measured>, filter: number): string[] {
  const building = built.get('bloom create, insert (DCSO)')!.seconds / built.get('bloomery build')!.seconds;
  const checking = checked.get('bloom check (DCSO)')!.seconds / checked.get('bloomery check')!.seconds;
  const allowed = filter + 200e6;
  const most =
    1024 * Math.max(built.get('bloomery build')!.kilobytes, checked.get('bloomery check')!.kilobytes);
  const say = (met: boolean) => (met ? 'yes' : 'no');
  return [
    '| asked | measured | met |',
    '|---|---|---|',
    `| build at least 5 times as fast as DCSO | ${building.toFixed(1)} | ${say(building >= 5)} |`,
    `| check at least 5 times as fast as DCSO | ${checking.toFixed(1)} | ${say(checking >= 5)} |`,
    `| no more memory than the filter and 200 MB (${megabytes(allowed)} MB) | ${megabytes(most)} MB | ${say(most <= allowed)} |`,
    '',
  ];
}

/**
 * Whether time goes with the input: the straight line through the times, and how far they are from
 * it.
 */
function scaling(): string[] {
  const rows: string[] = [];
  const points: { lines: number; build: number; check: number; megabytes: number }[] = [];
  for (const lines of SCALING) {
    process.stderr.write(`scaling: ${lines} lines\n`);
    generate('scale.txt', lines, 3);
    const rounds = lines >= 3e7 ? 1 : 3;
    const builds: Measured[] = [];
    const checks: Measured[] = [];
    for (let round = 0; round < rounds; round++) {
      builds.push(run(`${BLOOMERY} build scale.txt -o scale.blm --force`)!);
      checks.push(run(`${BLOOMERY} check scale.blm scale.txt --count`)!);
    }
    points.push({
      lines,
      build: median(builds.map(({ seconds }) => seconds)),
      check: median(checks.map(({ seconds }) => seconds)),
      megabytes: Number(
        megabytes(1024 * Math.max(...[...builds, ...checks].map(({ kilobytes }) => kilobytes))),
      ),
    });
    rmSync(join(folder, 'scale.txt'));
  }
  const fits = (['build', 'check'] as const).map((what) => fit(points.map((p) => [p.lines, p[what]])));
  for (const { lines, build, check, megabytes: mb } of points) {
    const [a, b] = fits.map(({ slope, offset }) => slope * lines + offset);
    rows.push(
      `| ${lines.toLocaleString('en')} | ${build.toFixed(2)} | ${a.toFixed(2)} | ${check.toFixed(2)} | ${b.toFixed(2)} | ${mb} |`,
    );
  }
  const [build, check] = fits;
  return [
    '## Scaling',
    '',
    '| lines | build, s | fitted | check --count, s | fitted | MB |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    `Straight lines (least squares of relative errors): build ${(1e9 * build.slope).toFixed(0)} ns a line and ${build.offset.toFixed(2)} s, ` +
      `R² ${build.r2.toFixed(4)}; check ${(1e9 * check.slope).toFixed(0)} ns a line and ${check.offset.toFixed(2)} s, R² ${check.r2.toFixed(4)}.`,
  ];
}

/** The line through points, weighted so that each counts by its relative error. */
function fit(points: readonly (readonly number[])[]): { slope: number; offset: number; r2: number } {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (const [x, y] of points) {
    const weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  const slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const offset = (wy - slope * wx) / w;
  const mean = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const left = points.reduce((sum, [x, y]) => sum + (y - slope * x - offset) ** 2, 0);
  const all = points.reduce((sum, [, y]) => sum + (y - mean) ** 2, 0);
  return { slope, offset, r2: 1 - left / all };
}

/** URLs of about 52 bytes, all different; the same for the same salt. */
function generate(name: string, lines: number, salt: number): void {
  const random = xorshift(salt);
  const descriptor = openSync(join(folder, name), 'w');
  for (let i = 0; i < lines; ) {
    const part: string[] = [];
    for (const end = Math.min(lines, i + 20_000); i < end; i++) part.push(url(random, salt, i));
    writeSync(descriptor, part.join(''));
  }
  closeSync(descriptor);
}

/** One fifth of the lines of in.txt, scattered among four fifths of others. */
function mix(name: string, lines: number): void {
  const random = xorshift(7);
  const known = xorshift(1);
  const descriptor = openSync(join(folder, name), 'w');
  for (let i = 0; i < lines; ) {
    const part: string[] = [];
    for (const end = Math.min(lines, i + 20_000); i < end; i++) {
      const own = url(known, 1, i);
      part.push(i % 5 === 0 ? own : url(random, 2, i));
    }
    writeSync(descriptor, part.join(''));
  }
  closeSync(descriptor);
}

function url(random: () => number, salt: number, i: number): string {
  const host = HOSTS[random() % HOSTS.length];
  return `https://${host}/${(random() % 4096).toString(36)}/${random().toString(36)}-${salt}x${i}.html\n`;
}

const HOSTS = [
  'www.example.org',
  'cdn.example.net',
  'static.example.com',
  'api.service.example',
  'shop.example',
];

function xorshift(seed: number): () => number {
  let state = (seed * 0x9e3779b9) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

if (options.help) console.log(HELP);
else {
  if (!existsSync(folder)) throw new Error(`no folder ${folder}`);
  try {
    main();
  } finally {
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}
