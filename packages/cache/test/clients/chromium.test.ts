/**
 * Chromium with a node as its proxy: a page with what belongs to it, loaded twice by browser
 * contexts that share no cache of their own. Only Chromium is asked whether it was right: its
 * script ran, its style applies, its pictures have their sizes.
 */

import { existsSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';
import { startClientNode } from './client-node.ts';

const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

it('loads a page with script, style and pictures, the second time without the origin', async (context) => {
  if (!existsSync(CHROMIUM)) {
    context.skip(
      `no Chromium at ${CHROMIUM} (Debian: apt-get install chromium; CHROMIUM_PATH names another)`,
    );
  }
  await using origin = await startOrigin();
  const serve = (path: string, type: string, body: string | Uint8Array, ...more: string[]) =>
    origin.on(path, { headers: ['Content-Type', type, 'Cache-Control', 'max-age=600', ...more], body });
  serve(
    '/',
    'text/html; charset=utf-8',
    `<!doctype html><title>before</title><link rel="icon" href="data:,"><link rel="stylesheet" href="style.css">
     <p>text</p><img src="a.png"><img src="b.png"><script src="script.js"></script>`,
    'ETag',
    '"page"',
  );
  serve('/style.css', 'text/css', 'p { color: rgb(1, 2, 3) }', 'Vary', 'Accept-Encoding');
  serve(
    '/script.js',
    'text/javascript',
    'document.title = "after"; fetch("data.json").then((r) => r.json()).then((d) => { window.got = d; });',
  );
  serve('/data.json', 'application/json', '{"answer":42}');
  serve('/a.png', 'image/png', picture(31, 17));
  serve('/b.png', 'image/png', picture(5, 300));
  await using node = await startClientNode('--allow-private');
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
    // Chromium goes to loopback addresses past any proxy, unless told not to.
    proxy: { server: node.url, bypass: '<-loopback>' },
  });
  try {
    for (let time = 0; time < 2; time++) {
      const window = await browser.newContext();
      const page = await window.newPage();
      const response = await page.goto(origin.url('/'), { waitUntil: 'load', timeout: 30_000 });
      expect(response?.headers()['cache-status']).toContain(time === 0 ? 'fwd=' : '; hit');
      await page.waitForFunction('window.got', undefined, { timeout: 10_000 });
      // As text: it runs in the page, where there are other types.
      const seen = await page.evaluate(`({
        title: document.title,
        color: getComputedStyle(document.querySelector('p')).color,
        sizes: [...document.images].map((image) => [image.naturalWidth, image.naturalHeight]),
        got: window.got,
      })`);
      expect(seen).toEqual({
        title: 'after',
        color: 'rgb(1, 2, 3)',
        sizes: [
          [31, 17],
          [5, 300],
        ],
        got: { answer: 42 },
      });
      expect(origin.requests.map(({ url }) => url).sort()).toEqual([
        '/',
        '/a.png',
        '/b.png',
        '/data.json',
        '/script.js',
        '/style.css',
      ]);
      await window.close();
    }
  } finally {
    await browser.close();
  }
  expect(node.complaints).toEqual([]);
});

/** A grey picture: signature, IHDR, IDAT, IEND (PNG specification, 5). */
function picture(width: number, height: number): Buffer {
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size[8] = 8;
  const rows = deflateSync(Buffer.alloc((width + 1) * height));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk('IHDR', size),
    pngChunk('IDAT', rows),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}

/** The checksum of PNG (annex D): Node has one from 20.15 and 22.2 on, but not in all types. */
function crc32(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}
