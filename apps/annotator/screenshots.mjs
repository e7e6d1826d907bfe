// Writes the pictures of docs/annotations: panel, options, server page and badge, light and dark.
// `npm run screenshots -w @bloomery/annotator` builds the extension first. The badge is a picture
// of its text and colours as the browser reports them, because Chromium without a window draws no
// toolbar.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { smallPng } from '../console/small-png.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));
const { values } = parseArgs({
  options: { to: { type: 'string', default: join(root, '../../docs/annotations') } },
});
const lab = join(root, 'test/browser/extension-lab.ts');
const scratch = mkdtempSync(join(root, 'test/browser/shots-'));
mkdirSync(values.to, { recursive: true });
try {
  await build({
    entryPoints: [lab],
    outfile: join(scratch, 'lab.mjs'),
    bundle: true,
    external: ['playwright-core', '@bloomery/stores/*'],
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(lab).href) },
  });
  const { ExtensionLab } = await import(pathToFileURL(join(scratch, 'lab.mjs')).href);
  for (const colorScheme of ['light', 'dark']) await shoot(new ExtensionLab({ colorScheme }), colorScheme);
} finally {
  rmSync(scratch, { recursive: true });
}

/**
 * @param {import('./test/browser/extension-lab.ts').ExtensionLab} server
 * @param {string} scheme
 */
async function shoot(server, scheme) {
  const url = 'https://example.org/handbook/releases';
  const nowS = Date.UTC(2026, 10, 18, 9, 30) / 1000;
  const [ada, bob] = ['ada', 'bob'].map((name) => {
    const token = server.notes.addUser(name, { nowS });
    return {
      token,
      user: /** @type {NonNullable<ReturnType<typeof server.notes.userOfToken>>} */ (
        server.notes.userOfToken(token)
      ),
    };
  });
  server.notes.addGroup('team', { isPrivate: true, nowS });
  server.notes.setMember('team', 'ada', true);
  const add = (
    /** @type {typeof ada} */ { user },
    /** @type {string} */ text,
    group = 'public',
    /** @type {string | null} */ parent = null,
    after = 0,
  ) => server.notes.addNote({ group, url, text, parent, id: null }, user, { nowS: nowS + after });
  const first = await add(
    ada,
    'Step 3 is out of date: the release is tagged before the packages are built, not after.',
  );
  const reply = await add(
    bob,
    'Right. The build reads the version from the tag since June.',
    'public',
    first.id,
    1500,
  );
  await add(ada, 'Thank you, I have told the authors.', 'public', reply.id, 4000);
  await add(bob, 'The table of mirrors at the end is complete now.', 'public', null, 90_000);
  await add(ada, 'Ours is the second mirror. Do not move it before the audit.', 'team', null, 95_000);
  for (let i = 0; i < 400; i++) {
    const text = 'A note';
    const page = `https://example.org/handbook/${i}`;
    await server.notes.addNote({ group: 'public', url: page, text, parent: null, id: null }, bob.user, {
      nowS,
    });
  }
  await server.start();
  try {
    await server.configure(ada.token);
    const blank = await server.context.newPage();
    const shot = async (/** @type {string} */ name, /** @type {import('playwright-core').Page} */ page) => {
      const png = await page.screenshot({ fullPage: true });
      writeFileSync(join(values.to, `${name}-${scheme}.png`), await smallPng(blank, png));
    };
    const panel = await server.context.newPage();
    await panel.setViewportSize({ width: 380, height: 1000 });
    await panel.goto(await server.extensionUrl(`panel.html?url=${encodeURIComponent(url)}`));
    await panel.waitForSelector('#notes .note');
    await shot('panel', panel);
    await panel.goto(await server.extensionUrl('panel.html?url=https://example.org/elsewhere'));
    await panel.waitForFunction(`document.getElementById('status').textContent !== ''`);
    await shot('panel-empty', panel);
    const options = await server.context.newPage();
    await options.setViewportSize({ width: 720, height: 640 });
    await options.goto(await server.extensionUrl('options.html'));
    await options.waitForSelector('#lists tbody tr');
    await shot('options', options);
    const site = await server.context.newPage();
    await site.setViewportSize({ width: 820, height: 720 });
    await site.goto('http://notes.test/');
    await shot('server', site);
    await site.setViewportSize({ width: 390, height: 720 });
    await shot('server-phone', site);
    await site.setViewportSize({ width: 300, height: 120 });
    // The page itself is behind HTTPS, which the proxy of the lab does not speak.
    const badge = await server.visit(site, url.replace('https:', 'http:'));
    const worker = await server.worker();
    const colors = /** @type {{ back: number[] }} */ (
      await worker.evaluate('chrome.action.getBadgeBackgroundColor({}).then((back) => ({ back }))')
    );
    const icon = await server.extensionUrl('icon-128.png');
    await panel.setViewportSize({ width: 96, height: 96 });
    await panel.goto(icon);
    await panel.evaluate(
      ([text, color, source, back]) => {
        document.body.style.cssText = `margin:0;background:${back};display:grid;place-items:center;height:96px`;
        const place = document.createElement('div');
        place.style.cssText = 'position:relative;width:64px;height:64px';
        const image = document.createElement('img');
        image.src = source;
        image.width = 64;
        const mark = document.createElement('span');
        mark.textContent = text;
        mark.style.cssText = `position:absolute;right:-8px;bottom:-6px;padding:0 7px;border-radius:8px;font:600 22px/28px system-ui,sans-serif;color:#fff;background:${color};border:2px solid ${back}`;
        place.append(image, mark);
        document.body.replaceChildren(place);
      },
      [badge, `rgb(${colors.back.slice(0, 3).join(',')})`, icon, scheme === 'dark' ? '#202327' : '#f1f3f4'],
    );
    await shot('badge', panel);
  } finally {
    await server.close();
  }
}
