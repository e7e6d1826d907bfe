/**
 * `npm --prefix bench run bench:text-search`: one search of gzip logs by several programs, in one
 * run: `bloomery grep` with an index, `rg -z`, `zgrep`, and `zstdgrep` on the same text in zstd. A
 * search takes one thread in all of them but rg, so processor time is the fair figure, and wall
 * time is beside it. Figures are medians of rounds. An empty script of Node shows how much of a
 * search is the start of Node, and rg on the plain files how fast it is where nothing is packed.
 *
 * `--full` takes two gigabytes of text. It runs in pieces: with `--folder DIR --minutes 5` it stops
 * after about five minutes with code 75, and the same command goes on.
 */

import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { needPrograms } from '../shared/need-programs.ts';
import { asMarkdown, asText, type Table } from '../shared/report.ts';
import { median } from '../shared/statistics.ts';
import { CORPORA, corpusOf } from './corpora.ts';
import { Pieces } from './pieces.ts';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string' },
    full: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '3' },
    command: {
      type: 'string',
      default: fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url)),
    },
    folder: { type: 'string' },
    minutes: { type: 'string' },
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

const FOLDERS = ['plain', 'precise', 'gz', 'zst'] as const;

type Folders = Readonly<Record<(typeof FOLDERS)[number], string>>;

interface Written {
  readonly raw: number;
  readonly packed: number;
  readonly needles: Readonly<Record<string, string>>;
}

/** Writes a corpus in three forms, and draws needles from its middle. */
function write(name: string, bytes: number, { plain, precise, gz, zst }: Folders): Written {
  const { text } = corpusOf(name, bytes);
  const file = `${name.replaceAll(' ', '-')}.log`;
  const needles: Record<string, string> = {};
  const middle = text.toString('latin1', text.length / 2, text.length / 2 + 4000);
  const id = /"trace_id":"([0-9a-f]{32})"/.exec(middle)?.[1];
  if (id !== undefined) needles['trace id'] = id;
  if (name === 'syslog') needles.address = /\d+\.\d+\.\d+\.\d+/.exec(middle)![0];
  writeFileSync(join(plain, file), text);
  linkSync(join(plain, file), join(precise, file));
  writeFileSync(join(gz, `${file}.gz`), gzipSync(text, { level: 1 }));
  spawnSync('zstd', ['-q', '-f', join(plain, file), '-o', join(zst, `${file}.zst`)]);
  return { raw: text.length, packed: statSync(join(gz, `${file}.gz`)).size, needles };
}

interface Indexed {
  readonly repacked: number;
  readonly unpacked: number;
  readonly scanned: number;
  readonly bytes: number;
  readonly precise: number;
  readonly blocks: number;
}

/** Indexes the files of a corpus that was just written. Times are seconds of processor time. */
function index({ plain, precise, gz }: Folders, before: { plain: number; precise: number; blocks: number }) {
  const run = (args: string) => {
    const { cpu, output } = timed(`${BLOOMERY} index --json --threads 1 ${args}`);
    return { cpu, report: JSON.parse(output) as { indexBytes: number; blocks: number } };
  };
  const repacked = run(`--repack ${gz}`);
  const scanned = run(plain);
  const exact = run(`--precise ${precise}`);
  return {
    repacked: repacked.cpu,
    scanned: scanned.cpu,
    bytes: scanned.report.indexBytes - before.plain,
    precise: exact.report.indexBytes - before.precise,
    blocks: scanned.report.blocks - before.blocks,
  };
}

interface Searched {
  readonly program: string;
  readonly cpu: number;
  readonly wall: number;
  readonly isSame: boolean;
}

/** All programs for one needle, in turn. */
function search(text: string, { plain, gz, zst }: Folders): Searched[] {
  const rg = 'rg --no-config -I -N -F --no-ignore';
  const programs: Record<string, string> = {
    'bloomery grep': `${BLOOMERY} grep -h ${text} ${gz}`,
    'rg -z': `${rg} -z ${text} ${gz}`,
    zgrep: `zgrep -h -F ${text} ${gz}/*`,
    zstdgrep: `zstdgrep -h -F ${text} ${zst}/*`,
    'bloomery grep, plain': `${BLOOMERY} grep -h ${text} ${plain}`,
    'rg, plain': `${rg} ${text} ${plain}`,
  };
  const sorted = (output: string) => output.split('\n').sort().join('\n');
  const all = Object.entries(programs).map(([program, line]) => ({ program, ...timed(line) }));
  return all.map(({ program, cpu, wall, output }) => ({
    program,
    cpu,
    wall,
    isSame: sorted(output) === sorted(all[0].output),
  }));
}

interface CorpusRow extends Indexed {
  readonly name: string;
  readonly raw: number;
}

/** Writes and indexes all corpora, one after the other, as logs come into a folder. */
function prepare(
  pieces: Pieces,
  folders: Folders,
): { corpora: CorpusRow[]; packed: number; needles: object } {
  const corpora: CorpusRow[] = [];
  const needles: Record<string, string> = { absent: 'OutOfMemoryError' };
  let packed = 0;
  let rest = BYTES;
  for (const [i, name] of CORPORA.entries()) {
    // Debian's texts come first, and the logs share what is missing.
    const written = pieces.piece(`write ${name}`, () =>
      write(name, Math.round(rest / (CORPORA.length - i)), folders),
    );
    const unpacked = pieces.piece(`unpack ${name}`, () => {
      // An index of the packed file as it came, in a folder of its own.
      const own = join(pieces.folder, 'own');
      mkdirSync(own, { recursive: true });
      const file = `${name.replaceAll(' ', '-')}.log.gz`;
      linkSync(join(folders.gz, file), join(own, file));
      return timed(`${BLOOMERY} index --json --threads 1 ${own}`).cpu;
    });
    const sum = (of: (row: CorpusRow) => number) => corpora.reduce((all, row) => all + of(row), 0);
    const before = {
      plain: sum(({ bytes }) => bytes),
      precise: sum(({ precise }) => precise),
      blocks: sum(({ blocks }) => blocks),
    };
    const indexed = pieces.piece(`index ${name}`, () => index(folders, before));
    corpora.push({ name, raw: written.raw, unpacked, ...indexed });
    Object.assign(needles, written.needles);
    packed += written.packed;
    rest -= written.raw;
  }
  return { corpora, packed, needles };
}

const percent = (part: number, whole: number) => ((100 * part) / whole).toFixed(2);
const rate = (bytes: number, seconds: number) => (bytes / 1e6 / seconds).toFixed(0);

function indexTable(corpora: readonly CorpusRow[], notes: readonly string[]): Table {
  const sum = (of: (row: CorpusRow) => number) => corpora.reduce((all, row) => all + of(row), 0);
  const row = (name: string, { raw, bytes, precise, blocks, scanned, unpacked, repacked }: CorpusRow) => [
    name,
    (raw / 1e6).toFixed(0),
    percent(bytes, raw),
    percent(precise, raw),
    String(blocks),
    rate(raw, scanned),
    rate(raw, unpacked),
    rate(raw, repacked),
  ];
  const all: CorpusRow = {
    name: 'all',
    raw: sum(({ raw }) => raw),
    bytes: sum(({ bytes }) => bytes),
    precise: sum(({ precise }) => precise),
    blocks: sum(({ blocks }) => blocks),
    scanned: sum(({ scanned }) => scanned),
    unpacked: sum(({ unpacked }) => unpacked),
    repacked: sum(({ repacked }) => repacked),
  };
  return {
    title: 'Index',
    head: [
      'corpus',
      'MB of text',
      'index %',
      'index %, --precise',
      'blocks',
      'plain: MB/s of CPU',
      'gzip: MB/s of CPU',
      'gzip with --repack: MB/s of CPU',
    ],
    numbersFrom: 1,
    rows: [...corpora, all].map((one) => row(one.name, one)),
    notes: [
      'MB of text per second of processor time of the whole command on one thread, with the start of Node.',
      ...notes,
    ],
  };
}

function main(pieces: Pieces): void {
  const folders = Object.fromEntries(FOLDERS.map((name) => [name, join(pieces.folder, name)])) as Folders;
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  const { corpora, packed, needles } = prepare(pieces, folders);
  const raw = corpora.reduce((all, row) => all + row.raw, 0);
  const measured = Object.entries(needles).flatMap(([needle, text]) => {
    const rounds = Array.from({ length: ROUNDS }, (_, round) =>
      pieces.piece(`search ${needle} ${round}`, () => search(text as string, folders)),
    );
    return rounds[0].map(({ program }, i) => ({
      needle,
      program,
      cpu: median(rounds.map((round) => round[i].cpu)),
      wall: median(rounds.map((round) => round[i].wall)),
      isSame: rounds.every((round) => round[i].isSame),
    }));
  });
  const start = pieces.piece('start', () => median(Array.from({ length: 9 }, () => timed('node -e 0').cpu)));
  const table: Table = {
    title: `Search in ${(raw / 1e6).toFixed(0)} MB of text, ${(packed / 1e6).toFixed(0)} MB of gzip -1`,
    head: ['needle', 'program', 'CPU s', 'wall s', 'CPU: rg -z / it', 'wall: rg -z / it', 'lines'],
    numbersFrom: 2,
    rows: measured.map(({ needle, program, cpu, wall, isSame }) => {
      const rg = measured.find((one) => one.needle === needle && one.program === 'rg -z')!;
      const ratios = [rg.cpu / cpu, rg.wall / wall].map((value) => value.toFixed(1));
      return [needle, program, cpu.toFixed(3), wall.toFixed(3), ...ratios, isSame ? 'the same' : 'OTHERS'];
    }),
    notes: [
      `Medians of ${ROUNDS} rounds. An empty script of Node takes ${start.toFixed(3)} s of CPU.`,
      pieces.load,
    ],
  };
  const tables = [table, indexTable(corpora, [])];
  for (const one of tables) console.log(asText(one));
  if (options.markdown !== undefined)
    writeFileSync(
      options.markdown,
      `# Searching gzip logs\n\nWritten by \`npm --prefix bench run bench:text-search\`.\n\n${tables.map(asMarkdown).join('\n')}`,
    );
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ raw, packed, start, measured, corpora }, null, 2)}\n`);
}

needPrograms(['rg', 'zgrep', 'zstdgrep', 'zstd'], 'ripgrep zstd');
Pieces.run(options, main);
