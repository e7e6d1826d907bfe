/**
 * axe-core on every view. The full form looks at each in light and dark, on desktop and phone; the
 * short one at each in one of the two, because axe takes seconds, and leaves 256 neighbours out.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { EFFORT } from '@bloomery/testkit/effort';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SampleNode, startSampleNode } from '../node/sample-node.ts';
import { openPage, PAGE_ADDRESS, startBrowser } from './open-page.ts';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let browser: Browser;
let node: SampleNode;
let large: SampleNode;

beforeAll(async () => {
  browser = await startBrowser();
  node = await startSampleNode(DIST, { peers: 3 });
  large = await startSampleNode(DIST, { peers: 256 });
});
afterAll(async () => {
  await browser?.close();
  await node?.close();
  await large?.close();
});

/** Problems that keep people out, each with the elements that have it. */
async function problemsOf(page: Page): Promise<string[]> {
  // The page's policy lets no script in; the debugger of the browser does not ask it.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join('; ')}`);
}

const SCHEMES = ['light', 'dark'] as const;
const VIEWS: readonly (readonly [hash: string, ready: string, where: 'alone' | 'node' | 'large'])[] = [
  ['#/plan', '.plots', 'alone'],
  ['#/plan?for=transmission&rate=1e-9&limit=2', '[role=alert]', 'alone'],
  ['#/inside', '.bits', 'alone'],
  ['#/papers', 'article table', 'alone'],
  ['#/papers?text=errata', 'article table', 'alone'],
  ['#/now', '.notice', 'alone'],
  ['#/now', '.time-plot canvas', 'node'],
  ['#/neighbours', '.fleet', 'node'],
  ['#/neighbours', '.fleet', 'large'],
];

const IS_FULL = EFFORT > 1;
const CASES = VIEWS.filter(([, , where]) => IS_FULL || where !== 'large').map(
  (view, i) => [...view, IS_FULL ? SCHEMES : [SCHEMES[i % 2]]] as const,
);

test.each(CASES)('%s with %s (%s) has no serious problem', async (hash, ready, where, schemes) => {
  const address = { alone: PAGE_ADDRESS, node: node.address, large: large.address }[where];
  for (const colorScheme of schemes) {
    const { page } = await openPage(browser, hash, {
      address,
      colorScheme,
      viewport: colorScheme === 'dark' ? { width: 390, height: 844 } : { width: 1280, height: 900 },
    });
    await page.waitForSelector(ready);
    expect(await problemsOf(page)).toEqual([]);
    await page.close();
  }
});
