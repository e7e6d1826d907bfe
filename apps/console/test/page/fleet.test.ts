/** The console of a fleet of three real nodes with real traffic, in Chromium. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FLEET_SECRET, Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { FleetKeyring } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { positionOf } from 'bloomery/wire';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, startBrowser } from './open-page.ts';

const COMMAND = fileURLToPath(new URL('../../../../packages/bloomery/bin/bloomery.js', import.meta.url));
const TOKEN = 'the-token-of-this-fleet';
const patient = { timeout: 60_000 };

let browser: Browser;
let origin: Server;
let originUrl: string;

beforeAll(async () => {
  browser = await startBrowser();
  origin = createServer((request, response) => {
    response.setHeader('Cache-Control', 'max-age=3600');
    response.end(`body of ${request.url} `.repeat(100));
  });
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await browser?.close();
  origin?.close();
});

/** Forward proxies, which serve the console at their own address. */
function startFleet(): Promise<Fleet> {
  return Fleet.start({
    nodes: 3,
    program: (file) => [COMMAND, 'cache', '--quiet', '--config', file],
    settings: (index, folder) => ({
      forward: true,
      allowPrivate: true,
      adminToken: TOKEN,
      disk: join(folder, `disk-${index}`),
    }),
  });
}

/** Fetches an object of the origin through a node. */
function fetchThrough(node: FleetNode, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: node.port, path: `${originUrl}${path}` }, (response) => {
      response.resume();
      response.once('end', resolve);
    }).once('error', reject);
  });
}

const consoleOf = (node: FleetNode) => `http://127.0.0.1:${node.port}/.bloomery/console/`;

async function factOf(page: Page, name: string): Promise<number> {
  return Number(await page.locator(`[data-fact=${name}]`).getAttribute('data-value'));
}

/** The numbers of the page, and the same of the node's own status. */
async function bothSides(page: Page, node: FleetNode) {
  const { requests } = await node.status();
  const sum = (...outcomes: string[]) => outcomes.reduce((all, outcome) => all + (requests[outcome] ?? 0), 0);
  const told = {
    local: sum('hit', 'stale', 'collapsed'),
    peer: sum('neighbour'),
    origin: sum('miss', 'validated'),
  };
  const shown = {
    local: await factOf(page, 'local'),
    peer: await factOf(page, 'peer'),
    origin: await factOf(page, 'origin'),
  };
  return { told, shown };
}

/** The answers of the week: by the file that the page offers, which the plot shows as well. */
async function historyOf(page: Page): Promise<Record<'local' | 'peer' | 'origin', number>> {
  await page.getByRole('button', { name: 'Week' }).click();
  const loading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'JSON' }).click();
  const file = await loading;
  expect(file.suggestedFilename()).toBe('bloomery-week.json');
  const { columns, rows, stepMs } = JSON.parse(readFileSync(await file.path(), 'utf8')) as {
    columns: string[];
    rows: number[][];
    stepMs: number;
  };
  const sumOf = (name: string) => rows.reduce((sum, row) => sum + (row[columns.indexOf(name)] ?? 0), 0);
  const sums = { local: sumOf('local'), peer: sumOf('peer'), origin: sumOf('origin') };
  // The numbers of a plot are those of its table, which has three digits per second.
  const table = page.locator('.time-plot table').first();
  // The table has three digits: an error of half a unit of the sixth place for each row.
  await expect
    .poll(async () => {
      const cells = await table.locator('tbody td').allTextContents();
      return [0, 1, 2].map((column) =>
        cells.reduce((sum, text, i) => (i % 3 === column ? sum + Number(text) : sum), 0),
      );
    }, patient)
    .toEqual(Object.values(sums).map((sum) => expect.closeTo((sum * 1000) / stepMs, 5)));
  return sums;
}

async function lookUp(page: Page, url: string): Promise<Record<string, string>> {
  await page.locator('#who-url').fill(url);
  await page.getByRole('button', { name: 'Look it up' }).click();
  await page.waitForSelector(`[data-who="${url}"]`);
  return answersIn(page, 'data-answer');
}

/** An attribute of the row of each neighbour, by its name. */
async function answersIn(page: Page, attribute: string): Promise<Record<string, string>> {
  const rows = await page.locator('ul.who > li').all();
  const entries = await Promise.all(
    rows.map(async (row) => [
      (await row.locator('strong').textContent()) ?? '',
      (await row.getAttribute(attribute)) ?? '',
    ]),
  );
  return Object.fromEntries(entries) as Record<string, string>;
}

test('the page of a fleet shows what the nodes tell, and who has a URL', { timeout: 240_000 }, async () => {
  await using fleet = await startFleet();
  await fleet.untilCurrent(60_000);
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  for (let i = 0; i < 5; i++) await fetchThrough(first, `/object/${i}`);
  const { page, problems } = await openPage(browser, '#/neighbours', { address: consoleOf(second) });

  // The summary of the first node has come when the page says "maybe".
  const present = `${originUrl}/object/0`;
  await expect.poll(async () => (await lookUp(page, present))[first.name], patient).toBe('maybe');
  for (let i = 0; i < 5; i++) await fetchThrough(second, `/object/${i}`);
  await fetchThrough(second, '/object/0');
  await fetchThrough(second, '/alone');

  await page.goto(`${consoleOf(second)}#/now`);
  await page.waitForSelector('[data-fact=hitRatio]');
  await expect
    .poll(async () => {
      const { told, shown } = await bothSides(page, second);
      return JSON.stringify(told) === JSON.stringify(shown) && shown.peer === 5 && shown.local === 1;
    }, patient)
    .toBe(true);
  // What is asked for twice is in memory and on the disk, and is not added up.
  const { memory, disk } = (await second.status()).stores;
  expect(memory!.responses).toBe(6);
  await expect
    .poll(async () => [await factOf(page, 'inMemory'), await factOf(page, 'onDisk')], patient)
    .toEqual([6, (await second.status()).stores.disk!.responses]);
  expect(disk!.responses).toBeLessThanOrEqual(6);
  // Live: one more request arrives on the page that is open.
  const before = await factOf(page, 'requests');
  await fetchThrough(second, '/object/1');
  await expect.poll(() => factOf(page, 'requests'), patient).toBe(before + 1);
  expect(await page.locator('main').textContent()).toContain(`${originUrl}/object/1`);
  // Those from before the page was opened are there as well.
  expect(await page.locator('main').textContent()).toContain(`${originUrl}/alone`);

  // The page that is open finds the node again, with the history of before.
  const week = await historyOf(page);
  expect(week).toEqual({ local: 2, peer: 5, origin: 1 });
  await second.stop();
  await page.getByRole('alert').waitFor(patient);
  await second.start();
  await page.getByRole('alert').waitFor({ state: 'detached', ...patient });
  expect(await historyOf(page)).toEqual(week);
  expect(await factOf(page, 'requests')).toBe(0);
  await fleet.untilCurrent(60_000);

  // Who has it: present, absent and a false positive.
  await page.goto(`${consoleOf(third)}#/neighbours`);
  await page.waitForSelector('#who-url');
  await expect
    .poll(() => lookUp(page, present), patient)
    .toEqual({ [first.name]: 'maybe', [second.name]: 'maybe' });
  expect(await lookUp(page, `${originUrl}/absent`)).toEqual({ [first.name]: 'no', [second.name]: 'no' });
  const wrong = await falsePositive(third, first.name, present);
  expect((await lookUp(page, wrong))[first.name]).toBe('maybe');
  await page.getByRole('button', { name: 'Ask them' }).click();
  await page.locator('#token').fill('a token that is wrong');
  await page.getByRole('button', { name: 'Use it in this tab' }).click();
  await page.waitForSelector('[role=alert]');
  await page.locator('#token').fill(TOKEN);
  await page.getByRole('button', { name: 'Use it in this tab' }).click();
  await expect.poll(async () => (await answersIn(page, 'data-truth'))[first.name], patient).toBe('has-not');
  expect(await page.locator('ul.who').textContent()).toContain('That was a false positive.');

  await first.kill();
  await expect.poll(() => page.locator('main').textContent(), patient).toContain('1 down');
  // The wrong token was refused, which Chromium reports.
  expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
  await page.close();
});

/** Another URL with the position of an object that a neighbour holds. */
async function falsePositive(node: FleetNode, neighbour: string, present: string): Promise<string> {
  const query = new URLSearchParams({ url: present }).toString();
  const answer = await fetch(`http://127.0.0.1:${node.port}/.bloomery/who?${query}`);
  const { peers } = (await answer.json()) as {
    peers: { id: string; universe: number; positions: { position: number }[] }[];
  };
  const { universe, positions } = peers.find(({ id }) => id === neighbour)!;
  const key = new FleetKeyring([new TextEncoder().encode(FLEET_SECRET)]).first.summary;
  for (let i = 0; i < 50 * universe; i++) {
    const url = `${originUrl}/false/${i}`;
    if (positionOf(hashKey(url, { key }), universe) === positions[0]!.position) return url;
  }
  throw new Error('Cannot find a false positive: expected one in many URLs, got none');
}

test('a dropped filter file answers like the command', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'console-command-'));
  try {
    const keys = Array.from({ length: 500 }, (_, i) => `word ${i}`);
    writeFileSync(join(folder, 'keys'), `${keys.join('\n')}\n`);
    const run = (args: string[], input = '') =>
      execFileSync(process.execPath, [COMMAND, ...args], { cwd: folder, input, encoding: 'utf8' });
    run(['build', 'keys', '--rate', '0.2', '-o', 'words.blm']);
    const asked = [...keys.slice(0, 3), ...Array.from({ length: 12 }, (_, i) => `other ${i}`)];
    const maybe = new Set(
      run(['check', 'words.blm'], `${asked.join('\n')}\n`)
        .trim()
        .split('\n'),
    );
    expect(maybe.size).toBeGreaterThan(3);
    expect(maybe.size).toBeLessThan(asked.length);
    const { page, problems } = await openPage(browser, '#/inside');
    await page.locator('input[type=file]').setInputFiles(join(folder, 'words.blm'));
    await page.waitForSelector('[data-opened]', patient);
    for (const key of asked) {
      await page.locator('#file-key').fill(key);
      await page.locator('[data-opened] .key-row button').click();
      const answer = page.locator('[data-answer]');
      await expect
        .poll(() => answer.textContent(), patient)
        .toContain(`${maybe.has(key) ? 'Maybe' : 'Certainly not'}: “${key}”`);
    }
    expect(problems).toEqual([]);
    await page.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
