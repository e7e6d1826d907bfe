/** The connection of the page to a node: what was before it, a break, refusals, the token. */

import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SampleOptions, sampleAnswers, sampleBusiest, samplePeers } from '../node/sample-data.ts';
import { SAMPLE_TOKEN, type SampleNode, startSampleNode } from '../node/sample-node.ts';
import { openPage, startBrowser } from './open-page.ts';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const THREE: SampleOptions = { peers: 3 };
const patient = { timeout: 30_000 };

let browser: Browser;
const nodes: SampleNode[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await Promise.all(nodes.map((node) => node.close()));
});

async function start(options: SampleOptions = THREE): Promise<SampleNode> {
  const node = await startSampleNode(DIST, options);
  nodes.push(node);
  return node;
}

test('answers from before the page was opened are shown, though the stream tells none', async () => {
  const node = await start();
  const { page, problems } = await openPage(browser, '#/now', { address: node.address });
  await page.waitForSelector('.answers li');
  const last = sampleAnswers(THREE).at(-1)!;
  expect(await page.locator('.answers li').first().textContent()).toContain(last.url);
  expect(problems).toEqual([]);
  await page.close();
});

test('the history and the answers are asked for again after a break, and after events left out', async () => {
  const node = await start();
  const { page } = await openPage(browser, '#/now', { address: node.address });
  await page.waitForSelector('.answers li');
  const asked = () => ['history', 'answers', 'events'].map((endpoint) => node.asked.get(endpoint) ?? 0);
  await expect.poll(asked, patient).toEqual([1, 1, 1]);
  node.cut();
  await expect.poll(asked, patient).toEqual([2, 2, 2]);
  await page.waitForSelector('[role=alert]', { state: 'detached' });
  node.send({ kind: 'reset', data: {} });
  await expect.poll(asked, patient).toEqual([3, 3, 2]);
  await page.close();
});

test('a page without a stream says why, and opens as soon as there is a place', async () => {
  const node = await start();
  const reasons: [status: number, text: string][] = [
    [503, 'as many consoles are open as it serves'],
    [404, 'older than this page'],
    [500, 'it answers 500'],
  ];
  node.refuse(503);
  const { page } = await openPage(browser, '#/now', { address: node.address });
  for (const [status, text] of reasons) {
    node.refuse(status);
    await expect.poll(() => page.locator('[role=alert]').textContent(), patient).toContain(text);
  }
  node.refuse(null);
  await page.waitForSelector('[data-fact=hitRatio]', patient);
  expect(await page.locator('[role=alert]').count()).toBe(0);
  await page.close();
});

test('the list of busiest objects says what it leaves out', async () => {
  const node = await start();
  const { page } = await openPage(browser, '#/now', { address: node.address });
  const list = page.getByRole('region', { name: 'Busiest objects' });
  await expect.poll(() => list.textContent(), patient).toContain('of them is here');
  node.send({ kind: 'busiest', data: { ...sampleBusiest(THREE), more: 31 } });
  await expect.poll(() => list.textContent(), patient).toContain('31 more have that share');
  expect(await list.textContent()).not.toContain('of them is here');
  await page.close();
});

test('300 neighbours: 256 are drawn, the table has all, and the counts are those of all', async () => {
  const node = await start({ peers: 300 });
  const { page, problems } = await openPage(browser, '#/neighbours', { address: node.address });
  await page.waitForSelector('.fleet .peer');
  expect(await page.locator('.fleet .peer').count()).toBe(256);
  expect(await page.locator('tr[data-peer]').count()).toBe(300);
  const down = samplePeers({ peers: 300 }).peers.filter(({ state }) => state === 'down').length;
  const text = await page.locator('.fleet figcaption').textContent();
  expect(text).toContain(`${down} down`);
  expect(text).toContain('The first 256 are drawn');
  expect(problems).toEqual([]);
  await page.close();
});

test('a tab in the background asks for no picture of the fleet', async () => {
  const node = await start();
  const { page } = await openPage(browser, '#/neighbours', { address: node.address });
  const setHidden = (isHidden: boolean) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  await page.waitForSelector('.fleet');
  await setHidden(true);
  await page.locator('details > summary').first().click();
  await page.waitForSelector('details[open] [role=status]');
  expect(node.asked.get('fleet')).toBeUndefined();
  await setHidden(false);
  await page.waitForSelector('.matrix canvas');
  expect(node.asked.get('fleet')).toBe(1);
  await page.close();
});

test.each([
  '#token=%zz%zz%zz%zz%zz%zz%zz%zz',
  '#token=short',
  '#token=%E0%A4%A4%E0%A4%A4%E0%A4%A4%E0%A4%A4%E0%A4%A4%E0%A4%A4',
])('the fragment %s is no token: the page opens, and its address has none', async (fragment) => {
  const node = await start();
  const { page, problems } = await openPage(browser, fragment, { address: node.address });
  await page.waitForSelector('[data-fact=hitRatio]');
  expect(page.url()).toBe(node.address);
  expect(problems).toEqual([]);
  await page.close();
});

test('a browser that forbids storage keeps the token as long as the page', async () => {
  const node = await start();
  const page = await browser.newPage();
  await page.addInitScript(() => {
    Object.defineProperty(globalThis, 'sessionStorage', {
      get() {
        throw new DOMException('denied', 'SecurityError');
      },
    });
  });
  await page.goto(`${node.address}#token=${SAMPLE_TOKEN}`);
  await page.getByRole('link', { name: 'Neighbours' }).click();
  await page.locator('#who-url').fill('http://e.example/');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-who]');
  await page.getByRole('button', { name: 'Ask them' }).click();
  await page.waitForSelector('[data-truth=has]');
  await page.close();
});

test('a token that the node does not take is called so, and another one can be given', async () => {
  const node = await start();
  const { page } = await openPage(browser, '#/neighbours', { address: node.address });
  await page.locator('#who-url').fill('http://e.example/');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Ask them' }).click();
  const notice = page.getByRole('alert');
  await notice.waitFor();
  expect(await notice.textContent()).toContain('This needs the token');
  await page.locator('#token').fill('a wrong token that is long');
  await page.getByRole('button', { name: 'Use it in this tab' }).click();
  await expect.poll(() => notice.textContent(), patient).toContain('does not take this token');
  await page.locator('#token').fill(` ${SAMPLE_TOKEN} `);
  await page.getByRole('button', { name: 'Use it in this tab' }).click();
  await page.waitForSelector('[data-truth=has]');
  await page.close();
});
