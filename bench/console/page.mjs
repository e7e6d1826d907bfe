/// <reference lib="dom" />
/// <reference lib="dom" />
// Times of the web console in Chromium: until a view can be used, with the processor throttled to a
// quarter, and script, style and layout per frame while a point of Plan is dragged. The node is
// sample data on loopback. It writes bench/results/console.md.
//
//     npm run build -w bloomery && npm run build -w @bloomery/console && node bench/console/page.mjs

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const ROUNDS = 9;
const MOVES = 60;
const THROTTLE = 4;
const root = fileURLToPath(new URL('../../', import.meta.url));
const dist = join(root, 'apps/console/dist');

const scratch = mkdtempSync(join(tmpdir(), 'console-bench-'));
await build({
  entryPoints: [join(root, 'apps/console/test/node/sample-node.ts')],
  outfile: join(scratch, 'sample-node.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const { startSampleNode } = await import(pathToFileURL(join(scratch, 'sample-node.mjs')).href);
const node = await startSampleNode(dist, { peers: 3 });
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
const load = loadavg()[0];

/** @param {readonly number[]} numbers */
function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/**
 * @param {string} view
 * @param {string} ready
 */
async function timeToUse(view, ready) {
  const times = [];
  for (let i = 0; i < ROUNDS; i++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: THROTTLE });
    await page.addInitScript((selector) => {
      new MutationObserver((_, observer) => {
        if (document.querySelector(selector) === null) return;
        observer.disconnect();
        // After the frame that shows it.
        requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('usable')));
      }).observe(document, { childList: true, subtree: true });
    }, ready);
    await page.goto(`${node.address}#/${view}`);
    await page.waitForFunction(() => performance.getEntriesByName('usable').length > 0);
    times.push(await page.evaluate(() => performance.getEntriesByName('usable')[0].startTime));
    await context.close();
  }
  return times;
}

/** @param {string} hash */
async function dragTimes(hash) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(node.address + hash);
  const field = page.getByRole('group', { name: /^Rate and memory/ }).locator('.field');
  await field.scrollIntoViewIfNeeded();
  const box = await field.boundingBox();
  if (box === null) throw new Error(`Cannot drag: expected a plot, got none (${hash})`);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const wanted = ['ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'];
    return metrics
      .filter(({ name }) => wanted.includes(name))
      .reduce((sum, { value }) => sum + 1000 * value, 0);
  };
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.9, y);
  await page.mouse.down();
  const frames = [];
  for (let i = 0; i < MOVES; i++) {
    const before = await busy();
    await page.mouse.move(box.x + box.width * (0.9 - (0.6 * i) / MOVES), y);
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    frames.push((await busy()) - before);
  }
  await page.mouse.up();
  await page.close();
  return frames;
}

const uses = [];
for (const [view, ready] of [
  ['now', '.time-plot canvas'],
  ['neighbours', '.fleet'],
  ['plan', '.plots'],
  ['inside', '.bits'],
  ['papers', 'article table'],
]) {
  const times = await timeToUse(view, ready);
  uses.push(`| ${view} | ${median(times).toFixed(0)} | ${Math.max(...times).toFixed(0)} |`);
}
const drags = [];
for (const [name, hash] of [
  ['memory', '#/plan'],
  ['the whole message', '#/plan?for=transmission'],
  ['updates', '#/plan?for=delta'],
]) {
  const frames = await dragTimes(hash);
  drags.push(`| ${name} | ${median(frames).toFixed(1)} | ${Math.max(...frames).toFixed(1)} |`);
}
const text = `# The console

Written by \`node bench/console/page.mjs\`. Chromium ${browser.version()}, Node ${process.version}, ${cpus().length} cores,
load ${load.toFixed(1)} at the beginning. The node is sample data on loopback.

Until a view can be used, in ms, with the processor throttled to a quarter; ${ROUNDS} rounds, each with an empty cache:

| view | median | longest |
|---|--:|--:|
${uses.join('\n')}

Script, style and layout per frame while the rate is dragged in Plan, in ms, without throttling; ${MOVES} frames:

| what is scarce | median | longest |
|---|--:|--:|
${drags.join('\n')}
`;
writeFileSync(join(root, 'bench/results/console.md'), text);
process.stdout.write(text);
await browser.close();
await node.close();
rmSync(scratch, { recursive: true });
