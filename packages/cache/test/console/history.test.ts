/** The history of a whole node: what it tells, and what is left of it after a restart or a kill. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { startNode } from '../../src/node/start-node.ts';
import { ask, cleanUp, scratchFolder, startOrigin, startTestNode } from '../node/scratch.ts';
import { readEvents } from './read-events.ts';

const get = async (port: number, query: string) => ask(port, `/.bloomery/history?${query}`);

test('history tells the running step, as JSON and as CSV', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url] });
  for (const path of ['/a', '/a', '/a']) await ask(node.port, path);
  for (const [span, stepMs] of [
    ['hour', 10_000],
    ['day', 300_000],
    ['week', 1_800_000],
  ] as const) {
    const history = JSON.parse((await get(node.port, `span=${span}`)).body);
    expect(history).toMatchObject({ v: 1, span, stepMs });
    const row = Object.fromEntries(
      history.columns.map((name: string, i: number) => [name, history.rows.at(-1)[i]]),
    );
    expect(history.columns).toHaveLength(16);
    if (span !== 'hour') expect(row).toMatchObject({ local: 2, origin: 1, peersUp: 0 });
    expect(row.start % stepMs).toBe(0);
  }
  const csv = await get(node.port, 'span=week&format=csv');
  expect(csv.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="bloomery-week.csv"',
    'x-content-type-options': 'nosniff',
  });
  const [head, line, end] = csv.body.split('\r\n');
  expect(head!.split(',').slice(0, 2)).toEqual(['start', 'local']);
  expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:[03]0:00\.000Z,2,0,1,0,0,/);
  expect(end).toBe('');
});

test('history refuses a span and a format that it does not have', async () => {
  const node = await startTestNode({});
  for (const query of ['span=year', 'span=__proto__', 'span=hour&format=xml', 'span=toString'])
    expect((await get(node.port, query)).status).toBe(400);
  expect((await ask(node.port, '/.bloomery/history', { method: 'HEAD' })).status).toBe(405);
});

/** A node with a disk, whose clock the test sets. */
async function startAt(folder: string, time: { now: number }) {
  const config = loadConfig({ flags: { listen: ['127.0.0.1:0'], disk: folder, logFormat: 'json' } });
  const lines: string[] = [];
  const log = new Log({ level: 'info', format: 'json', write: (line) => lines.push(line) });
  const node = await startNode(config, { log, clock: () => time.now });
  cleanUp(() => node.close(0));
  return { node, port: node.listen[0]!.port, lines };
}

const rowsOf = async (port: number, span: string) =>
  JSON.parse((await get(port, `span=${span}`)).body).rows as number[][];

test('history survives a restart', async () => {
  const folder = scratchFolder();
  const time = { now: 1_800_000 * 1000 + 5000 };
  const first = await startAt(folder, time);
  expect((await ask(first.port, '/nothing')).status).toBeGreaterThanOrEqual(400);
  const failed = (await rowsOf(first.port, 'week')).at(-1)![5];
  await first.node.close(1000);
  time.now += 3 * 1_800_000;
  const second = await startAt(folder, time);
  const rows = await rowsOf(second.port, 'week');
  // Two rows with a gap of two steps, not zeros.
  expect(rows.map(([start]) => start! / 1_800_000)).toEqual([1000, 1003]);
  expect([rows[0]![5], failed]).toEqual([1, 1]);
});

test('history that cannot be read is left out, with one warning', async () => {
  for (const content of ['{', '{"v":2}', '{"v":1}', 'null', `{"v":1,"hour":${'['.repeat(1000)}`]) {
    const folder = scratchFolder();
    const time = { now: 1_800_000_000 };
    const first = await startAt(folder, time);
    await first.node.close(1000);
    const path = join(first.node.folder!, 'console-history.json');
    expect(JSON.parse(readFileSync(path, 'utf8')).v).toBe(1);
    writeFileSync(path, content);
    const { port, lines, node } = await startAt(folder, time);
    expect(lines.filter((line) => line.includes('console-history'))).toHaveLength(1);
    expect(await rowsOf(port, 'day')).toHaveLength(1);
    await node.close(1000);
  }
});

test('history tells the event stream when a row is complete', async () => {
  const node = await startTestNode({});
  const reader = await readEvents(node.port);
  const { data } = await reader.wait('history');
  expect(data).toMatchObject({ v: 1, span: 'hour' });
  expect(data.row).toHaveLength(16);
});
