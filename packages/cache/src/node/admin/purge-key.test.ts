/** A purged response must not come back by a fetch that was on its way, under any configuration. */

import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { ask, startOrigin, startTestNode, until } from '../../../test/node/scratch.ts';
import { loadConfig } from '../config/node-config.ts';

it.each([
  ['a purge', async (node: { purge(url: string): Promise<number> }, url: string) => node.purge(url)],
  ['an unsafe request', async (node: { port: number }) => ask(node.port, '/slow', { method: 'POST' })],
])('%s after a reload reaches fetches that began before it', async (_, forget) => {
  const waiting: ServerResponse[] = [];
  const origin = await startOrigin((request, response) => {
    if (request.method === 'GET' && waiting.length === 0) waiting.push(response);
    else response.writeHead(200, { 'Cache-Control': 'max-age=600' }).end('new');
  });
  const flags = { upstream: [origin.url], disk: false, listen: ['127.0.0.1:0'] };
  const node = await startTestNode(flags);
  const first = ask(node.port, '/slow');
  await until('the origin was asked', () => waiting.length === 1);
  node.reload(loadConfig({ flags: { ...flags, name: 'another' } }));
  await forget(node, `${origin.url}slow`);
  waiting[0]!.writeHead(200, { 'Cache-Control': 'max-age=600' }).end('old');
  expect((await first).body).toBe('old');
  expect((await ask(node.port, '/slow')).body).toBe('new');
});
