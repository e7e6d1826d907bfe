/** Promises of the whole page: its size, its policy, the keyboard, no jumps. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SampleNode, startSampleNode } from '../node/sample-node.ts';
import { openPage, startBrowser } from './open-page.ts';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const VIEWS = [
  ['now', '.time-plot canvas'],
  ['neighbours', '.fleet'],
  ['plan', '.plots'],
  ['inside', '.bits'],
  ['papers', 'article table'],
] as const;

let browser: Browser;
let node: SampleNode;

beforeAll(async () => {
  browser = await startBrowser();
  node = await startSampleNode(DIST, { peers: 3 });
});
afterAll(async () => {
  await browser?.close();
  await node?.close();
});

function packed(names: readonly string[]): number {
  return names.reduce((sum, name) => sum + gzipSync(readFileSync(join(DIST, name)), { level: 9 }).length, 0);
}

test('all files together are at most 300 kB packed, and a first view needs 60 kB of script at most', () => {
  const all = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));
  expect(packed(all)).toBeLessThan(300_000);
  for (const first of [['node.js'], ['plan.js'], ['inside.js'], ['papers.js', 'paperstext.js']])
    expect(packed(['console.js', ...first])).toBeLessThan(60_000);
});

test('the page loads nothing from elsewhere, and no text of it is a script', async () => {
  const { page, problems } = await openPage(browser, '', { address: node.address });
  const asked = new Set<string>();
  page.on('request', (request) => asked.add(new URL(request.url()).origin));
  for (const [view, ready] of VIEWS) {
    await page.goto(`${node.address}#/${view}`);
    await page.waitForSelector(ready);
  }
  expect([...asked]).toEqual([new URL(node.address).origin]);
  const refused = await page.evaluate(() => {
    const element = document.createElement('div');
    const attempts = [
      () => new Function('return 1')(),
      () => {
        element.innerHTML = '<b>x</b>';
      },
      () => {
        document.createElement('script').src = 'data:text/javascript,1';
      },
      () => new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)),
    ];
    const outcomes = () =>
      attempts.map((attempt) => {
        try {
          attempt();
          return 'allowed';
        } catch {
          return 'refused';
        }
      });
    // The debugger may evaluate text, so the attempts run outside of its call.
    return new Promise<string[]>((resolve) => requestAnimationFrame(() => resolve(outcomes())));
  });
  expect(refused).toEqual(['refused', 'refused', 'refused', 'refused']);
  expect(problems.every((text) => /Security Policy|requires 'Trusted/.test(text))).toBe(true);
  await page.close();
});

/** Elements that a mouse can use. */
const ACTIVE = 'a[href], button:not(:disabled), input, select, summary, [tabindex="0"]';

async function reachedByTab(page: Page): Promise<{ missed: string[]; count: number }> {
  const count = await page.evaluate((active) => {
    const all = [...document.querySelectorAll<HTMLElement>(active)].filter((element) => {
      const radio = element as HTMLInputElement;
      // One of a group of radio buttons is reached by Tab, the others by arrow keys.
      const isOther = radio.type === 'radio' && !radio.checked;
      return element.checkVisibility() && element.getClientRects().length > 0 && !isOther;
    });
    for (const element of all) element.dataset.expected = 'yes';
    return all.length;
  }, ACTIVE);
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  for (let i = 0; i < 2 * count + 10; i++) {
    await page.keyboard.press('Tab');
    const isDone = await page.evaluate(() => {
      const focused = document.activeElement as HTMLElement | null;
      if (focused?.dataset !== undefined) focused.dataset.expected = 'reached';
      return document.querySelector('[data-expected=yes]') === null;
    });
    if (isDone) break;
  }
  const missed = await page
    .locator('[data-expected=yes]')
    .evaluateAll((all) => all.map((element) => element.outerHTML.slice(0, 120)));
  return { missed, count };
}

test.each(VIEWS)('every control of %s is reached by the keyboard alone', async (view, ready) => {
  const { page } = await openPage(browser, `#/${view}`, { address: node.address });
  await page.waitForSelector(ready);
  const { missed, count } = await reachedByTab(page);
  expect(count).toBeGreaterThan(5);
  expect(missed).toEqual([]);
  await page.close();
});

test.each(VIEWS)('nothing in sight jumps while %s loads', async (view, ready) => {
  for (const viewport of [
    { width: 1280, height: 900 },
    { width: 390, height: 844 },
  ]) {
    const context = await browser.newContext({ viewport });
    const page = await context.newPage();
    await page.addInitScript(() => {
      const seen = { shift: 0 };
      (globalThis as { seen?: typeof seen }).seen = seen;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) seen.shift += (entry as unknown as { value: number }).value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto(`${node.address}#/${view}`);
    await page.waitForSelector(ready);
    // Two frames later, everything that was to be drawn is drawn.
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    // The share of the window that moved. A footer in sight that goes down has 0.04.
    expect(
      await page.evaluate(() => (globalThis as unknown as { seen: { shift: number } }).seen.shift),
    ).toBeLessThan(0.02);
    await context.close();
  }
});

test('a view whose file is missing says so', async () => {
  const { page } = await openPage(browser, '#/plan', { address: node.address });
  await page.route('**/papers.js', (route) => route.abort());
  await page.getByRole('link', { name: 'Papers' }).click();
  await page.waitForSelector('[role=alert]');
  expect(await page.locator('[role=alert]').textContent()).toContain('papers.js did not load');
  await page.close();
});
