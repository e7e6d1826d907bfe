/** The console of nodes in processes of their own: several workers, and kill -9. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { bundleProgram, startProgram } from '../node/cache-program.ts';
import { ask, scratchFolder, startOrigin, until } from '../node/scratch.ts';
import { readEvents } from './read-events.ts';

let program: string;
beforeAll(() => {
  program = bundleProgram(scratchFolder());
});

const read = async (port: number, endpoint: string) => {
  const { status, body } = await ask(port, `/.bloomery/${endpoint}`);
  expect(status, body).toBe(200);
  return JSON.parse(body);
};

test('with workers, the console tells the sums over all processes, and sums do not fall', async () => {
  const origin = await startOrigin();
  const node = await startProgram(program, { upstream: [origin.url], workers: 3, consoleUrls: true });
  const paths = Array.from({ length: 12 }, (_, i) => `/${i}`);
  const readers = await Promise.all([1, 2, 3, 4].map(() => readEvents(node.port)));
  for (let round = 0; round < 3; round++) for (const path of paths) await ask(node.port, path);
  for (const reader of readers) {
    const { data } = await reader.wait(
      'counts',
      ({ requests }) => requests.miss === 12 && requests.hit === 24,
    );
    expect(data.inMemory.objects).toBe(12);
    await reader.wait('busiest', ({ total }) => total === 36);
  }
  const { answers } = await read(node.port, 'answers');
  expect(answers).toHaveLength(36);
  expect(new Set(answers.map(({ id }: { id: number }) => id)).size).toBe(36);
  expect(new Set(answers.map(({ url }: { url: string }) => url)).size).toBe(12);
  const { objects, total } = await read(node.port, 'busiest');
  expect([total, objects.length]).toEqual([36, 12]);
  expect(objects.every(({ count }: { count: number }) => count === 3)).toBe(true);
  // Each key is stored by one worker, and any of them can say so.
  for (const path of paths.slice(0, 6)) {
    const { local } = await read(node.port, `who?url=${encodeURIComponent(path)}`);
    expect(local).toEqual({ isStored: true, isFresh: true });
  }
  await until('the history of all workers', async () => {
    const { rows } = await read(node.port, 'history?span=week');
    return rows.reduce((sum: number, row: number[]) => sum + row[1]! + row[3]!, 0) === 36;
  });
  // A worker that dies takes no count with it.
  const status = await read(node.port, 'status');
  const [{ pid }] = status.workers;
  process.kill(pid, 'SIGKILL');
  await until('its death to be seen', () => node.events('worker-died').length === 1);
  const reader = await readEvents(node.port);
  await until('the worker is back', async () => {
    const { workers } = await read(node.port, 'status').catch(() => ({ workers: [] }));
    return workers.length === 3 && workers.every((worker: { pid: number }) => worker.pid !== pid);
  });
  await ask(node.port, '/0');
  const all = await readEvents(node.port);
  const { data } = await all.wait('counts', ({ requests }) => requests.hit + requests.miss >= 37);
  expect(data.startedAt).toBe(Date.parse(status.startedAt));
  reader.close();
}, 120_000);

test('wrong tokens count for all workers together', async () => {
  const token = 'a-token-of-the-operator';
  const node = await startProgram(program, { workers: 3, adminToken: token });
  const guess = async (word: string) =>
    (
      await ask(node.port, '/.bloomery/token', {
        method: 'POST',
        headers: { 'Bloomery-Admin': '1', Authorization: `Bearer ${word}` },
      })
    ).status;
  expect(await guess(token)).toBe(200);
  for (let i = 0; i < 10; i++) await guess(`guess-number-${i}-of-ten`);
  await until('all workers are locked', async () => {
    const statuses = await Promise.all(Array.from({ length: 12 }, () => guess(token)));
    return statuses.every((status) => status === 429);
  });
}, 60_000);

for (const workers of [1, 2])
  test(`the history survives kill -9 (${workers} ${workers === 1 ? 'process' : 'workers'})`, async () => {
    const origin = await startOrigin();
    const disk = join(scratchFolder(), 'disk');
    const flags = { upstream: [origin.url], workers, disk };
    const first = await startProgram(program, flags);
    for (const path of ['/a', '/a', '/b']) await ask(first.port, path);
    // Written at the end of the first step of 10 s that has them.
    const counted = async (port: number) => {
      const { rows } = await read(port, 'history?span=week');
      return rows.reduce((sum: number, row: number[]) => sum + row[1]! + row[3]!, 0);
    };
    await until('the counts', async () => (await counted(first.port)) === 3);
    const file = join(disk, 'console-history.json');
    await until('a file with the counts', () => {
      if (!existsSync(file)) return false;
      const { rows, open } = JSON.parse(readFileSync(file, 'utf8')).week;
      const sums: number[] = rows.map((row: number[]) => row[1]! + row[3]!);
      return sums.reduce((sum, each) => sum + each, open.tally[0] + open.tally[2]) === 3;
    });
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await startProgram(program, flags);
    expect(await counted(second.port)).toBe(3);
  }, 120_000);
