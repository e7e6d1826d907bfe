/**
 * `npm --prefix bench run bench:text-search`: one search of gzip logs by several programs, in one
 * run: `bloomery grep` with an index, `rg -z`, `zgrep`, and `zstdgrep` on the same text in zstd. A
 * search takes one thread in all of them but rg, so processor time is the fair figure, and wall
 * time is beside it. Figures are medians of rounds. An empty script of Node shows how much of a
 * search is the start of Node, and rg on the plain files how fast it is where nothing is packed.
 *
 * `--full` takes two gigabytes of text.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { needPrograms } from '../shared/need-programs.ts';
import { asMarkdown, asText, type Table } from '../shared/report.ts';
import { median } from '../shared/statistics.ts';
import { type Corpus, debianCorpus, madeCorpora } from './corpora.ts';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string' },
    full: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    command: {
      type: 'string',
      default: fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url)),
    },
    markdown: { type: 'string' },
    json: { type: 'string' },
  },
});
const BYTES = Number(options.megabytes ?? (options.full ? 2000 : 200)) * 1e6;
const ROUNDS = Number(options.rounds);
const BLOOMERY = `node ${options.command}`;

interface Times {
  readonly wall: number;
  readonly cpu: number;
  readonly output: string;
}

/** Runs a command line; bash measures its processor time with that of its children. */
function timed(line: string): Times {
  const { stdout, stderr } = spawnSync('bash', ['-c', `TIMEFORMAT="%R %U %S"; time { ${line}; }`], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    env: { ...process.env, LC_ALL: 'C' },
  });
  const [wall, user, system] = stderr.trim().split('\n').at(-1)!.split(' ').map(Number);
  return { wall, cpu: user + system, output: stdout };
}

const scratch = mkdtempSync(join(tmpdir(), 'bloomery-text-'));
try {
  main();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

interface Folders {
  readonly plain: string;
  readonly gz: string;
  readonly zst: string;
}

interface Corpora {
  readonly raw: number;
  readonly packed: number;
  readonly needles: Readonly<Record<string, string>>;
}

/** Writes the corpora in three forms, and draws needles from the middle of them. */
function writeCorpora({ plain, gz, zst }: Folders): Corpora {
  for (const folder of [plain, gz, zst]) mkdirSync(folder);
  let raw = 0;
  let packed = 0;
  const needles: Record<string, string> = { absent: 'OutOfMemoryError' };
  const write = ({ name, text }: Corpus) => {
    const file = name.replaceAll(' ', '-');
    raw += text.length;
    const middle = text.toString('latin1', text.length / 2, text.length / 2 + 4000);
    needles['trace id'] ??= /"trace_id":"([0-9a-f]{32})"/.exec(middle)?.[1] as string;
    if (name === 'syslog') needles.address = /\d+\.\d+\.\d+\.\d+/.exec(middle)![0];
    writeFileSync(join(plain, `${file}.log`), text);
    writeFileSync(join(gz, `${file}.log.gz`), gzipSync(text, { level: 1 }));
    packed += statSync(join(gz, `${file}.log.gz`)).size;
    spawnSync('zstd', ['-q', join(plain, `${file}.log`), '-o', join(zst, `${file}.log.zst`)]);
  };
  // A fifth of the text is Debian's, if this machine has as much.
  const debian = debianCorpus(BYTES / 5);
  for (const corpus of madeCorpora(Math.round((BYTES - debian.text.length) / 4))) write(corpus);
  write(debian);
  return { raw, packed, needles };
}

interface Measured {
  readonly needle: string;
  readonly program: string;
  readonly cpu: number;
  readonly wall: number;
  readonly isSame: boolean;
}

/** All programs for one needle, in turn. */
function search(needle: string, text: string, { plain, gz, zst }: Folders): Measured[] {
  const rg = 'rg --no-config -I -N -F --no-ignore';
  const programs: Record<string, string> = {
    'bloomery grep': `${BLOOMERY} grep -h ${text} ${gz}`,
    'rg -z': `${rg} -z ${text} ${gz}`,
    zgrep: `zgrep -h -F ${text} ${gz}/*`,
    zstdgrep: `zstdgrep -h -F ${text} ${zst}/*`,
    'bloomery grep, plain': `${BLOOMERY} grep -h ${text} ${plain}`,
    'rg, plain': `${rg} ${text} ${plain}`,
  };
  const all = Object.entries(programs).map(([program, line]) => ({ program, line, times: [] as Times[] }));
  for (let round = 0; round < ROUNDS; round++) for (const one of all) one.times.push(timed(one.line));
  const sorted = (output: string) => output.split('\n').sort().join('\n');
  const lines = sorted(all[0].times[0].output);
  return all.map(({ program, times }) => ({
    needle,
    program,
    cpu: median(times.map((time) => time.cpu)),
    wall: median(times.map((time) => time.wall)),
    isSame: times.every(({ output }) => sorted(output) === lines),
  }));
}

function main(): void {
  needPrograms(['rg', 'zgrep', 'zstdgrep', 'zstd'], 'ripgrep zstd');
  const folders = { plain: join(scratch, 'plain'), gz: join(scratch, 'gz'), zst: join(scratch, 'zst') };
  const { raw, packed, needles } = writeCorpora(folders);
  const index = (args: string) => timed(`${BLOOMERY} index --json ${args}`);
  const repacked = index(`--repack ${folders.gz}`);
  const unpacked = index(`--rebuild --threads 1 ${folders.gz}`);
  const scanned = index(`--rebuild --threads 1 ${folders.plain}`);
  const threaded = index(`--rebuild ${folders.plain}`);
  const precise = JSON.parse(index(`--rebuild --precise ${folders.plain}`).output);
  const report = JSON.parse(index(`--rebuild ${folders.plain}`).output);
  const measured = Object.entries(needles).flatMap(([what, needle]) => search(what, needle, folders));
  const starts = Array.from({ length: 3 * ROUNDS }, () => timed('node -e 0'));
  const start = median(starts.map(({ cpu }) => cpu));
  const rate = ({ cpu }: Times) => (raw / 1e6 / cpu).toFixed(0);
  const percent = ({ indexBytes }: { indexBytes: number }) => ((100 * indexBytes) / raw).toFixed(2);
  const table: Table = {
    title: `${(raw / 1e6).toFixed(0)} MB of text, ${(packed / 1e6).toFixed(0)} MB of gzip -1`,
    head: ['needle', 'program', 'CPU s', 'wall s', 'CPU: rg -z / it', 'wall: rg -z / it', 'lines'],
    numbersFrom: 2,
    rows: measured.map(({ needle, program, cpu, wall, isSame }) => {
      const rg = measured.find((one) => one.needle === needle && one.program === 'rg -z')!;
      const ratios = [rg.cpu / cpu, rg.wall / wall].map((value) => value.toFixed(1));
      return [needle, program, cpu.toFixed(3), wall.toFixed(3), ...ratios, isSame ? 'the same' : 'OTHERS'];
    }),
    notes: [
      `An empty script of Node takes ${start.toFixed(3)} s of CPU.`,
      `Index of the plain text: ${scanned.cpu.toFixed(1)} s of CPU on one thread, ${rate(scanned)} MB/s; ${threaded.wall.toFixed(1)} s of wall time on all cores, ${scanned.wall.toFixed(1)} s on one.`,
      `Index of the gzip files, with unpacking: ${unpacked.cpu.toFixed(1)} s of CPU, ${rate(unpacked)} MB of text per second. With --repack: ${repacked.cpu.toFixed(1)} s.`,
      `Size of the index: ${percent(report)} % of the text, ${report.blocks} blocks; with --precise ${percent(precise)} %.`,
      `Load ${loadavg()
        .map((value) => value.toFixed(1))
        .join(' ')}.`,
    ],
  };
  console.log(asText(table));
  if (options.markdown !== undefined)
    writeFileSync(
      options.markdown,
      `# Searching gzip logs\n\nWritten by \`npm --prefix bench run bench:text-search\`.\n\n${asMarkdown(table)}\n`,
    );
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ raw, packed, start, measured }, null, 2)}\n`);
}
