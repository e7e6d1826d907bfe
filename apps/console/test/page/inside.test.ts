/** The view Look inside in Chromium: the example, a filter of one's own, and files. */

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  BlockedBloomFilter,
  BloomFilter,
  CountingBloomFilter,
  CountMinSketch,
  SecretKey,
  StaticFilter,
} from 'bloomery';
import { GuavaFilter } from 'bloomery/formats/guava';
import { compressFrame, makeDelta } from 'bloomery/wire';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSampleNode } from '../node/sample-node.ts';
import { openPage, startBrowser } from './open-page.ts';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const KEYS = Array.from({ length: 1000 }, (_, i) => `key ${i}`);
const ASKED = ['key 0', 'key 999', 'key 1000', 'other', '', 'ä', '<b>key 5</b>'];

let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'console-files-'));
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

function written(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

async function drop(page: Page, path: string): Promise<void> {
  await page.locator('input[type=file]').setInputFiles(path);
  await page.waitForSelector('[data-opened], [data-problem]', { timeout: 120_000 });
}

async function answerOf(page: Page, key: string): Promise<string> {
  await page.locator('#file-key').fill(key);
  await page.locator('[data-opened] .key-row button').click();
  const answer = page.locator('[data-answer]');
  await expect.poll(() => answer.textContent(), { timeout: 20_000 }).toContain(`“${key}”`);
  return (await answer.textContent())!;
}

test('the example opens first: mango is a false positive, and taking apples out breaks plums', async () => {
  const { page, problems } = await openPage(browser, '#/inside');
  const verdict = page.locator('[data-verdict]');
  expect(await verdict.getAttribute('data-verdict')).toBe('false-positive');
  await page.getByRole('button', { name: 'Take out apples' }).click();
  await page.getByRole('button', { name: 'Ask for plums' }).click();
  expect(await verdict.textContent()).toContain('Certainly not. But plums was added');
  await page.getByText('Bit 11 belonged to plums as well').waitFor();
  await page.getByRole('button', { name: 'Start again' }).click();
  await page.getByRole('button', { name: 'Add mango' }).click();
  await page.getByRole('button', { name: 'Take out mango' }).click();
  await page.getByText('Bits 3 and 12 belonged to apples as well').waitFor();
  await page.getByText('Bit 8 belonged to plums as well').waitFor();
  await page.getByLabel('Count in each place instead of marking it').check();
  await page.getByRole('button', { name: 'Take out apples' }).click();
  await page.getByRole('button', { name: 'Ask for plums' }).click();
  expect(await verdict.getAttribute('data-verdict')).toBe('right-maybe');
  expect(problems).toEqual([]);
  await page.close();
});

test('a key is added by keyboard alone, with the places that the library gives it', async () => {
  const { page, problems } = await openPage(browser, '#/inside');
  await page.locator('#bench-key').focus();
  await page.keyboard.type('hello');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const alone = new BloomFilter({ bits: 256, hashes: 3 });
  alone.add('hello');
  const text = (await page.locator('[data-message]').textContent())!;
  expect(text).toMatch(/^Added\. Its places are \d+, \d+, \d+\.$/);
  expect(alone.onesCount()).toBe(text.match(/\d+/g)?.length);
  await page.locator('#bench-key').fill('other');
  await page.keyboard.press('Enter');
  expect(await page.locator('[data-message]').textContent()).toMatch(/^Certainly not/);
  expect(problems).toEqual([]);
  await page.close();
});

function filled<T extends { addMany(keys: readonly string[]): unknown }>(filter: T): T {
  filter.addMany(KEYS);
  return filter;
}

const SIZE = { capacity: 1000, falsePositiveRate: 0.01 };

test.each([
  ['bloom.blm', () => filled(BloomFilter.forCapacity(SIZE))],
  ['blocked.blm', () => filled(BlockedBloomFilter.forCapacity(SIZE))],
  ['counting.blm', () => filled(CountingBloomFilter.forCapacity(SIZE))],
  ['static.blm', () => StaticFilter.from(KEYS, { falsePositiveRate: 0.01 })],
])('%s answers as the library does', async (name, make) => {
  const filter = make();
  const { page, problems } = await openPage(browser, '#/inside');
  await drop(page, written(name, filter.encode()));
  expect(await page.locator('[data-text]').textContent()).toBe(String(filter));
  for (const key of ASKED)
    expect(await answerOf(page, key)).toMatch(filter.has(key) ? /^Maybe/ : /^Certainly not/);
  expect(problems).toEqual([]);
  await page.close();
});

test('a coded frame, a sketch and a file of Guava answer as the library does', async () => {
  const bloom = filled(new BloomFilter({ bits: 40_000, hashes: 2 }));
  const sketch = filled(new CountMinSketch({ width: 4096, depth: 4 }));
  const guava = GuavaFilter.create({ capacity: 1000, falsePositiveRate: 0.03, funnel: 'utf8' });
  for (const key of KEYS) guava.add(key);
  const { page, problems } = await openPage(browser, '#/inside');
  const files = [
    ['coded.blm', compressFrame(bloom.encode()), (key: string) => bloom.has(key)],
    ['sketch.blm', sketch.encode(), (key: string) => sketch.count(key) > 0],
    ['guava.bin', guava.encode(), (key: string) => guava.has(key)],
  ] as const;
  for (const [name, bytes, has] of files) {
    await drop(page, written(name, bytes));
    await page.waitForSelector(`[data-opened="${name}"]`);
    for (const key of ASKED)
      expect(await answerOf(page, key)).toMatch(has(key) ? /^Maybe/ : /^Certainly not/);
  }
  expect(problems).toEqual([]);
  await page.close();
});

test('markup in names, keys and files is shown as text and runs nothing', async () => {
  const attack = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
  const { page, problems } = await openPage(browser, '#/inside');
  const title = await page.title();
  await drop(
    page,
    written('<img src=x onerror=document.title=3>.blm', filled(BloomFilter.forCapacity(SIZE)).encode()),
  );
  expect(await answerOf(page, attack)).toContain(attack);
  await page.locator('#bench-key').fill(attack);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await drop(page, written('<svg onload=document.title=4>', 'no filter'));
  await page.waitForSelector('[data-problem]');
  expect(await page.locator('[data-problem]').textContent()).toContain('<svg onload=document.title=4>');
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(await page.title()).toBe(title);
  expect(problems).toEqual([]);
  await page.close();
});

test('malformed files are refused with a reason, and the page goes on', async () => {
  const frame = filled(BloomFilter.forCapacity(SIZE)).encode();
  const keyed = filled(BloomFilter.forCapacity({ ...SIZE, key: new SecretKey(new Uint8Array(16).fill(7)) }));
  const flipped = frame.slice();
  flipped[500] ^= 4;
  const huge = frame.slice(0, 64);
  // 2^36 bits: the head alone declares 8 GiB.
  new DataView(huge.buffer).setUint8(12, 0x10);
  const { page, problems } = await openPage(browser, '#/inside');
  const refused = [
    ['empty', new Uint8Array(0), 'it is empty'],
    ['random', Uint8Array.from({ length: 999 }, (_, i) => (i * 7919) & 255), 'no filter that Bloomery knows'],
    ['cut.blm', frame.slice(0, 700), 'Cannot'],
    ['flipped.blm', flipped, 'checksum'],
    ['huge.blm', huge, 'Cannot'],
    [
      'delta.bld',
      makeDelta(
        new BloomFilter({ bits: 800, hashes: 2 }).encode(),
        filled(new BloomFilter({ bits: 800, hashes: 2 })).encode(),
      ),
      'it is a delta',
    ],
  ] as const;
  for (const [name, bytes, reason] of refused) {
    await page.locator('input[type=file]').setInputFiles(written(name, bytes));
    const problem = page.locator('[data-problem]', { hasText: name });
    await problem.waitFor({ timeout: 30_000 });
    expect(await problem.textContent()).toContain(reason);
  }
  await drop(page, written('keyed.blm', keyed.encode()));
  await page.waitForSelector('[data-opened="keyed.blm"]');
  expect(await page.locator('[data-opened] .notice').textContent()).toContain('secret key');
  await drop(page, written('good.blm', frame));
  await page.waitForSelector('[data-opened="good.blm"]');
  expect(await answerOf(page, 'key 7')).toMatch(/^Maybe/);
  expect(problems).toEqual([]);
  await page.close();
});

test('of two files that are chosen while the worker loads, the second one is shown', async () => {
  await using node = await startSampleNode(DIST, { peers: 0 });
  const { page, problems } = await openPage(browser, '#/inside', { address: node.address });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/engine.js', async (route) => {
    await released;
    await route.continue();
  });
  const files = ['first', 'second'].map((name) => {
    const filter = BloomFilter.forCapacity(SIZE);
    filter.add(name);
    return written(`${name}.blm`, filter.encode());
  });
  for (const file of files) await page.locator('input[type=file]').setInputFiles(file);
  release();
  await page.waitForSelector('[data-opened="second.blm"]');
  expect(await answerOf(page, 'second')).toMatch(/^Maybe/);
  expect(await answerOf(page, 'first')).toMatch(/^Certainly not/);
  expect(await page.locator('[data-opened]').getAttribute('data-opened')).toBe('second.blm');
  expect(page.workers().length).toBe(1);
  expect(problems).toEqual([]);
  await page.close();
});

test('a file of 1 GiB is read while the page stays alive, and a larger one is refused at once', async () => {
  const large = written('large.bin', '');
  truncateSync(large, 2 ** 30); // zeros without blocks on the disk
  const larger = written('larger.bin', '');
  truncateSync(larger, 2 ** 30 + 1);
  const { page, problems } = await openPage(browser, '#/inside');
  await page.locator('input[type=file]').setInputFiles(large);
  await page.waitForSelector('progress', { timeout: 60_000 });
  await page.waitForFunction(() => (document.querySelector('progress')?.value ?? 0) > 2 ** 25, undefined, {
    timeout: 120_000,
  });
  // It reads, and the example answers meanwhile.
  await page.getByRole('button', { name: 'Ask for plums' }).click();
  expect(await page.locator('[data-verdict]').getAttribute('data-verdict')).toBe('right-maybe');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('input[type=file]').setInputFiles(larger);
  await page.waitForSelector('[data-problem]');
  expect(await page.locator('[data-problem]').textContent()).toContain('above 1 GiB');
  expect(problems).toEqual([]);
  await page.close();
});
