/**
 * Faults while `index` and `grep` are at work: kill -9 with several threads, logs that another
 * process writes, cuts and replaces during searches, and a disk that is full.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DEFAULT_SCHEME } from '@bloomery/stores/text';
import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { indexFolder } from '../../src/text/index-folder.ts';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';
import { searchInProcess } from './search-in-process.ts';

const scratch = temporaryFolder();

/** Lines with random identifiers, each with its number. */
function logText(seed: number, lines: number): Buffer {
  const random = new Random(seed);
  const hex = () => (random.bits() >>> 0).toString(16).padStart(8, '0');
  return Buffer.from(
    Array.from({ length: lines }, (_, i) => `log ${seed} line ${i} id=${hex()}${hex()}\n`).join(''),
  );
}

test('kill -9 with several threads, with and without --repack: every line is found before and after', () => {
  const folder = join(scratch, 'killed');
  mkdirSync(folder);
  // Each file has a job of its own, so all threads are at work.
  const texts = [1, 2, 3, 4].map((seed) => logText(seed, 60_000));
  texts.forEach((text, i) => {
    writeFileSync(join(folder, `${i}.gz`), gzipSync(text, { level: 1 }));
  });
  const line = (i: number) => texts[i].toString('latin1').split('\n')[54_321];
  const expectAll = () => {
    for (const i of [0, 3]) {
      const { code, stdout } = bloomery(['grep', '-h', line(i).slice(-19), folder]);
      expect([code, stdout]).toEqual([0, `${line(i)}\n`]);
    }
  };
  const begun = performance.now();
  expect(bloomery(['index', '--threads', '3', folder]).code).toBe(0);
  const seconds = (performance.now() - begun) / 1000;
  const rounds = withEffort(4, 2);
  for (let round = 0; round < rounds; round++) {
    const args = ['index', '--rebuild', '--threads', '3', ...(round % 2 === 0 ? [] : ['--repack']), folder];
    const delay = ((round + 1.5) / (rounds + 1)) * seconds * (round % 2 === 0 ? 1 : 2);
    const { status } = spawnSync('timeout', [
      '-s',
      'KILL',
      delay.toFixed(3),
      process.execPath,
      COMMAND,
      ...args,
    ]);
    expect([0, 137, null]).toContain(status);
    expectAll();
  }
  // Nothing stays of the killed runs: no lock, no index file that the list does not name.
  const { code, stderr } = bloomery(['index', '--repack', '--threads', '3', folder]);
  expect([code, stderr]).toEqual([0, '']);
  expect(readdirSync(join(folder, '.bloomery')).filter((name) => !/^text\.json$|\.text$/.test(name))).toEqual(
    [],
  );
  expectAll();
  texts.forEach((text, i) => {
    const { stdout } = spawnSync('zcat', [join(folder, `${i}.gz`)], { maxBuffer: 1 << 28 });
    expect(Buffer.compare(stdout, text)).toBe(0);
  });
}, 120_000);

/** Starts a process that changes a log until it is stopped. */
async function writer(body: string, log: string): Promise<ChildProcess> {
  const code = `import { appendFileSync, copyFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
    const log = ${JSON.stringify(log)};
    const lines = (tag, from, count) => Array.from({ length: count }, (_, i) => tag + ' number ' + (from + i) + '\\n').join('');
    const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
    process.stdout.write('ready');
    ${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout!, 'data');
  return child;
}

async function stopped(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

/** Searches a folder again and again while a process changes its log. */
async function whileWritten(
  name: string,
  body: string,
  look: (folder: string, log: string) => Promise<void>,
): Promise<void> {
  const folder = join(scratch, name);
  mkdirSync(folder);
  const log = join(folder, 'app.log');
  writeFileSync(log, Array.from({ length: 20_000 }, (_, i) => `old number ${i}\n`).join(''));
  await indexFolder(folder, { scheme: DEFAULT_SCHEME });
  const child = await writer(body, log);
  try {
    for (let round = 0; round < withEffort(20, 10); round++) await look(folder, log);
  } finally {
    await stopped(child);
  }
}

test('a log that grows during searches: all lines that were there before are found, in order', async () => {
  let runs = 0;
  await whileWritten(
    'growing',
    `for (let i = 0; ; i += 10) { appendFileSync(log, lines('new', i, 10)); await pause(); }`,
    async (folder, log) => {
      const before = readFileSync(log, 'latin1').split('\n').slice(20_000, -1).length;
      const found = await searchInProcess({ pattern: 'new number ' }, [folder]);
      expect(found.errors).toEqual([]);
      const numbers = found.output.split('\n').slice(0, -1);
      expect(numbers.length).toBeGreaterThanOrEqual(before);
      expect(numbers.findIndex((line, i) => line !== `${log}:new number ${i}`)).toBe(-1);
      expect((await searchInProcess({ pattern: 'old number 19999' }, [folder])).report.lines).toBe(1);
      // The index follows the log while it is written.
      if (++runs % 10 === 0) await indexFolder(folder, { scheme: DEFAULT_SCHEME });
    },
  );
}, 120_000);

test('a log that is emptied and written again during searches: all of one state, or an error', async () => {
  let errors = 0;
  await whileWritten(
    'emptied',
    `for (let i = 0; ; i++) { writeFileSync(log, lines('state ' + i, 0, 100_000 + (i % 5) * 9000)); await pause(); }`,
    async (folder) => {
      const {
        output,
        errors: said,
        report,
      } = await searchInProcess({ pattern: ' number [0-9]+000$', syntax: 'extended' }, [folder]);
      if (report.failed) {
        errors++;
        expect(said).toEqual([expect.stringContaining('it was changed while it was read')]);
        return;
      }
      // Without an error, the lines are those of one state, or of the part that was written of it.
      const states = new Set(
        output
          .split('\n')
          .slice(0, -1)
          .map((line) => /state \d+/.exec(line)?.[0]),
      );
      expect(states.size).toBeLessThanOrEqual(1);
    },
  );
  // The log has some megabytes and is written all the time, so most searches meet a change.
  expect(errors).toBeGreaterThan(0);
}, 120_000);

test('a log that is replaced during searches: the lines of the old one or of the new one', async () => {
  await whileWritten(
    'replaced',
    `for (let i = 0; ; i++) { writeFileSync(log + '.new', lines('state ' + i, 0, 5000)); renameSync(log + '.new', log); await pause(); }`,
    async (folder) => {
      const { output, errors } = await searchInProcess({ pattern: ' number ' }, [join(folder, 'app.log')]);
      expect(errors).toEqual([]);
      const lines = output.split('\n').slice(0, -1);
      const isOld = lines[0].endsWith('old number 0');
      expect(lines.length).toBe(isOld ? 20_000 : 5000);
      expect(new Set(lines.map((line) => /:(old|state \d+)/.exec(line)?.[0])).size).toBe(1);
    },
  );
}, 120_000);

test('a full disk: index and repack leave the former state, with one message', () => {
  const disk = join(scratch, 'disk');
  mkdirSync(disk);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk]);
  expect(mounted.stderr.toString(), 'this test mounts a small tmpfs, as root').toBe('');
  try {
    const text = logText(9, 40_000);
    writeFileSync(join(disk, 'a.gz'), gzipSync(text));
    writeFileSync(join(disk, 'b.log'), text.subarray(0, 100_000));
    expect(bloomery(['index', disk]).code).toBe(0);
    const before = readdirSync(join(disk, '.bloomery')).sort();
    const size = statSync(join(disk, 'a.gz')).size;
    writeFileSync(join(disk, 'c.log'), '');
    const fill = spawnSync('sh', ['-c', `cat /dev/zero > ${join(disk, 'filling')}`]);
    expect(fill.status).not.toBe(0);
    for (const args of [['--rebuild'], ['--repack', '--rebuild']]) {
      const { code, stderr } = bloomery(['index', ...args, disk]);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^bloomery: .*no space left on the disk; nothing was changed\n$/);
      expect(readdirSync(join(disk, '.bloomery')).sort()).toEqual(before);
      expect(statSync(join(disk, 'a.gz')).size).toBe(size);
    }
    rmSync(join(disk, 'filling'));
    const found = bloomery(['grep', '-c', 'line 31234 id', disk]);
    expect(found.stdout).toBe(`${disk}/a.gz:1\n${disk}/b.log:0\n${disk}/c.log:0\n`);
  } finally {
    spawnSync('umount', [disk]);
  }
}, 60_000);
