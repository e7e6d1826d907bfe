/** The views of a node in Chromium, on sample data: what they draw, and what they do without it. */

import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer, Peer } from '../../src/node/node-api.ts';
import {
  type SampleOptions,
  sampleAnswers,
  sampleCounts,
  sampleHello,
  samplePeers,
} from '../node/sample-data.ts';
import { SAMPLE_TOKEN, type SampleNode, startSampleNode } from '../node/sample-node.ts';
import { openPage, startBrowser } from './open-page.ts';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const THREE: SampleOptions = { peers: 3 };

let browser: Browser;
const nodes: SampleNode[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await Promise.all(nodes.map((node) => node.close()));
});

async function start(options: SampleOptions): Promise<SampleNode> {
  const node = await startSampleNode(DIST, options);
  nodes.push(node);
  return node;
}

test('Now shows the counts of the node, and follows them', async () => {
  const node = await start(THREE);
  const { page, problems } = await openPage(browser, '#/now', { address: node.address });
  const fact = (name: string) => page.locator(`[data-fact=${name}]`);
  await fact('hitRatio').waitFor();
  const { requests } = sampleCounts(THREE);
  const local = requests.hit + requests.stale + requests.collapsed;
  const all = local + requests.neighbour + requests.miss + requests.validated;
  expect(await fact('hitRatio').getAttribute('data-value')).toBe(String((local + requests.neighbour) / all));
  expect(await fact('falseHits').getAttribute('data-value')).toBe('61');
  node.send({ kind: 'counts', data: sampleCounts(THREE, 4) });
  await expect.poll(() => fact('rate').getAttribute('data-value'), { timeout: 20_000 }).toBe('43');
  await page.waitForSelector('.time-plot canvas');
  expect(await page.locator('.time-plot').count()).toBe(5);
  expect(problems).toEqual([]);
  await page.close();
});

test('an answer tells its story, and markup in it is text', async () => {
  const node = await start(THREE);
  const { page, problems } = await openPage(browser, '#/now', { address: node.address });
  await page.waitForSelector('.answers li');
  const attack = '"><img src=x onerror="document.title=1"><script>document.title=2</script>';
  const answer: Answer = {
    ...sampleAnswers(THREE)[4],
    id: 1000,
    url: `http://e.example/${attack}`,
    reason: attack,
    cacheStatus: attack,
    neighbours: attack,
    notStored: attack,
    method: attack,
  };
  node.send({ kind: 'answers', data: { answers: [answer], skipped: 5 } });
  const row = page.locator('.answers details', { hasText: 'e.example' });
  await row.waitFor();
  await row.locator('summary').focus();
  await page.keyboard.press('Enter');
  expect(await row.locator('.story').textContent()).toContain(attack);
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(await page.title()).toBe('Now · Bloomery console');
  expect(await page.locator('main').textContent()).toContain('5 more were too quick');
  expect(problems).toEqual([]);
  await page.close();
});

test('a story that is open stays while answers go on', async () => {
  const node = await start(THREE);
  const { page, problems } = await openPage(browser, '#/now', { address: node.address });
  const answers = sampleAnswers(THREE);
  const read = page.locator('.answers details').first();
  await read.locator('summary').click();
  const url = await read.locator('.what').textContent();
  await page.getByRole('button', { name: 'Let it run' }).waitFor();
  const more = Array.from({ length: 30 }, (_, i) => ({
    ...answers[0]!,
    id: 2000 + i,
    url: 'http://more.example/',
  }));
  node.send({ kind: 'answers', data: { answers: more, skipped: 11 } });
  await expect.poll(() => page.locator('main').textContent(), { timeout: 20_000 }).toContain('11 more were');
  expect(await read.locator('.what').textContent()).toBe(url);
  expect(await read.evaluate((element: HTMLDetailsElement) => element.open)).toBe(true);
  await page.getByRole('button', { name: 'Let it run' }).click();
  expect(await page.locator('.answers').textContent()).toContain('more.example');
  expect(problems).toEqual([]);
  await page.close();
});

test('a neighbour that goes down is shown as such, and one that leaves is gone', async () => {
  const node = await start(THREE);
  const { page, problems } = await openPage(browser, '#/neighbours', { address: node.address });
  const [first] = samplePeers(THREE).peers;
  const row = page.locator(`[data-peer="${first.address}"]`);
  await row.waitFor();
  expect(await row.getAttribute('data-mood')).toBe('up');
  const down: Peer = { ...first, state: 'down', id: '<img src=x onerror=document.title=3>' };
  node.send({ kind: 'peers', data: { isFull: false, own: null, groups: null, peers: [down], gone: [] } });
  await expect.poll(() => row.getAttribute('data-mood'), { timeout: 20_000 }).toBe('down');
  expect(await page.locator('.fleet figcaption').textContent()).toContain('0 up, 1 avoided, 2 down');
  node.send({
    kind: 'peers',
    data: { isFull: false, own: null, groups: null, peers: [], gone: [first.address] },
  });
  await row.waitFor({ state: 'detached' });
  expect(problems).toEqual([]);
  await page.close();
});

test('who has this URL: positions without a token, the truth with one', async () => {
  const node = await start(THREE);
  const { page, problems } = await openPage(browser, '#/neighbours', { address: node.address });
  await page.locator('#who-url').fill('http://e.example/<b>absent</b>?q=1&x=2');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-who="http://e.example/<b>absent</b>?q=1&x=2"]');
  expect(await page.locator('[data-answer=maybe]').textContent()).toContain('position 123,456,789');
  await page.getByRole('button', { name: 'Ask them' }).click();
  await page.locator('#token').fill(SAMPLE_TOKEN);
  await page.getByRole('button', { name: 'Use it in this tab' }).click();
  await page.waitForSelector('[data-truth=has]');
  // The refusal of the first question is an error of the network in the browser's own log.
  expect(problems.filter((text) => !text.includes('401'))).toEqual([]);
  await page.close();
});

test('a token in the address is taken out of it before anything is drawn', async () => {
  const node = await start(THREE);
  const { page } = await openPage(browser, `#token=${SAMPLE_TOKEN}`, { address: node.address });
  await page.waitForSelector('[data-fact=hitRatio]');
  expect(page.url()).toBe(node.address);
  await page.getByRole('link', { name: 'Neighbours' }).click();
  await page.locator('#who-url').fill('http://e.example/');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-who]');
  await page.getByRole('button', { name: 'Ask them' }).click();
  await page.waitForSelector('[data-truth=has]');
  await page.close();
});

test('256 neighbours are a picture and a table that can be searched', async () => {
  const node = await start({ peers: 256 });
  const { page, problems } = await openPage(browser, '#/neighbours', { address: node.address });
  await page.waitForSelector('.fleet .peer');
  expect(await page.locator('.fleet .peer').count()).toBe(256);
  for (const median of await page.locator('tr[data-peer] td:last-child').allTextContents())
    expect(median).toMatch(/^\d\.\d\d ms$/);
  await page.locator('#peer-filter').fill('rack-3');
  await expect.poll(() => page.locator('tr[data-peer]').count(), { timeout: 20_000 }).toBe(32);
  await page.locator('tr[data-peer] button').first().click();
  await page.waitForSelector('.chosen-place h2');
  // The name is told once. Ages change each second, and would be read out each time.
  expect(await page.locator('.chosen-place [role=status]').textContent()).toMatch(
    /^The link to cache-\d+ is/,
  );
  expect(await page.locator('[aria-live] dl, [role=status] dl').count()).toBe(0);
  expect(problems).toEqual([]);
  await page.close();
});

test('a node that goes away, comes back and starts again is told apart', async () => {
  const node = await start(THREE);
  const { page } = await openPage(browser, '#/now', { address: node.address });
  await page.waitForSelector('[data-fact=hitRatio]');
  node.cut();
  await page.waitForSelector('[role=alert], [data-fact=hitRatio]');
  node.send({ kind: 'hello', data: { ...sampleHello(THREE), state: 'stopping' } });
  await expect
    .poll(
      async () => {
        // A node that started again tells its counts after its hello.
        node.send({ kind: 'hello', data: { ...sampleHello(THREE), startedAt: 5, name: 'again' } });
        node.send({ kind: 'counts', data: { ...sampleCounts(THREE), startedAt: 5 } });
        return page.locator('main').textContent();
      },
      { timeout: 30_000 },
    )
    .toContain('again');
  await page.close();
});

test('without a node the views say how to start one', async () => {
  for (const view of ['now', 'neighbours']) {
    const { page, problems } = await openPage(browser, `#/${view}`);
    expect(await page.locator('.notice').textContent()).toContain('npm start -- --demo');
    expect(problems).toEqual([]);
    await page.close();
  }
});
