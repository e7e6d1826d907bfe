/**
 * git through a node: the smart protocol is a conversation about what is there now, and must pass
 * as it is, uncached, in both ways a node can be asked. The server is git's own, behind a few lines
 * of CGI (RFC 3875).
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  cleanEnvironment,
  clientFolder,
  fileSha256,
  need,
  run,
} from '@bloomery/testkit/programs/client-program';
import { expect, it } from 'vitest';
import { startClientNode } from './client-node.ts';

const folder = clientFolder();

const git = (where: string, ...args: string[]) =>
  run(
    'git',
    [
      '-C',
      where,
      '-c',
      'user.name=Nobody',
      '-c',
      'user.email=nobody@localhost',
      '-c',
      'core.hooksPath=/dev/null',
      ...args,
    ],
    { env: { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' } },
  );

it('clones, fetches what is new and pushes, by prefix and by forward proxy', async (context) => {
  need(context, 'git');
  const [work, bare] = [join(folder, 'work'), join(folder, 'served/repo.git')];
  mkdirSync(work);
  mkdirSync(join(folder, 'served'));
  const commit = async (where: string, name: string) => {
    writeFileSync(join(where, name), randomBytes(1_500_000));
    await git(where, 'add', name);
    await git(where, 'commit', '-q', '-m', name);
    return (await git(where, 'rev-parse', 'HEAD')).stdout.toString();
  };
  await git(work, 'init', '-q', '-b', 'main');
  let head = await commit(work, 'first');
  await git(folder, 'clone', '-q', '--bare', work, bare);
  await git(bare, 'config', 'http.receivepack', 'true');

  await using server = await startGitServer(join(folder, 'served'));
  await using node = await startClientNode(
    '--forward',
    '--allow-private',
    '--upstream',
    `/git/=${server.origin}/`,
  );
  const check = async (clone: string) => {
    expect((await git(clone, 'rev-parse', 'origin/main')).stdout.toString()).toBe(head);
    await git(clone, 'fsck', '--full', '--strict');
  };
  const [reverse, forward] = [join(folder, 'reverse'), join(folder, 'forward')];
  await git(folder, 'clone', '-q', `${node.url}/git/repo.git`, reverse);
  await git(folder, '-c', `http.proxy=${node.url}`, 'clone', '-q', `${server.origin}/repo.git`, forward);
  for (const clone of [reverse, forward]) {
    await check(clone);
    expect(fileSha256(join(clone, 'first'))).toBe(fileSha256(join(work, 'first')));
  }
  // By the node, in chunks: more than git sends in one piece.
  head = await commit(reverse, 'second');
  await git(reverse, 'push', '-q', 'origin', 'main');
  expect((await git(bare, 'rev-parse', 'main')).stdout.toString()).toBe(head);
  await git(forward, '-c', `http.proxy=${node.url}`, 'fetch', '-q');
  await check(forward);
  const { requests } = await node.status();
  expect([requests.hit, requests.stale, requests.error]).toEqual([0, 0, 0]);
  expect(requests.total).toBe(server.requests());
});

interface GitServer extends AsyncDisposable {
  readonly origin: string;
  requests(): number;
}

async function startGitServer(root: string): Promise<GitServer> {
  let requests = 0;
  const server = createServer((req, res) => {
    requests++;
    serve(root, req, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serve(root: string, req: IncomingMessage, res: ServerResponse): void {
  const url = new URL(req.url!, 'http://localhost');
  const fields = Object.entries(req.headers).map(([name, value]) => [
    `HTTP_${name.toUpperCase().replaceAll('-', '_')}`,
    String(value),
  ]);
  const { 'content-type': type, 'content-length': length } = req.headers;
  const child = spawn('git', ['http-backend'], {
    env: {
      ...cleanEnvironment(),
      ...Object.fromEntries(fields),
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      REMOTE_USER: 'nobody',
      REMOTE_ADDR: '127.0.0.1',
      REQUEST_METHOD: req.method!,
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      ...(type === undefined ? {} : { CONTENT_TYPE: type }),
      ...(length === undefined ? {} : { CONTENT_LENGTH: length }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => {});
  req.pipe(child.stdin);
  let head: Buffer | null = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (head === null) {
      res.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const lines = head.subarray(0, end).toString('latin1').split('\r\n');
    const pairs = lines.map((line) => line.split(/:\s*/, 2) as [string, string]);
    const status = pairs.find(([name]) => name.toLowerCase() === 'status')?.[1] ?? '200';
    const sent = pairs.filter(([name]) => name.toLowerCase() !== 'status');
    res.writeHead(Number.parseInt(status, 10), sent.flat());
    res.write(head.subarray(end + 4));
    head = null;
  });
  child.stdout.on('end', () => res.end());
}
