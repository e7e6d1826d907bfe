/** Opens the built page in Chromium: from file:, as a double click does. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const DIST = new URL('../../dist/', import.meta.url);

export const PAGE_ADDRESS = new URL('index.html', DIST).href;

export const BROWSER = {
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-sync',
  ],
};

export function startBrowser(): Promise<Browser> {
  if (!existsSync(fileURLToPath(DIST)))
    throw new Error('Cannot test the page: expected apps/console/dist, got none (npm run build makes it)');
  return chromium.launch(BROWSER);
}

export interface OpenPage {
  readonly page: Page;
  /** Errors of scripts and refusals of the policy so far. */
  readonly problems: string[];
}

export async function openPage(
  browser: Browser,
  hash: string,
  options: BrowserContextOptions & { readonly address?: string } = {},
): Promise<OpenPage> {
  const { address = PAGE_ADDRESS, ...context } = options;
  const page = await browser.newPage({ reducedMotion: 'reduce', ...context });
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(address + hash);
  await page.waitForSelector('main .loading', { state: 'detached' });
  return { page, problems };
}
