/// <reference lib="dom" />
/// <reference lib="dom" />
// Times of the web console in Chromium: until a view can be used, with the processor throttled to a
// quarter; script, style and layout per frame while a point of Plan is dragged; until a killed
// neighbour is shown as such; and for a filter file of a gigabyte. The node is sample data on
// loopback, except for the killed neighbour, for which three nodes run. It also counts the bytes of
// the page. It writes bench/results/console.md, and takes about four minutes.
//
//     npm run build && node bench/console/page.mjs

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const ROUNDS = 9;
const MOVES = 60;
const THROTTLE = 4;
const KILLS = 7;
const root = fileURLToPath(new URL('../../', import.meta.url));
const dist = join(root, 'apps/console/dist');
const command = join(root, 'packages/bloomery/bin/bloomery.js');

/** The files of a view, if it has other ones than that of its name. */
/** @type {Record<string, readonly string[]>} */
const SCRIPTS = { now: ['node'], neighbours: ['node'], papers: ['papers', 'paperstext'] };

const scratch = mkdtempSync(join(tmpdir(), 'console-bench-'));
await build({
  entryPoints: {
    sample: join(root, 'apps/console/test/node/sample-node.ts'),
    fleet: join(root, 'packages/testkit/src/fleet/fleet.ts'),
  },
  outdir: scratch,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const { startSampleNode } = await import(pathToFileURL(join(scratch, 'sample.mjs')).href);
const { Fleet } = await import(pathToFileURL(join(scratch, 'fleet.mjs')).href);
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

/**
 * Milliseconds from SIGKILL of a node to the row of its neighbour's table that says "down". The
 * clocks are those of one machine.
 */
async function killedTimes() {
  const times = [];
  for (let i = 0; i < KILLS; i++) {
    const fleet = await Fleet.start({
      nodes: 3,
      program: (/** @type {string} */ file) => [command, 'cache', '--quiet', '--config', file],
      settings: () => ({ forward: true, allowPrivate: true }),
    });
    const page = await browser.newPage();
    try {
      await fleet.untilCurrent(60_000);
      const [killed, watching] = fleet.nodes;
      await page.goto(`http://127.0.0.1:${watching.port}/.bloomery/console/#/neighbours`);
      await page.waitForSelector('tr[data-mood=up] >> nth=1');
      const seen = page.evaluate(
        () =>
          new Promise((resolve) => {
            new MutationObserver(() => {
              if (document.querySelector('tr[data-mood=down]') !== null)
                resolve(performance.timeOrigin + performance.now());
            }).observe(document, { attributes: true, childList: true, subtree: true });
          }),
      );
      // The observer is there when the page has answered once more.
      await page.evaluate(() => 1);
      const at = performance.timeOrigin + performance.now();
      await killed.kill();
      times.push((await seen) - at);
    } finally {
      await page.close();
      await fleet[Symbol.asyncDispose]();
    }
  }
  return times;
}

/** A filter of a gigabyte: until it is open, the longest pause of the page, and one question. */
async function largeFile() {
  const path = join(scratch, 'large.blm');
  const bits = String(8 * (2 ** 30 - 4096));
  execFileSync(
    process.execPath,
    [command, 'build', '--bits', bits, '--hashes', '3', '--layout', 'classic', '-o', path, '-'],
    { input: 'first\nsecond\n', stdio: ['pipe', 'ignore', 'inherit'] },
  );
  const { size } = statSync(path);
  const page = await browser.newPage();
  await page.goto(`${node.address}#/inside`);
  await page.waitForSelector('.bits');
  await page.evaluate(() => {
    const pauses = { longest: 0, last: performance.now() };
    Object.assign(globalThis, { pauses });
    const look = () => {
      const now = performance.now();
      pauses.longest = Math.max(pauses.longest, now - pauses.last);
      pauses.last = now;
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  const began = performance.now();
  await page.locator('input[type=file]').setInputFiles(path);
  await page.waitForSelector('[data-opened], [data-problem]', { timeout: 300_000 });
  const opened = performance.now() - began;
  if ((await page.locator('[data-opened]').count()) === 0)
    throw new Error(`Cannot open the file: ${await page.locator('[data-problem]').textContent()}`);
  const asked = performance.now();
  await page.locator('#file-key').fill('second');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-answer]:has-text("Maybe")');
  const answered = performance.now() - asked;
  const pause = await page.evaluate(
    () => /** @type {{ pauses: { longest: number } }} */ (/** @type {unknown} */ (globalThis)).pauses.longest,
  );
  await page.close();
  rmSync(path);
  return { size, opened, answered, pause };
}

/** @param {readonly string[]} names */
function packed(names) {
  return names.reduce((sum, name) => sum + gzipSync(readFileSync(join(dist, name)), { level: 9 }).length, 0);
}

const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));
const uses = [];
for (const [view, ready] of [
  ['now', '.time-plot canvas'],
  ['neighbours', '.fleet'],
  ['plan', '.plots'],
  ['inside', '.bits'],
  ['papers', 'article table'],
]) {
  const times = await timeToUse(view, ready);
  const script = ['console', ...(SCRIPTS[view] ?? [view])].map((name) => `${name}.js`);
  uses.push(
    `| ${view} | ${median(times).toFixed(0)} | ${Math.max(...times).toFixed(0)} | ${(packed(script) / 1000).toFixed(1)} |`,
  );
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
const kills = await killedTimes();
const large = await largeFile();
/** @param {number} ms */
const seconds = (ms) => (ms / 1000).toFixed(2);
const text = `# The console

Written by \`node bench/console/page.mjs\`. Chromium ${browser.version()}, Node ${process.version}, ${cpus().length} cores,
load ${load.toFixed(1)} at the beginning, ${loadavg()[0].toFixed(1)} at the end. The node is sample data on loopback. All files of the page are
${(packed(files) / 1000).toFixed(0)} kB in gzip.

Until a view can be used, in ms, with the processor throttled to a quarter; ${ROUNDS} rounds, each with an empty cache; and the script
that is loaded before it shows, in kB of gzip:

| view | median | longest | script |
|---|--:|--:|--:|
${uses.join('\n')}

Script, style and layout per frame while the rate is dragged in Plan, in ms, without throttling; ${MOVES} frames:

| what is scarce | median | longest |
|---|--:|--:|
${drags.join('\n')}

Three nodes that are neighbours over HTTP: from \`kill -9\` of one to the page of another that shows it as down, in s; ${KILLS} fleets:

| median | longest |
|--:|--:|
| ${seconds(median(kills))} | ${seconds(Math.max(...kills))} |

A filter file of ${(large.size / 1e9).toFixed(3)} GB in Look inside, without throttling, in s:

| until it is open | longest pause of the page meanwhile | one question |
|--:|--:|--:|
| ${seconds(large.opened)} | ${seconds(large.pause)} | ${seconds(large.answered)} |
`;
writeFileSync(join(root, 'bench/results/console.md'), text);
process.stdout.write(text);
await browser.close();
await node.close();
rmSync(scratch, { recursive: true });
