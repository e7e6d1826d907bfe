/** Keys from a pipe that stays open are written as they come, and signals lose none of them. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockName } from '@bloomery/files';
import { eventually } from '@bloomery/testkit/eventually';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const run = (args: readonly string[], input = '') => bloomery(args, { input, cwd: folder });
const has = (key: string) => run(['check', 'seen.blm', '-q'], `${key}\n`).code === 0;

let running: ReturnType<typeof spawn>[] = [];
beforeEach(() => {
  run(['build', '-N', '1k', '-r', '1e-9', '--force', '-o', 'seen.blm'], 'first\n');
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running = [];
});

function start(...args: string[]) {
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] });
  running.push(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }));
  return { child, ended };
}

test('add writes the keys of an open pipe, and does not hold the lock meanwhile', async () => {
  const { child, ended } = start('add', 'seen.blm', '--flush', '0.05', '--json');
  child.stdin.write('one\ntwo\nthr');
  await eventually(() => has('two'), 60_000);
  expect(existsSync(lockName(at('seen.blm')))).toBe(false);
  expect(run(['add', 'seen.blm', '--wait', '0'], 'other\n')).toMatchObject({ code: 0, stderr: '' });
  child.stdin.write('ee\nfour\n');
  await eventually(() => has('four'), 60_000);
  child.stdin.end();
  const { stdout, ...end } = await ended;
  expect(end).toEqual({ code: 0, signal: null, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ keys: 4, new: 4, written: 'file' });
  for (const key of ['first', 'one', 'two', 'three', 'other']) expect(has(key), key).toBe(true);
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} writes the keys that were read, and leaves no lock`, async () => {
    const { child, ended } = start('add', 'seen.blm', '--flush', '86400', '--flush-keys', '3');
    child.stdin.write('a\nb\nc\n');
    await eventually(() => has('c'), 60_000);
    child.stdin.write('d\n');
    // The pause of the reader is 20 ms: the line has been read when the pipe is empty and it waits.
    await eventually(() => child.stdin.writableLength === 0, 60_000);
    await waitsForInput(child.pid!);
    child.kill(signal);
    expect(await ended).toMatchObject({ code: null, signal });
    expect(has('d')).toBe(true);
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  });
}

// The signal comes as soon as the lock has its name, which is before the program knows that it
// holds it. Several rounds, because the signal hits another moment in each.
test('a signal releases the lock of a change that is all or nothing', { repeats: 9 }, async () => {
  run(['build', '-s', 'counting', '-N', '1k', '--force', '-o', 'seen.blm'], 'first\n');
  const { child, ended } = start('remove', 'seen.blm', '--strict');
  child.stdin.write('first\n');
  await eventually(() => existsSync(lockName(at('seen.blm'))), 60_000);
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: null, signal: 'SIGTERM' });
  expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  expect(has('first')).toBe(true);
});

test('a named pipe is a stream, and Ctrl-C ends the wait for its writer', async () => {
  spawnSync('mkfifo', [at('fifo')]);
  const { ended } = start('add', 'seen.blm', 'fifo', '--flush', '0.05');
  const writer = createWriteStream(at('fifo'));
  writer.write('through\n');
  await eventually(() => has('through'), 60_000);
  writer.end();
  expect(await ended).toMatchObject({ code: 0 });
  const { child, ended: interrupted } = start('add', 'seen.blm', 'fifo');
  await waitsForInput(child.pid!);
  child.kill('SIGINT');
  expect(await interrupted).toMatchObject({ signal: 'SIGINT' });
});

test('an error in the stream tells how many keys were written before it', async () => {
  const { child, ended } = start('add', 'seen.blm', '--jsonl', '.k', '--flush-keys', '1');
  child.stdin.write('{"k":"good"}\n');
  await eventually(() => has('good'), 60_000);
  child.stdin.end('{"x":1}\n');
  const { code, stderr } = await ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/has no text or number at \.k.*; 1 keys before it were written/);
  writeFileSync(at('no-filter'), 'text\n');
  expect(run(['add', 'no-filter'], '').code).toBe(2);
});

/** Waits until the main thread of a process sleeps in epoll, with an empty pipe before it. */
async function waitsForInput(pid: number): Promise<void> {
  let asleep = 0;
  await eventually(async () => {
    const { stdout } = spawnSync('cat', [`/proc/${pid}/wchan`, `/proc/${pid}/stat`]);
    asleep = / \(.*\) S /.test(String(stdout)) ? asleep + 1 : 0;
    return asleep >= 20;
  }, 60_000);
}
