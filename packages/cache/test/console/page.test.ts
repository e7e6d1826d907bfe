/** The console's page as a whole node serves it. */

import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { startNode } from '../../src/node/start-node.ts';
import { ask, cleanUp, scratchFolder, startOrigin, startTestNode } from '../node/scratch.ts';

const SCRIPT = 'globalThis.x = 1;\n'.repeat(100);

/** A node with a page of three files. The folder above it has a file that is not served. */
async function startWithPage(flags: Record<string, unknown> = {}) {
  const above = scratchFolder();
  const folder = join(above, 'dist');
  mkdirSync(join(folder, 'views'), { recursive: true });
  writeFileSync(join(above, 'secret.txt'), 'secret');
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>x</title>');
  writeFileSync(join(folder, 'main.js'), SCRIPT);
  writeFileSync(join(folder, 'views', 'plan.css'), 'a{}');
  const config = loadConfig({ flags: { listen: ['127.0.0.1:0'], disk: false, logFormat: 'json', ...flags } });
  const log = new Log({ level: 'error', format: 'json', write: () => {} });
  const node = await startNode(config, { log, consolePage: folder });
  cleanUp(() => node.close(0));
  return Object.assign(node, { port: node.listen[0]!.port });
}

const get = (port: number, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(port, `/.bloomery/console${path}`, { headers, method });

test('console/ serves the page with its policy, and its files by their names', async () => {
  const { port } = await startWithPage();
  const page = await get(port, '/');
  expect([page.status, page.body]).toEqual([200, '<!doctype html><title>x</title>']);
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; worker-src 'self' blob:; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types bloomery-console",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache',
  });
  const script = await get(port, '/main.js?v=1');
  expect([script.headers['content-type'], script.body]).toEqual(['text/javascript; charset=utf-8', SCRIPT]);
  expect((await get(port, '/views/plan.css')).headers['content-type']).toBe('text/css; charset=utf-8');
  const moved = await get(port, '');
  expect([moved.status, moved.headers.location]).toEqual([308, '/.bloomery/console/']);
  const head = await get(port, '/main.js', {}, 'HEAD');
  expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', String(SCRIPT.length)]);
});

test('console/ sends gzip to clients that take it, and 304 to those that have the file', async () => {
  const { port } = await startWithPage();
  const asked = request({
    host: '127.0.0.1',
    port,
    path: '/.bloomery/console/main.js',
    headers: { 'Accept-Encoding': 'br, gzip' },
  }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  expect(response.headers['content-encoding']).toBe('gzip');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe(SCRIPT);
  const plain = await get(port, '/main.js', { 'Accept-Encoding': 'gzip;q=0, identity' });
  expect(plain.headers['content-encoding']).toBeUndefined();
  const tag = plain.headers.etag as string;
  expect(tag).toMatch(/^"[\w-]{22}"$/);
  const same = await get(port, '/main.js', { 'If-None-Match': `"other", W/${tag}` });
  expect([same.status, same.body, same.headers.etag]).toEqual([304, '', tag]);
  expect((await get(port, '/main.js', { 'If-None-Match': '"other"' })).status).toBe(200);
});

test('console/ serves no other file, whatever the path', async () => {
  const { port } = await startWithPage();
  const paths = [
    '/nothing.js',
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/..\\secret.txt',
    '/views',
    '/views/',
    '/views/../main.js',
    '//main.js',
    '/main.js/',
    '/main.js%00.html',
    '/index.html%20',
    '/__proto__',
    '/constructor',
    `/${'x'.repeat(7000)}`,
  ];
  for (const path of paths) {
    const answer = await get(port, path);
    expect([400, 404], path).toContain(answer.status);
    expect(answer.body, path).not.toContain('secret');
  }
});

test('console/ is for GET and HEAD, for own sites and own hosts', async () => {
  const { port } = await startWithPage();
  for (const method of ['POST', 'PUT', 'OPTIONS']) {
    const headers = { 'Bloomery-Admin': '1' };
    expect((await get(port, '/', headers, method)).status).toBe(405);
  }
  expect((await get(port, '/', { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Dest': 'document' })).status).toBe(200);
  expect((await get(port, '/main.js', { 'Sec-Fetch-Site': 'same-origin' })).status).toBe(200);
  // A frame, or a script element, of another site.
  expect((await get(port, '/', { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Dest': 'iframe' })).status).toBe(
    403,
  );
  expect((await get(port, '/main.js', { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
  expect((await get(port, '/', { Host: 'rebound.example' })).status).toBe(403);
});

test('console/ is not served beside pages of other sites', async () => {
  const origin = await startOrigin();
  const { port } = await startWithPage({ upstream: [origin.url] });
  for (const path of ['', '/', '/main.js']) {
    const answer = await get(port, path);
    expect([answer.status, answer.body.includes('--admin-listen')]).toEqual([409, true]);
  }
  const apart = await startWithPage({ upstream: [origin.url], adminListen: '127.0.0.1:0' });
  expect((await get(apart.adminListen!.port, '/')).status).toBe(200);
  // There, the port for clients has no admin endpoints: the path is the origin's.
  expect((await get(apart.port, '/')).headers['content-security-policy']).toBeUndefined();
});

test('console/ says that the page was not built', async () => {
  const { port } = await startTestNode({});
  const answer = await get(port, '/');
  expect([answer.status, answer.body.includes('npm run build')]).toEqual([404, true]);
});
