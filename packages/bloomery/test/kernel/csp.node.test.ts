/**
 * The choice of the kernel in a real browser: a page whose Content-Security-Policy forbids
 * WebAssembly gets the JavaScript kernel, one that permits it the other, and both write the same
 * bytes.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

const PROGRAM = `
  import { BlockedBloomFilter, kernelInUse } from './packages/bloomery/dist/index.js';
  const filter = BlockedBloomFilter.forCapacity({ capacity: 5000, falsePositiveRate: 0.01 });
  filter.addMany(Array.from({ length: 5000 }, (_, i) => 'key ' + i));
  const frame = filter.encode();
  document.title = kernelInUse() + ' ' + [...frame.subarray(-4)].join(' ');
`;

let server: Server;
let browser: Browser;
let origin: string;

beforeAll(async () => {
  const root = new URL('../../../../', import.meta.url).pathname;
  const bundle = await build({
    stdin: { contents: PROGRAM, resolveDir: root },
    bundle: true,
    format: 'esm',
    write: false,
  });
  server = createServer((request, response) => {
    if (request.url === '/program.js') {
      response.setHeader('content-type', 'text/javascript');
      response.end(bundle.outputFiles[0].text);
      return;
    }
    const permission = request.url === '/wasm' ? " 'wasm-unsafe-eval'" : '';
    response.setHeader('content-security-policy', `default-src 'none'; script-src 'self'${permission}`);
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>waiting</title><script type="module" src="/program.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-sync',
    ],
  });
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

async function titleOf(path: string): Promise<string> {
  const page = await browser.newPage();
  await page.goto(origin + path);
  await page.waitForFunction("document.title !== 'waiting'", undefined, { timeout: 20_000 });
  const title = await page.title();
  await page.close();
  return title;
}

test('a strict policy gets JavaScript, a permissive one WebAssembly, and the frames are the same', async () => {
  const [strict, permissive] = [await titleOf('/strict'), await titleOf('/wasm')];
  expect(strict).toMatch(/^javascript \d/);
  expect(permissive).toMatch(/^wasm \d/);
  expect(strict.split(' ').slice(1)).toEqual(permissive.split(' ').slice(1));
});
