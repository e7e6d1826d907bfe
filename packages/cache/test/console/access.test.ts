/** Attacks on the admin endpoints of a whole node: other sites, other hosts, guessed tokens. */

import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { ask, startOrigin, startTestNode } from '../node/scratch.ts';

const TOKEN = 'a-token-of-the-operator';
const ADMIN = { 'Bloomery-Admin': '1' };
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const PURGE = '/.bloomery/purge?url=http%3A%2F%2Fexample.org%2F';

async function post(port: number, headers: Record<string, string>, path = '/.bloomery/token') {
  return ask(port, path, { method: 'POST', headers });
}

test('a POST of this machine and of no browser needs no token, unless the operator set one', async () => {
  const node = await startTestNode({});
  expect((await post(node.port, ADMIN, PURGE)).status).toBe(200);
  expect((await post(node.port, ADMIN)).body).toBe('{"v":1,"ok":true}\n');
  const strict = await startTestNode({ adminToken: TOKEN });
  for (const path of [PURGE, '/.bloomery/token', '/.bloomery/warm?stop']) {
    const refused = await post(strict.port, ADMIN, path);
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect((await post(strict.port, { ...ADMIN, ...bearer(`${TOKEN}x`) }, path)).status).toBe(401);
  }
  expect((await post(strict.port, { ...ADMIN, ...bearer(TOKEN) }, PURGE)).status).toBe(200);
  // Reading needs none.
  expect((await ask(strict.port, '/.bloomery/status')).status).toBe(200);
  expect((await ask(strict.port, '/.bloomery/history')).status).toBe(200);
});

test('a POST of a browser needs the token, on the same page as well', async () => {
  const node = await startTestNode({});
  const page = { ...ADMIN, 'Sec-Fetch-Site': 'same-origin', Origin: `http://127.0.0.1:${node.port}` };
  const own = { ...page, Host: `127.0.0.1:${node.port}` };
  expect((await post(node.port, own)).status).toBe(401);
  expect((await post(node.port, { ...own, ...bearer('wrong-wrong-wrong-wrong') })).status).toBe(401);
  expect((await post(node.port, { ...own, ...bearer(node.drawnToken!) })).status).toBe(200);
});

test('a POST of another site is refused, with the right token and before it is looked at', async () => {
  const node = await startTestNode({});
  const good = { ...ADMIN, ...bearer(node.drawnToken!), Host: `127.0.0.1:${node.port}` };
  const attacks: Record<string, string>[] = [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'http://attacker.example' },
    { Origin: 'null' },
    { Origin: `http://127.0.0.1:${node.port + 1}` },
    { Origin: 'http://127.0.0.1' },
    { Host: 'rebound.example' },
    { Host: 'rebound.example:3128' },
    { Host: '127.0.0.1.attacker.example' },
    { Host: 'localhost.attacker.example' },
    { 'X-Forwarded-For': '127.0.0.1' },
    { Via: '1.1 proxy' },
  ];
  for (const attack of attacks) {
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await post(node.port, {
        ...good,
        ...bearer('guess-guess-guess'),
        ...attack,
      });
      expect(status, JSON.stringify(attack)).toBe(403);
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  }
  const { 'Bloomery-Admin': _, ...plainForm } = good;
  expect((await post(node.port, plainForm)).status).toBe(403);
  // None of the 36 guesses was counted.
  expect((await post(node.port, good)).status).toBe(200);
});

test('a preflight is refused, without CORS fields', async () => {
  const node = await startTestNode({});
  for (const path of ['events', 'history', 'token', 'purge']) {
    const { status, headers } = await ask(node.port, `/.bloomery/${path}`, {
      method: 'OPTIONS',
      headers: {
        Origin: `http://127.0.0.1:${node.port}`,
        Host: `127.0.0.1:${node.port}`,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,bloomery-admin',
      },
    });
    expect(status).toBe(405);
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  }
});

test('guessing ends after ten wrong tokens, for the right one as well', async () => {
  const node = await startTestNode({ adminToken: TOKEN });
  const guess = (token: string) => post(node.port, { ...ADMIN, ...bearer(token) });
  for (let i = 0; i < 10; i++) expect((await guess(`guess-number-${i}-of-ten`)).status).toBe(401);
  const locked = await guess(TOKEN);
  expect(locked.status).toBe(429);
  expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0);
  // A request without a token is not counted, and is told what is missing.
  expect((await post(node.port, ADMIN)).status).toBe(401);
  expect((await ask(node.port, '/.bloomery/status')).status).toBe(200);
});

test('a reverse proxy without an admin port of its own tells its console to no browser', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url] });
  const site = { 'Sec-Fetch-Site': 'same-origin' };
  expect((await ask(node.port, '/.bloomery/history')).status).toBe(200);
  expect((await ask(node.port, '/.bloomery/history', { headers: site })).status).toBe(403);
  const own = { Origin: `http://127.0.0.1:${node.port}`, Host: `127.0.0.1:${node.port}` };
  expect((await ask(node.port, '/.bloomery/history', { headers: own })).status).toBe(403);
  const apart = await startTestNode({ upstream: [origin.url], adminListen: '127.0.0.1:0' });
  expect((await ask(apart.adminListen!.port, '/.bloomery/history', { headers: site })).status).toBe(200);
});

test('answers are for their own origin, are not stored, and set no cookie', async () => {
  const node = await startTestNode({});
  for (const path of ['history', 'history?span=x', 'nothing', 'status'])
    for (const headers of [{}, { Host: 'rebound.example' }]) {
      const answer = await ask(node.port, `/.bloomery/${path}`, { headers });
      expect(answer.headers).toMatchObject({
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      });
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
});

test('malformed and oversized requests are refused, and the node goes on', async () => {
  const node = await startTestNode({});
  const targets = [
    '/.bloomery/history?span=%ff%fe',
    `/.bloomery/history?span=${'x'.repeat(5000)}`,
    '/.bloomery/%65vents',
    '/.bloomery//events',
    '/.bloomery/events/',
    '/.bloomery/../events',
    '/.bloomery/constructor',
    '/.bloomery/__proto__',
    '/.bloomery/toString',
  ];
  for (const target of targets) {
    const { status } = await ask(node.port, target);
    expect(status, target).toBeGreaterThanOrEqual(400);
    expect(status, target).toBeLessThan(500);
  }
  for (const bytes of [
    'GET /.bloomery/events HTTP/1.1\r\nHost: a\0b\r\n\r\n',
    `POST /.bloomery/token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\nBloomery-Admin: 1\r\n\r\n`,
  ]) {
    const text = await new Promise<string>((resolve) => {
      let got = '';
      const socket = connect({ host: '127.0.0.1', port: node.port }, () => socket.write(bytes));
      socket.on('data', (chunk) => {
        got += chunk;
        if (got.includes('\r\n\r\n')) socket.destroy();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(got));
    });
    expect(text).toMatch(/^HTTP\/1\.1 [24]\d\d /);
  }
  expect((await ask(node.port, '/.bloomery/health')).body).toBe('ok\n');
});
