import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { knownBody } from '../origins/known-body.ts';
import { playTrace, tracePath } from './play-trace.ts';

const open: (() => unknown)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function served(listener: RequestListener): Promise<{ port: number }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port };
}

test('playTrace asks each node for its objects, never before their time, and waits for no answer', async () => {
  const came: { node: number; path: string; ms: number }[] = [];
  const held: (() => void)[] = [];
  const began = performance.now();
  const nodes = await Promise.all(
    [0, 1].map((node) =>
      served((req, res) => {
        came.push({ node, path: req.url!, ms: performance.now() - began });
        const answer = () => res.end(knownBody(req.url!));
        // The first answer waits for the last request.
        if (came.length === 1) held.push(answer);
        else answer();
        if (came.length === 3) for (const each of held) each();
      }),
    ),
  );
  const trace = [
    { timeMs: 0, node: 1, object: 7, bytes: 1000 },
    { timeMs: 40, node: 0, object: 8, bytes: 2000 },
    { timeMs: 80, node: 1, object: 7, bytes: 1000 },
  ];
  const played = await playTrace(nodes, trace);
  expect(played).toMatchObject({ requests: 3, bytes: 4000, broken: 0, wrong: [] });
  expect(came.map(({ node, path }) => [node, path])).toEqual(
    trace.map(({ node, object, bytes }) => [node, tracePath(object, bytes)]),
  );
  for (const [at, { timeMs }] of trace.entries()) expect(came[at]!.ms).toBeGreaterThanOrEqual(timeMs - 1);
  expect(played.tookMs).toBeGreaterThanOrEqual(80);
});

test('playTrace counts broken answers, and tells wrong ones', async () => {
  const node = await served((req, res) => {
    if (req.url === tracePath(1, 500)) res.writeHead(502).end();
    else if (req.url === tracePath(2, 500)) res.end(knownBody(tracePath(3, 500)));
    else res.end(knownBody(req.url!));
  });
  const trace = [1, 2, 3].map((object) => ({ timeMs: 0, node: 0, object, bytes: 500 }));
  const played = await playTrace([node], trace);
  expect(played.broken).toBe(1);
  expect(played.wrong).toHaveLength(1);
  expect(played.wrong[0]).toMatch(tracePath(2, 500));
});
