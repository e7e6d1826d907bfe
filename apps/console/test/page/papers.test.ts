/** The view Papers in Chromium: every table and figure of docs/papers is there. */

import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, startBrowser } from './open-page.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

function paper(name: string): string {
  return readFileSync(new URL(`../../../../docs/papers/${name}`, import.meta.url), 'utf8');
}

test('tables, figures and errata are shown, and a figure leads to its plan', async () => {
  const { page, problems } = await openPage(browser, '#/papers');
  await page.waitForSelector('article table');
  const tables = [...paper('papers.md').matchAll(/^\|[ :|-]+\|$/gm)].length;
  expect(await page.locator('article table').count()).toBe(tables);
  const pictures = page.locator('article img');
  for (let i = 0; i < (await pictures.count()); i++) {
    await pictures.nth(i).scrollIntoViewIfNeeded();
    await expect
      .poll(() => pictures.nth(i).evaluate((image: HTMLImageElement) => image.naturalWidth), {
        timeout: 20_000,
      })
      .toBe(760);
  }
  await page.getByRole('button', { name: 'Errata', exact: true }).click();
  await page.waitForSelector('text=equation (3)');
  expect(await page.locator('article td').first().textContent()).toBe('1');
  await page.getByRole('button', { name: 'papers.md' }).first().click();
  await page.getByRole('link', { name: 'Move its points in Plan' }).first().click();
  await page.waitForSelector('.plots');
  expect(page.url()).toMatch(/#\/plan\?figure=compressed-1$/);
  expect(problems).toEqual([]);
  await page.close();
});
