// Writes a picture of every view into docs/console: light and dark, desktop and phone. `npm run
// screenshots -w @bloomery/console` builds the page first. Names of views as arguments restrict it,
// and --to names another folder.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { BloomFilter } from 'bloomery';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { smallPng } from './small-png.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));
const { values, positionals } = parseArgs({
  options: { to: { type: 'string', default: join(root, '../../docs/console') } },
  allowPositionals: true,
});
const page = pathToFileURL(join(root, 'dist/index.html')).href;

/** @typedef {import('playwright-core').Page} Page */
/** A view of a node has sample data: so many neighbours, or a node without requests.
 * @typedef {{ peers: number, isEmpty?: boolean, urls?: 'hidden' }} Sample */
/** @type {Record<string, { hash: string, prepare?: (page: Page) => Promise<void>, sample?: Sample }>} */
const SHOTS = {
  now: { hash: '#/now', prepare: storyIsTold, sample: { peers: 3 } },
  'now-empty': { hash: '#/now', prepare: plotsAreThere, sample: { peers: 0, isEmpty: true, urls: 'hidden' } },
  'now-alone': { hash: '#/now' },
  neighbours: { hash: '#/neighbours', prepare: urlIsAsked, sample: { peers: 3 } },
  'neighbours-256': { hash: '#/neighbours', prepare: fleetIsThere, sample: { peers: 256 } },
  'neighbours-none': { hash: '#/neighbours', sample: { peers: 0, isEmpty: true } },
  plan: { hash: '#/plan' },
  'plan-figure': { hash: '#/plan?figure=compressed-1' },
  inside: { hash: '#/inside', prepare: insideIsUsed },
  'inside-file': { hash: '#/inside', prepare: fileIsOpen },
  papers: { hash: '#/papers', prepare: papersAreThere },
  errata: { hash: '#/papers?text=errata', prepare: papersAreThere },
};
/** @param {Page} tab */
async function plotsAreThere(tab) {
  await tab.waitForSelector('.time-plot canvas');
}

/** @param {Page} tab */
async function storyIsTold(tab) {
  await plotsAreThere(tab);
  await tab.locator('.answers details').first().click();
}

/** @param {Page} tab */
async function urlIsAsked(tab) {
  await tab.locator('#who-url').fill('http://deb.example.org/pool/main/absent.deb');
  await tab.getByRole('button', { name: 'Look it up' }).click();
  await tab.waitForSelector('[data-who]');
}

/** @param {Page} tab */
async function fleetIsThere(tab) {
  await tab.waitForSelector('.fleet .peer');
  await tab.locator('.wide.peers button').nth(18).click();
  await tab.locator('details > summary').first().click();
  await tab.waitForSelector('.matrix canvas');
  await tab.evaluate(() => scrollTo(0, 0));
}

/** @param {Page} tab */
async function insideIsUsed(tab) {
  await tab.getByRole('button', { name: 'Take out apples' }).click();
  await tab.getByRole('button', { name: 'Ask for plums' }).click();
  await tab.getByRole('button', { name: 'Add 10 keys' }).click();
  await tab.getByRole('button', { name: 'Mark this moment' }).click();
  await tab.getByLabel('Key', { exact: true }).fill('apples');
  await tab.getByRole('button', { name: 'Add', exact: true }).click();
}

/** @param {Page} tab */
async function fileIsOpen(tab) {
  const filter = BloomFilter.forCapacity({ capacity: 2000, falsePositiveRate: 0.01 });
  filter.addMany(Array.from({ length: 1500 }, (_, i) => `word ${i}`));
  const buffer = Buffer.from(filter.encode());
  await tab
    .locator('input[type=file]')
    .setInputFiles({ name: 'words.blm', mimeType: 'application/octet-stream', buffer });
  await tab.waitForSelector('[data-opened]');
  await tab.locator('#file-key').fill('word 7');
  await tab.keyboard.press('Enter');
  await tab.waitForSelector('[data-answer]:not(:empty)');
}

/** @param {Page} tab */
async function papersAreThere(tab) {
  await tab.waitForSelector('article h2');
}

const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
/** The longest picture: of the papers, only the beginning is taken. */
const LONGEST = { desktop: 1600, phone: 3200 };

mkdirSync(values.to, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), 'console-shots-'));
await build({
  entryPoints: [join(root, 'test/node/sample-node.ts')],
  outfile: join(scratch, 'sample-node.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const { startSampleNode } = await import(pathToFileURL(join(scratch, 'sample-node.mjs')).href);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-sync',
  ],
});
const blank = await browser.newPage();
for (const [name, { hash, prepare, sample }] of Object.entries(SHOTS)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const node = sample === undefined ? null : await startSampleNode(join(root, 'dist'), sample);
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      const tab = await browser.newPage({
        viewport,
        colorScheme,
        reducedMotion: 'reduce',
        timezoneId: 'UTC',
      });
      await tab.goto((node?.address ?? page) + hash);
      await tab.waitForSelector('main .loading', { state: 'detached' });
      await prepare?.(tab);
      const path = join(values.to, `${name}-${size}-${colorScheme}.png`);
      const whole = await tab.evaluate(() => document.documentElement.scrollHeight);
      const clip = {
        x: 0,
        y: 0,
        width: viewport.width,
        height: Math.min(whole, LONGEST[/** @type {keyof typeof SIZES} */ (size)]),
      };
      writeFileSync(path, await smallPng(blank, await tab.screenshot({ fullPage: true, clip })));
      await tab.close();
    }
  }
  await node?.close();
}
await browser.close();
rmSync(scratch, { recursive: true });
