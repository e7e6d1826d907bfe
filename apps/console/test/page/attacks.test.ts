/**
 * Attacks on the console of a real node by other pages in the same browser, by rebound names, by
 * guesses, and by URLs and fields of traffic that the page shows.
 */

import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { type Browser, chromium, type Frame } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BROWSER, openPage } from './open-page.ts';

const COMMAND = fileURLToPath(new URL('../../../../packages/bloomery/bin/bloomery.js', import.meta.url));
const TOKEN = 'the-token-of-this-node';
const patient = { timeout: 60_000 };

/** Text that has become a script in some page, somewhere. */
const CORPUS = [
  '<script>attacked()</script>',
  '"><script>attacked()</script>',
  "'><img src=x onerror=attacked()>",
  '<img/src=`x`onerror=attacked()>',
  '<svg/onload=attacked()>',
  '<svg><script>attacked()</script></svg>',
  '<iframe srcdoc="<script>parent.attacked()</script>">',
  '<iframe src=javascript:parent.attacked()>',
  '<math><mtext><style><img src=x onerror=attacked()></style></mtext></math>',
  '<details open ontoggle=attacked()>',
  '<input autofocus onfocus=attacked()>',
  '<a href=javascript:attacked()>link</a>',
  'javascript:attacked()//',
  '</title><script>attacked()</script>',
  '</summary></details><script>attacked()</script>',
  '--><script>attacked()</script><!--',
  '{{constructor.constructor("attacked()")()}}',
  '<base href=//attacker.example>',
  '<meta http-equiv=refresh content="0;url=//attacker.example">',
  '<link rel=stylesheet href=//attacker.example/x.css>',
  '<form action=//attacker.example><button>x',
  '%3Cscript%3Eattacked()%3C/script%3E',
  '&lt;script&gt;attacked()&lt;/script&gt;',
] as const;

let browser: Browser;
let fleet: Fleet;
let node: FleetNode;
let origin: Server;
let originUrl: string;
let attacker: Server;
let attackerUrl: string;
/** The page of the attacker. */
let attack = '';

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  browser = await chromium.launch({
    ...BROWSER,
    args: [...BROWSER.args, '--host-resolver-rules=MAP rebound.example 127.0.0.1'],
  });
  origin = createServer((request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600');
    // A cache before this one, whose name is an attack.
    response.setHeader('Cache-Status', `"${CORPUS[0]}"; hit`);
    response.end(`body of ${request.url}`);
  });
  originUrl = `http://127.0.0.1:${await listening(origin)}`;
  attacker = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(attack);
  });
  // Another site for the browser: localhost is not 127.0.0.1.
  attackerUrl = `http://localhost:${await listening(attacker)}/`;
  fleet = await Fleet.start({
    nodes: 1,
    cooperates: false,
    program: (file) => [COMMAND, 'cache', '--quiet', '--config', file],
    settings: () => ({ forward: true, allowPrivate: true, adminToken: TOKEN }),
  });
  node = fleet.nodes[0]!;
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await fleet?.[Symbol.asyncDispose]();
  origin?.close();
  attacker?.close();
});

const adminOf = (endpoint: string) => `http://127.0.0.1:${node.port}/.bloomery/${endpoint}`;

/** Sends a request as bytes, because Node's client refuses some of these targets. */
function sendRaw(target: string, field = ''): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: node.port }, () => {
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: ${new URL(originUrl).host}\r\n${field}Connection: close\r\n\r\n`,
      );
    });
    socket.resume();
    socket.once('error', reject);
    socket.once('close', () => resolve());
  });
}

test('a page of another site can change nothing, read nothing, and put the console in no frame', async () => {
  const kept = `${originUrl}/kept`;
  await sendRaw(kept);
  const purge = adminOf(`purge?url=${encodeURIComponent(kept)}`);
  attack = `<!doctype html><title>attack</title>
    <iframe name=sink></iframe>
    <iframe name=framed src="${adminOf('console/')}"></iframe>
    <form method=post target=sink action="${purge}"><input name=x></form>
    <script src="${adminOf('console/console.js')}"></script>`;
  const page = await browser.newPage();
  await page.goto(attackerUrl);
  const outcomes = await page.evaluate(
    async ([purgeUrl, adminUrl, token]) => {
      const tried = async (make: () => Promise<unknown>): Promise<string> => {
        try {
          return JSON.stringify(await make()) ?? 'nothing';
        } catch {
          return 'refused';
        }
      };
      const read = (endpoint: string, options: RequestInit = {}) =>
        tried(async () => (await fetch(`${adminUrl}${endpoint}`, options)).text());
      const stream = () =>
        tried(
          () =>
            new Promise((resolve, reject) => {
              const source = new EventSource(`${adminUrl}events`);
              source.addEventListener('hello', () => resolve('read'));
              source.onerror = reject;
            }),
        );
      return {
        plain: await tried(async () => (await fetch(purgeUrl!, { method: 'POST', mode: 'no-cors' })).type),
        withField: await read('token', { method: 'POST', headers: { 'Bloomery-Admin': '1' } }),
        withToken: await read('token', {
          method: 'POST',
          headers: { 'Bloomery-Admin': '1', Authorization: `Bearer ${token}` },
        }),
        status: await read('status'),
        answers: await read('answers'),
        page: await read('console/'),
        stream: await stream(),
        script: typeof (globalThis as { bloomeryConsole?: unknown }).bloomeryConsole,
      };
    },
    [purge, adminOf(''), TOKEN],
  );
  expect(outcomes).toEqual({
    // It was sent, and its answer is opaque. That it did nothing is checked below.
    plain: expect.stringMatching(/"opaque"|refused/),
    withField: 'refused',
    withToken: 'refused',
    status: 'refused',
    answers: 'refused',
    page: 'refused',
    stream: 'refused',
    script: 'undefined',
  });
  const sent = page.waitForResponse((response) => response.url() === purge);
  await page.evaluate(() => document.forms[0]!.submit());
  expect((await sent).status()).toBe(403);
  const framed = page.frame('framed') as Frame;
  expect(await framed.locator('#console').count()).toBe(0);
  const own = await fetch(adminOf(`who?url=${encodeURIComponent(kept)}`));
  expect(await own.json()).toMatchObject({ local: { isStored: true } });
  await page.close();
});

test('the console is framed by no page, not even one of its own address', async () => {
  // As a page of the same origin would frame it, if there were one: by what the field says.
  const answer = await fetch(adminOf('console/'));
  expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  const page = await browser.newPage();
  await page.goto(adminOf('health'));
  await page.evaluate((address) => {
    const frame = document.createElement('iframe');
    frame.name = 'framed';
    frame.src = address;
    document.body.append(frame);
    return new Promise((resolve) => frame.addEventListener('load', resolve));
  }, adminOf('console/'));
  expect(await (page.frame('framed') as Frame).locator('#console').count()).toBe(0);
  await page.close();
});

test('a name that was rebound to this machine reaches nothing', async () => {
  const page = await browser.newPage();
  for (const endpoint of ['console/', 'console/console.js', 'events', 'status', 'answers', 'history']) {
    const answer = await page.goto(`http://rebound.example:${node.port}/.bloomery/${endpoint}`);
    expect([endpoint, answer?.status()]).toEqual([endpoint, 403]);
    expect(await page.locator('#console').count()).toBe(0);
  }
  // From a page of that name the browser calls it the same origin.
  const statuses = await page.evaluate(async (token) => {
    const headers = { 'Bloomery-Admin': '1', Authorization: `Bearer ${token}` };
    const answers = [await fetch('status'), await fetch('token', { method: 'POST', headers })];
    return answers.map(({ status }) => status);
  }, TOKEN);
  expect(statuses).toEqual([403, 403]);
  await page.close();
});

test('markup in URLs, methods and fields of traffic is text on the page', { timeout: 240_000 }, async () => {
  const { page, problems } = await openPage(browser, '#/now', { address: adminOf('console/') });
  await page.evaluate(() => {
    (globalThis as { attacked?: () => void }).attacked = () => {
      document.title = 'attacked';
    };
  });
  await page.waitForSelector('[data-fact=hitRatio]');
  const shown = async () => (await page.locator('.answers').textContent()) ?? '';
  const counted = () =>
    page.evaluate(() => ({
      scripts: document.querySelectorAll('main script, main iframe, main img, main form, main base').length,
      links: document.querySelectorAll('main a[href^=javascript], main link, main meta').length,
      handlers: [...document.querySelectorAll('main *')].filter((element) =>
        [...element.attributes].some(({ name }) => name.startsWith('on')),
      ).length,
      title: document.title,
    }));
  const clean = { scripts: 0, links: 0, handlers: 0, title: 'Now · Bloomery console' };
  // The list has 15 rows.
  for (let from = 0; from < CORPUS.length; from += 12) {
    const part = CORPUS.slice(from, from + 12);
    for (const text of part) {
      // A space would end the target.
      const field = `User-Agent: ${text}\r\nReferer: ${text}\r\nX-Attack: ${text}\r\n`;
      await sendRaw(`${originUrl}/${text.replaceAll(' ', '/**/')}`, field);
    }
    for (const text of part) await expect.poll(shown, patient).toContain(text.replaceAll(' ', '/**/'));
    expect(await counted()).toEqual(clean);
  }
  // The busiest objects name them as well, once the node tells them.
  for (let i = 0; i < 3; i++) await sendRaw(`${originUrl}/<svg/onload=attacked()>`);
  const busiest = page.getByRole('region', { name: 'Busiest objects' });
  await expect.poll(() => busiest.textContent(), patient).toContain('<svg/onload=attacked()>');
  expect(await counted()).toEqual(clean);

  await page.getByRole('link', { name: 'Neighbours' }).click();
  await page.waitForSelector('main .notice');
  await page.goto(`${adminOf('console/')}#/plan?${CORPUS.map((text, i) => `a${i}=${text}`).join('&')}&n=<b>`);
  await page.waitForSelector('.plots');
  expect(await page.evaluate(() => document.querySelectorAll('main script, main b').length)).toBe(0);
  expect(problems).toEqual([]);
  await page.close();
});

test('a token is not guessed by the page: after ten guesses the node takes none', async () => {
  const page = await browser.newPage();
  await page.goto(adminOf('console/'));
  const statuses = await page.evaluate(async () => {
    const all: number[] = [];
    for (let i = 0; i < 12; i++) {
      const headers = { 'Bloomery-Admin': '1', Authorization: `Bearer guess-number-${i}-of-twelve` };
      all.push((await fetch('../token', { method: 'POST', headers })).status);
    }
    return all;
  });
  expect(statuses).toEqual([...new Array(10).fill(401), 429, 429]);
  // The page itself goes on: reading needs no token.
  await page.waitForSelector('[data-fact=hitRatio]');
  expect(node.isRunning).toBe(true);
  await page.close();
});
