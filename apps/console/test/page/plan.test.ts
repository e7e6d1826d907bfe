/** The view Plan in Chromium: its numbers are those of `plan()`, however they were changed. */

import { type Plan, type PlanRequest, plan } from 'bloomery/math';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPage, PAGE_ADDRESS, startBrowser } from './open-page.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const NUMBERS = ['bits', 'hashes', 'falsePositiveRate', 'bitsPerKey', 'expectedTransmissionBits'] as const;

async function shownPlan(page: Page): Promise<Record<string, number>> {
  const facts = await page
    .locator('[data-fact]')
    .evaluateAll((all) =>
      all.map((one) => [one.getAttribute('data-fact'), Number(one.getAttribute('data-value'))]),
    );
  return Object.fromEntries(facts);
}

function numbersOf(found: Plan): Record<string, unknown> {
  // Node and Chromium have different versions of V8, whose exp and log differ in the last bit.
  return Object.fromEntries(
    NUMBERS.map((name) => [name, expect.closeTo(found[name], digitsOf(found[name]))]),
  );
}

/** Decimals that make ten digits of a number. */
function digitsOf(value: number): number {
  return Math.max(0, 10 - Math.ceil(Math.log10(value)));
}

const CASES: readonly (readonly [hash: string, request: PlanRequest])[] = [
  ['', { capacity: 1e6, falsePositiveRate: 0.01 }],
  ['#/plan?n=5000&rate=0.001&k=4', { capacity: 5000, falsePositiveRate: 0.001, hashes: 4 }],
  ['#/plan?given=budget&budget=8&n=10000', { capacity: 10_000, bits: 80_000 }],
  ['#/plan?figure=compressed-2', { capacity: 10_000, transmissionBits: 160_000, maxBits: 640_000 }],
  [
    '#/plan?for=delta&changed=0.05&rate=0.02&n=10000',
    { goal: 'delta', capacity: 10_000, falsePositiveRate: 0.02, changedFraction: 0.05, maxBits: 640_000 },
  ],
];

test.each(CASES)('the plan at %j equals plan()', async (hash, request) => {
  const { page, problems } = await openPage(browser, hash);
  expect(await shownPlan(page)).toMatchObject(numbersOf(plan(request)));
  expect(problems).toEqual([]);
  await page.close();
});

test('a field, a slider and the keys on a plot change the plan and the address', async () => {
  const { page, problems } = await openPage(browser, '#/plan');
  await page.getByLabel('Keys, n', { exact: true }).fill('250000');
  expect(await shownPlan(page)).toMatchObject(
    numbersOf(plan({ capacity: 250_000, falsePositiveRate: 0.01 })),
  );
  const handle = page.getByRole('slider', { name: 'Hash functions', exact: true });
  await handle.focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  const request = { capacity: 250_000, falsePositiveRate: 0.01, hashes: 5 };
  expect(await shownPlan(page)).toMatchObject(numbersOf(plan(request)));
  await page.waitForURL(/#\/plan\?n=250000&k=5$/);
  expect(await page.locator('.lines').textContent()).toContain(
    'capacity: 250_000, falsePositiveRate: 0.01, hashes: 5',
  );
  expect(problems).toEqual([]);
  await page.close();
});

test.each([
  ['a mouse', false],
  ['a finger', true],
])('%s drags the rate, and the other plots follow', async (_, hasTouch) => {
  const { page } = await openPage(browser, '#/plan', { hasTouch });
  const field = page.getByRole('group', { name: /^Rate and memory/ }).locator('.field');
  await field.scrollIntoViewIfNeeded();
  const box = (await field.boundingBox())!;
  const y = box.y + box.height / 2;
  if (hasTouch) {
    const session = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', share: number) =>
      session.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: type === 'touchEnd' ? [] : [{ x: box.x + box.width * share, y }],
      });
    await touch('touchStart', 0.8);
    for (const share of [0.7, 0.6, 0.5]) await touch('touchMove', share);
    await touch('touchEnd', 0.5);
  } else {
    await page.mouse.move(box.x + box.width * 0.8, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, y, { steps: 5 });
    await page.mouse.up();
  }
  // The middle of an axis from 1e-6 to 0.5.
  await expect
    .poll(async () => (await shownPlan(page)).falsePositiveRate, { timeout: 20_000 })
    .toBeLessThan(0.00075);
  const shown = await shownPlan(page);
  const rate = Number(await page.locator('#rate').inputValue()) / 100;
  expect(shown).toMatchObject(numbersOf(plan({ capacity: 1e6, falsePositiveRate: rate })));
  await page.close();
});

test('a plan that is impossible says what to do, and the page goes on', async () => {
  const { page, problems } = await openPage(browser, '#/plan?for=transmission&rate=1e-9&limit=2');
  expect(await page.getByRole('alert').textContent()).toContain('Cannot plan a filter');
  await page.getByLabel('At most in memory, bits per key', { exact: true }).fill('100');
  expect(Object.keys(await shownPlan(page))).toContain('bits');
  expect(problems).toEqual([]);
  await page.close();
});

test('limits are written as people write numbers', async () => {
  const { page } = await openPage(browser, '#/plan');
  await page.locator('#rate').fill('0');
  expect(await page.locator('#rate-hint').textContent()).toBe('Give a number from 1e-7 to 50.');
  await page.close();
});

test('where copying is not allowed, the line is selected', async () => {
  const page = await browser.newPage();
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'clipboard', { get: () => undefined });
  });
  await page.goto(`${PAGE_ADDRESS}#/plan`);
  await page.getByRole('button', { name: 'Copy: TypeScript' }).click();
  await page.waitForSelector('.copy-state:has-text("selected")');
  expect(await page.evaluate(() => getSelection()?.toString())).toBe(
    'BloomFilter.forCapacity({ capacity: 1_000_000, falsePositiveRate: 0.01 })',
  );
  await page.close();
});
