/** The last answers and the busiest objects of a whole node, as its console tells them. */

import { expect, test } from 'vitest';
import { ask, startOrigin, startTestNode } from '../node/scratch.ts';
import { readEvents } from './read-events.ts';

const read = async (port: number, endpoint: string) =>
  JSON.parse((await ask(port, `/.bloomery/${endpoint}`)).body);

test('answers tells what was served, from where and why', async () => {
  const origin = await startOrigin((request, response) => {
    const control = request.url === '/private' ? 'no-store' : 'max-age=600';
    response.writeHead(200, { 'Cache-Control': control }).end('body');
  });
  const node = await startTestNode({ upstream: [origin.url], consoleUrls: true, name: 'one' });
  for (const path of ['/a?x=secret-value', '/a?x=secret-value', '/private', '/a?x=secret-value'])
    await ask(node.port, path);
  const { v, answers, skipped } = await read(node.port, 'answers');
  expect([v, skipped]).toEqual([1, 0]);
  expect(answers.map(({ id, outcome }: { id: number; outcome: string }) => [id, outcome])).toEqual([
    [1, 'miss'],
    [2, 'hit'],
    [3, 'miss'],
    [4, 'hit'],
  ]);
  expect(answers[0]).toMatchObject({
    method: 'GET',
    url: `${origin.url}a?x=…`,
    status: 200,
    reason: 'uri-miss',
    cacheStatus: 'one; fwd=uri-miss; stored',
    neighbour: null,
    bytesSent: 4,
    bytesFromOrigin: 4,
    isAborted: false,
  });
  expect(answers[1].cacheStatus).toMatch(/^one; hit; ttl=\d+$/);
  expect(answers[1].object).toBe(answers[0].object);
  expect(answers[2]).toMatchObject({
    notStored: 'no-store',
    cacheStatus: 'one; fwd=uri-miss; detail=no-store',
  });
  expect(JSON.stringify(answers)).not.toMatch(/secret-value|127\.0\.0\.1"/);
});

test('answers and busiest hide URLs unless the operator shows them', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url] });
  for (let i = 0; i < 3; i++) await ask(node.port, '/path-of-a-person');
  const texts = [await read(node.port, 'answers'), await read(node.port, 'busiest')].map((value) =>
    JSON.stringify(value),
  );
  for (const text of texts) {
    expect(text).not.toContain('path-of-a-person');
    expect(text).toContain('"url":null');
  }
  const { answers } = JSON.parse(texts[0]!);
  const { objects, total, threshold } = JSON.parse(texts[1]!);
  expect([total, threshold]).toEqual([3, 0.005]);
  expect(objects).toEqual([{ url: null, object: answers[0].object, count: 3, atLeast: 3 }]);
});

test('events tells new answers and the busiest objects', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url], accessLog: '/dev/null' });
  await ask(node.port, '/before');
  const reader = await readEvents(node.port);
  const { data: hello } = await reader.wait('hello');
  expect(hello).toMatchObject({ urls: 'shown', features: expect.arrayContaining(['answers', 'busiest']) });
  const { data: first } = await reader.wait('busiest');
  expect(first.objects).toMatchObject([{ url: `${origin.url}before`, count: 1 }]);
  for (let i = 0; i < 30; i++) await ask(node.port, '/after');
  await reader.wait('busiest', ({ objects }) => objects[0]?.count === 30);
  const told = reader.events.filter(({ name }) => name === 'answers').map(({ data }) => data);
  const ids = told.flatMap(({ answers }) => answers.map(({ id }: { id: number }) => id));
  // The one before the reader came is not news.
  expect(Math.min(...ids)).toBeGreaterThan(1);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect(told.every(({ answers }) => answers.length <= 20)).toBe(true);
  expect(ids.length + told.reduce((sum, { skipped }) => sum + skipped, 0)).toBe(30);
});
