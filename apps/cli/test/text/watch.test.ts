/** `bloomery index --watch` as a real process, with logs that grow and are rotated. */

import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from '@bloomery/testkit/eventually';
import { afterEach, expect, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const scratch = temporaryFolder();
const running: ReturnType<typeof startBloomery>[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

/** Starts the command; `line` waits for the next line whose report fits. */
function startWatch(args: readonly string[]) {
  const child = startBloomery(['index', '--watch', '--json', '--pause', '0.05', ...args]);
  running.push(child);
  const lines: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => lines.push(JSON.parse(text)));
  let said = '';
  child.stderr.on('data', (data) => {
    said += data;
  });
  const line = (fits: (report: Record<string, unknown>) => boolean) =>
    eventually(() => {
      while (lines.length > 0) {
        const next = lines.shift()!;
        if (fits(next)) return next;
      }
      return undefined;
    }, 100_000);
  return { child, line, said: () => said };
}

function logLines(tag: string, count: number): string {
  return Array.from({ length: count }, (_, i) => `${tag} ${i} trace=${i * 2654435761}\n`).join('');
}

test('--watch follows logs in several folders that grow, are rotated, removed and made', async () => {
  const [one, two] = ['one', 'two'].map((name) => join(scratch, name));
  for (const folder of [one, two]) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'app.log'), logLines('first', 2000));
  }
  const { child, line } = startWatch([one, two]);
  await line(({ folder, files }) => folder === one && files === 1);
  await line(({ folder, files }) => folder === two && files === 1);

  appendFileSync(join(two, 'app.log'), logLines('grown', 100));
  await line(({ folder, grown }) => folder === two && grown === 1);
  expect(bloomery(['grep', '-c', 'grown 99 ', two, '--stats']).stderr).toContain('read whole    0 files');

  renameSync(join(one, 'app.log'), join(one, 'app.log.1'));
  writeFileSync(join(one, 'app.log'), logLines('second', 10));
  await line(({ folder, renamed }) => folder === one && renamed === 1);
  mkdirSync(join(one, 'new'));
  writeFileSync(join(one, 'new/b.log'), logLines('third', 10));
  await line(({ folder, files }) => folder === one && files === 3);
  // A folder that was made later is watched as well.
  appendFileSync(join(one, 'new/b.log'), logLines('fourth', 10));
  await line(({ folder, grown }) => folder === one && grown === 1);
  rmSync(join(one, 'app.log.1'));
  await line(({ folder, removed }) => folder === one && removed === 1);
  for (const needle of ['second 9 ', 'third 9 ', 'fourth 9 '])
    expect(bloomery(['grep', '-h', needle, one]).stdout.split('\n').length).toBe(2);

  child.kill('SIGTERM');
  const [code, signal] = await once(child, 'exit');
  expect([code, signal]).toEqual([null, 'SIGTERM']);
  for (const folder of [one, two]) expect(existsSync(join(folder, '.bloomery/lock'))).toBe(false);
}, 300_000);

test('--watch: a log that grows many times is not scanned from its beginning again', async () => {
  const folder = join(scratch, 'often');
  mkdirSync(folder);
  const path = join(folder, 'app.log');
  const first = logLines('first', 40_000);
  writeFileSync(path, first);
  const { child, line } = startWatch([folder]);
  await line(({ files }) => files === 1);
  for (let round = 0; round < 12; round++) {
    appendFileSync(path, logLines(`round${round}`, 20));
    const { textBytes } = await line(({ indexed }) => indexed === 1);
    // At eight index files the smaller ones are joined, and the largest stays.
    expect(textBytes).toBeLessThan(first.length);
  }
  child.kill('SIGINT');
  await once(child, 'exit');
  const needles = Array.from({ length: 12 }, (_, round) => ['-e', `round${round} 19 `]).flat();
  const numbers = bloomery(['grep', '-nh', ...needles, folder])
    .stdout.split('\n')
    .map(Number.parseFloat);
  expect(numbers.slice(0, -1)).toEqual(Array.from({ length: 12 }, (_, round) => 40_000 + 20 * (round + 1)));
}, 300_000);

test('--watch goes on after a run that failed, and ends at once at a signal', async () => {
  const folder = join(scratch, 'gone');
  mkdirSync(folder);
  writeFileSync(join(folder, 'app.log'), logLines('first', 100));
  const { child, line, said } = startWatch([folder]);
  await line(({ files }) => files === 1);
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, 'a file in its place');
  await eventually(() => said().includes('was not indexed, and is tried again'), 200_000);
  rmSync(folder);
  renameSync(`${folder}.away`, folder);
  child.kill('SIGINT');
  const [code, signal] = await once(child, 'exit');
  expect([code, signal]).toEqual([null, 'SIGINT']);
  const { code: refused, stderr } = bloomery(['index', '--pause', '3', folder]);
  expect(refused).toBe(2);
  expect(stderr).toContain('--pause is for --watch');
}, 300_000);
