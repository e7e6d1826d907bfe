// `npm run bench:annotation-wake`: the time from the start of a sleeping service worker to the
// badge, with a list of a million pages, in real Chromium with the built extension. The worker is
// stopped before each visit. Elapsed times, so the load of the machine is in the page.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const { values: options } = parseArgs({
  options: {
    pages: { type: 'string', default: '1000000' },
    visits: { type: 'string', default: '21' },
    markdown: { type: 'string' },
  },
});
const PAGES = Number(options.pages);
const VISITS = Number(options.visits);
// Beside the lab, so that its packages and the built extension are found.
const annotator = fileURLToPath(new URL('../../apps/annotator/', import.meta.url));
const scratch = mkdtempSync(join(annotator, 'test/browser/bench-'));
try {
  await build({
    entryPoints: [join(annotator, 'test/browser/extension-lab.ts')],
    outfile: join(scratch, 'lab.mjs'),
    bundle: true,
    external: ['playwright-core', '@bloomery/stores/*'],
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
    // The lab looks for the extension from its own place.
    define: {
      'import.meta.url': JSON.stringify(pathToFileURL(join(annotator, 'test/browser/extension-lab.ts')).href),
    },
  });
  const { ExtensionLab } = await import(pathToFileURL(join(scratch, 'lab.mjs')).href);
  await measure(new ExtensionLab());
} finally {
  rmSync(scratch, { recursive: true });
}

/** @param {import('../../apps/annotator/test/browser/extension-lab.ts').ExtensionLab} lab */
async function measure(lab) {
  const token = lab.notes.addUser('ada', { nowS: 0 });
  const ada = lab.notes.userOfToken(token);
  if (ada === null) throw new Error('Cannot add a note: expected a user, got none');
  const noted = 'http://noted.test/page';
  const note = { group: 'public', url: 'https://noted.test/page', text: 'A note', parent: null, id: null };
  await lab.notes.addNote(note, ada, { nowS: 1 });
  // The list has a million pages; the database has the notes of one.
  const urls = Array.from({ length: PAGES - 1 }, (_, i) => `https://site-${i % 9973}.example/articles/${i}`);
  lab.notes.urls = () => [...urls, note.url];
  await lab.start();
  try {
    await lab.configure();
    const page = await lab.context.newPage();
    const options = await lab.context.newPage();
    await options.goto(await lab.extensionUrl('options.html'));
    const control = await lab.context.newCDPSession(options);
    await control.send('ServiceWorker.enable');
    /** @type {Record<'plain' | 'noted', number[]>} */
    const times = { plain: [], noted: [] };
    let load = 0;
    for (let i = 0; i < VISITS; i++) {
      for (const kind of /** @type {const} */ (['plain', 'noted'])) {
        await page.goto('about:blank');
        const worker = await lab.worker();
        await worker.evaluate('globalThis.isOld = true');
        await control.send('ServiceWorker.stopAllWorkers');
        const url = kind === 'plain' ? `http://plain-${i}.test/` : `${noted}?utm_source=${i}`;
        await page.goto(url);
        for (;;) {
          // The object of the lab outlives the worker. A new worker has no mark.
          const state = await worker
            .evaluate('({ ...annotatorLast, isOld: globalThis.isOld === true })')
            .catch(() => null);
          const last = /** @type {{ url: string, badgeMs: number, isOld: boolean } | null} */ (state);
          if (last?.isOld) throw new Error('Cannot measure: expected a new worker, got the old one');
          if (last?.url === url) {
            times[kind].push(last.badgeMs);
            break;
          }
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        if (kind === 'noted' && (await lab.badgeOf(url)) !== '1')
          throw new Error('Cannot measure: expected a badge of 1, got another');
        load = Math.max(load, loadavg()[0]);
      }
    }
    report(times, load);
  } finally {
    await lab.close();
  }
}

/** @param {Record<'plain' | 'noted', number[]>} times @param {number} load */
function report(times, load) {
  const rows = Object.entries(times).map(([kind, all]) => {
    const sorted = [...all].sort((a, b) => a - b);
    const at = (/** @type {number} */ share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(0);
    return `| ${kind === 'plain' ? 'a page without notes' : 'a page with a note, asked from the server'} | ${at(0.5)} | ${at(0)} | ${at(0.9)} |`;
  });
  const text = `# From sleep to badge

${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, Chromium of Debian, ${new Date().toISOString().slice(0, 10)}, load up to ${load.toFixed(1)}. A list of ${PAGES.toLocaleString('en')} pages; ${VISITS} visits of each kind, the service worker stopped before each. Milliseconds from the start of the worker to the badge.

| visit | median | least | 90th percentile |
| --- | ---: | ---: | ---: |
${rows.join('\n')}
`;
  if (options.markdown === undefined) console.log(text);
  else writeFileSync(options.markdown, text);
}
