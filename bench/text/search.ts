/**
 * `npm --prefix bench run bench:text-search`: one search of gzip logs by several programs, in one
 * run: `bloomery grep` with an index, `rg -z`, `zgrep`, and `zstdgrep` on the same text in zstd. A
 * search takes one thread in all of them but rg, so processor time is the fair figure, and wall
 * time is beside it. Figures are medians of rounds.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { asMarkdown, asText, type Table } from '../shared/report.ts';
import { median } from '../shared/statistics.ts';
import { debianCorpus, madeCorpora } from './corpora.ts';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    command: {
      type: 'string',
      default: fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url)),
    },
    markdown: { type: 'string' },
  },
});
const BYTES = (Number(options.megabytes) * 1e6) / 5;
const ROUNDS = Number(options.rounds);

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

function main(): void {
  const gz = join(scratch, 'gz');
  const zst = join(scratch, 'zst');
  mkdirSync(gz);
  mkdirSync(zst);
  let raw = 0;
  let packed = 0;
  const needles: Record<string, string> = { absent: 'OutOfMemoryError' };
  for (const { name, text } of [...madeCorpora(BYTES), debianCorpus(BYTES)]) {
    const file = name.replaceAll(' ', '-');
    raw += text.length;
    const middle = text.toString('latin1', text.length / 2, text.length / 2 + 4000);
    needles['trace id'] ??= /"trace_id":"([0-9a-f]{32})"/.exec(middle)?.[1] as string;
    if (name === 'syslog') needles.address = /\d+\.\d+\.\d+\.\d+/.exec(middle)![0];
    writeFileSync(join(gz, `${file}.log.gz`), gzipSync(text, { level: 1 }));
    packed += statSync(join(gz, `${file}.log.gz`)).size;
    const plain = join(zst, `${file}.log`);
    writeFileSync(plain, text);
    spawnSync('zstd', ['-q', '--rm', plain]);
  }
  const bloomery = `node ${options.command}`;
  const built = timed(`${bloomery} index --repack --json ${gz}`);
  const indexed = timed(`${bloomery} index --rebuild --json ${gz}`);
  const report = JSON.parse(indexed.output);
  const rows: string[][] = [];
  for (const [what, needle] of Object.entries(needles)) {
    const programs: Record<string, string> = {
      'bloomery grep': `${bloomery} grep -h ${needle} ${gz}`,
      'rg -z': `rg -z --no-config -I -N -F --no-ignore ${needle} ${gz}`,
      zgrep: `zgrep -h -F ${needle} ${gz}/*`,
      zstdgrep: `zstdgrep -h -F ${needle} ${zst}/*`,
    };
    const all = Object.entries(programs).map(([name, line]) => ({ name, line, times: [] as Times[] }));
    for (let round = 0; round < ROUNDS; round++) for (const one of all) one.times.push(timed(one.line));
    const sorted = (text: string) => text.split('\n').sort().join('\n');
    const lines = sorted(all[0].times[0].output);
    const rg = median(all[1].times.map(({ cpu }) => cpu));
    const rgWall = median(all[1].times.map(({ wall }) => wall));
    for (const { name, times } of all) {
      const cpu = median(times.map((time) => time.cpu));
      const wall = median(times.map((time) => time.wall));
      rows.push([
        what,
        name,
        cpu.toFixed(2),
        wall.toFixed(2),
        `${(rg / cpu).toFixed(1)}`,
        `${(rgWall / wall).toFixed(1)}`,
        times.every(({ output }) => sorted(output) === lines) ? 'the same' : 'OTHERS',
      ]);
    }
  }
  const table: Table = {
    title: `${(raw / 1e6).toFixed(0)} MB of text, ${(packed / 1e6).toFixed(0)} MB of gzip -1`,
    head: ['needle', 'program', 'CPU s', 'wall s', 'CPU: rg / it', 'wall: rg / it', 'lines'],
    numbersFrom: 2,
    rows,
    notes: [
      `Index and repack: ${built.cpu.toFixed(1)} s of CPU. Index alone, with unpacking: ${indexed.cpu.toFixed(1)} s, ${(raw / 1e6 / indexed.cpu).toFixed(0)} MB of text per second.`,
      `Index: ${((100 * report.indexBytes) / report.totalTextBytes).toFixed(2)} % of the text, ${report.blocks} blocks.`,
      `Load ${loadavg()
        .map((value) => value.toFixed(1))
        .join(' ')}.`,
    ],
  };
  console.log(asText(table));
  for (const note of table.notes) console.log(note);
  if (options.markdown !== undefined)
    writeFileSync(
      options.markdown,
      `# Searching gzip logs\n\nWritten by \`npm --prefix bench run bench:text-search\`.\n\n${asMarkdown(table)}\n`,
    );
}
