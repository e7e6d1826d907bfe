/**
 * Every action of the page by keyboard alone. Each control is reached by Tab (frame.test.ts tests
 * that none is missed), used by keys, and its effect is looked at.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BloomFilter } from 'bloomery';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sampleAnswers } from '../node/sample-data.ts';
import { SAMPLE_TOKEN, type SampleNode, startSampleNode } from '../node/sample-node.ts';
import { openPage, startBrowser } from './open-page.ts';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const MOST_TABS = 400;
const patient = { timeout: 30_000 };

let browser: Browser;
let node: SampleNode;
let folder: string;

beforeAll(async () => {
  browser = await startBrowser();
  node = await startSampleNode(DIST, { peers: 3 });
  folder = mkdtempSync(join(tmpdir(), 'console-keys-'));
});
afterAll(async () => {
  await browser?.close();
  await node?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Presses Tab until a control has the focus, then the keys. */
async function use(page: Page, control: Locator, ...keys: readonly string[]): Promise<void> {
  await control.waitFor(patient);
  for (let i = 0; !(await hasFocus(control)); i++) {
    if (i === MOST_TABS) throw new Error(`Cannot reach a control by Tab: ${control}`);
    await page.keyboard.press('Tab');
  }
  for (const key of keys) {
    if (key.length > 1 && !key.includes(' ') && /^[A-Z]/.test(key)) await page.keyboard.press(key);
    else await page.keyboard.type(key);
  }
}

function hasFocus(control: Locator): Promise<boolean> {
  return control.evaluate((element) => element === document.activeElement);
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('Now by keyboard: hold the list, a story, spans, files, another view', async () => {
  const { page, problems } = await openPage(browser, '#/now', { address: node.address });
  await page.waitForSelector('.answers li');
  await use(page, button(page, 'Skip to the view'), 'Enter');
  expect(await hasFocus(page.locator('h1'))).toBe(true);
  await use(page, button(page, 'Day'), 'Enter');
  expect(await button(page, 'Day').getAttribute('aria-pressed')).toBe('true');
  for (const name of ['CSV', 'JSON']) {
    const loading = page.waitForEvent('download');
    await use(page, page.getByRole('link', { name }), 'Enter');
    expect((await loading).suggestedFilename()).toBe(`bloomery-day.${name.toLowerCase()}`);
  }
  await use(page, button(page, 'Hold the list'), 'Space');
  const next = { ...sampleAnswers({ peers: 3 })[0]!, id: 5000, url: 'http://held.example/' };
  node.send({ kind: 'answers', data: { answers: [next], skipped: 7 } });
  await expect.poll(() => page.locator('main').textContent(), patient).toContain('7 more were too quick');
  expect(await page.locator('.answers').textContent()).not.toContain('held.example');
  await use(page, button(page, 'Let it run'), 'Enter');
  expect(await page.locator('.answers').textContent()).toContain('held.example');
  const row = page.locator('.answers details').first();
  await use(page, row.locator('summary'), 'Enter');
  expect(await row.evaluate((element: HTMLDetailsElement) => element.open)).toBe(true);
  await use(page, page.getByRole('link', { name: 'Papers' }), 'Enter');
  await page.waitForSelector('article table');
  expect(await hasFocus(page.locator('h1'))).toBe(true);
  expect(problems).toEqual([]);
  await page.close();
});

test('Neighbours by keyboard: a URL, a question, the matrix, the table, one link', async () => {
  const { page } = await openPage(browser, '#/neighbours', { address: node.address });
  await page.waitForSelector('.fleet');
  await use(page, page.locator('#who-url'), 'http://e.example/', 'Enter');
  await page.waitForSelector('[data-who]');
  await use(page, button(page, 'Ask them'), 'Enter');
  await use(page, page.locator('#token'), SAMPLE_TOKEN);
  await use(page, button(page, 'Use it in this tab'), 'Enter');
  await page.waitForSelector('[data-truth=has]');
  await use(page, page.locator('details > summary').first(), 'Enter');
  await page.waitForSelector('.matrix canvas');
  await use(page, page.locator('#peer-filter'), 'cache-3');
  await expect.poll(() => page.locator('tr[data-peer]').count(), patient).toBe(1);
  await use(page, page.locator('tr[data-peer] button'), 'Enter');
  await page.waitForSelector('.chosen-place h2:has-text("cache-3")');
  await use(page, button(page, 'Back to this node'), 'Enter');
  await page.waitForSelector('.chosen-place h2:has-text("Summary of this node")');
  await page.close();
});

test('Plan by keyboard: choices, fields, sliders, four points, figures, lines', async () => {
  const { page, problems } = await openPage(browser, '#/plan');
  const fact = async (name: string) =>
    Number(await page.locator(`[data-fact=${name}]`).getAttribute('data-value'));
  await use(page, page.getByRole('radio', { name: 'memory', exact: true }), 'ArrowDown');
  expect(await page.getByRole('radio', { name: 'the whole message' }).isChecked()).toBe(true);
  await use(page, page.locator('#limit'), 'Control+A', '32', 'Tab');
  expect(await page.locator('#limit').inputValue()).toBe('32');
  await use(page, button(page, 'Start again'), 'Enter');
  await use(page, page.locator('#capacity'), 'Control+A', '5000');
  await expect.poll(() => fact('bits'), patient).toBeLessThan(50_000);
  const bits = await fact('bits');
  await use(page, page.getByRole('slider', { name: 'Keys, n, slider' }), 'ArrowRight');
  await expect.poll(() => fact('bits'), patient).toBeGreaterThan(bits);
  for (const [name, key, changed] of [
    ['Hash functions', 'ArrowLeft', 'hashes'],
    ['Rate of false positives', 'ArrowUp', 'falsePositiveRate'],
    ['Memory, bits per key', 'PageUp', 'bitsPerKey'],
  ] as const) {
    const before = await fact(changed);
    await use(page, page.getByRole('slider', { name, exact: true }), key);
    await expect.poll(() => fact(changed), patient).not.toBe(before);
  }
  const replaced = page.getByRole('slider', { name: 'Keys replaced between two messages', exact: true });
  const text = await replaced.getAttribute('aria-valuetext');
  await use(page, replaced, 'ArrowRight');
  await expect.poll(() => replaced.getAttribute('aria-valuetext'), patient).not.toBe(text);
  await use(page, button(page, 'Choose the best k'), 'Enter');
  await button(page, 'Best k is chosen').waitFor();
  await use(page, button(page, 'Tutorial, figure 2'), 'Enter');
  await page.waitForURL(/#\/plan\?figure=tutorial-2$/);
  await use(page, button(page, 'Copy: TypeScript'), 'Enter');
  await page.waitForSelector('.copy-state:not(:empty)');
  expect(problems).toEqual([]);
  await page.close();
});

test('Look inside by keyboard: the example, a file, a filter of one’s own', async () => {
  const { page, problems } = await openPage(browser, '#/inside');
  const verdict = page.locator('[data-verdict]');
  await use(page, button(page, 'Take out apples'), 'Enter');
  await use(page, button(page, 'Ask for plums'), 'Enter');
  expect(await verdict.getAttribute('data-verdict')).toBe('false-negative');
  await use(page, page.getByLabel('Count in each place instead of marking it'), 'Space');
  await use(page, button(page, 'Add mango'), 'Enter');
  expect(await verdict.getAttribute('data-verdict')).toBe('right-maybe');

  const filter = new BloomFilter({ bits: 8192, hashes: 3 });
  filter.add('a key');
  const path = join(folder, 'keys.blm');
  writeFileSync(path, filter.encode());
  const chooser = page.waitForEvent('filechooser');
  await use(page, page.locator('input[type=file]'), 'Enter');
  await (await chooser).setFiles(path);
  await use(page, page.locator('#file-key'), 'a key', 'Enter');
  await expect.poll(() => page.locator('[data-answer]').textContent(), patient).toContain('Maybe');
  const piece = page.getByLabel(/^Piece 1 of/);
  await use(page, piece, 'ArrowRight');
  await page.waitForSelector('text=/bits from byte 256 on/');

  const bench = page.getByRole('region', { name: 'A filter of your own' });
  const message = page.locator('[data-message]');
  await use(page, page.getByLabel('Made of'), 'ArrowDown', 'Enter');
  await expect.poll(() => page.getByLabel('Made of').inputValue(), patient).toBe('counters');
  await use(page, page.locator('#bench-key'), 'k');
  for (const [name, said] of [
    ['Add', /^Added\. Its places/],
    ['Ask', /^Maybe/],
    ['Add it 20 times', /^Added 20 times/],
    ['Take out', /^Taken out/],
    ['Add 10 keys', /^Added 10 keys/],
    ['Mark this moment', /^This moment is marked/],
    ['Empty it', /^A new filter/],
  ] as const) {
    await use(page, bench.getByRole('button', { name, exact: true }), 'Enter');
    expect(await message.textContent()).toMatch(said);
  }
  await use(page, page.getByLabel('Made of'), 'ArrowUp', 'Enter');
  await use(page, button(page, 'Halve it'), 'Enter');
  expect(await message.textContent()).toMatch(/^Halved/);
  expect(problems).toEqual([]);
  await page.close();
});

test('Papers by keyboard: the other text, a section, a figure in Plan', async () => {
  const { page, problems } = await openPage(browser, '#/papers');
  await page.waitForSelector('article table');
  await use(page, button(page, 'Errata'), 'Enter');
  await page.waitForSelector('text=equation (3)');
  await use(page, button(page, 'Tables and figures'), 'Enter');
  const section = page.locator('nav.contents button').last();
  await use(page, section, 'Enter');
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H2');
  await use(page, page.getByRole('link', { name: 'Move its points in Plan' }).first(), 'Enter');
  await page.waitForSelector('.plots');
  expect(problems).toEqual([]);
  await page.close();
});
