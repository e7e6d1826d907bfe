/**
 * Visits in Chromium through a proxy that records everything: what the server is told, and whether
 * every annotated page shows its notes.
 */

import { buildList, normalizeUrl, pageId, prefixBits, prefixOf } from '@bloomery/stores/annotations';
import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial } from '@bloomery/testkit/statistics';
import type { HashList } from 'bloomery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExtensionLab } from './extension-lab.ts';

const lab = new ExtensionLab();
/** Words that stand in the URLs of all pages, and nowhere else. */
const SECRET = 'whereabouts';
const annotated = Array.from({ length: 850 }, (_, i) => `http://site-${i % 40}.${SECRET}.test/noted/${i}`);
let token = '';

beforeAll(async () => {
  token = lab.notes.addUser('ada', { nowS: 0 });
  const notes = annotated.map((url, i) => ({
    id: i.toString(16).padStart(32, '0'),
    parent: null,
    author: 'ada',
    text: `note ${i}`,
    atS: 1,
    state: 'visible' as const,
    group: 'public',
    url: normalizeUrl(url)!,
  }));
  lab.notes.importNotes(notes, 0);
  await lab.start();
  await lab.configure();
}, 120_000);

afterAll(() => lab.close());

test('pages without notes send something at the planned rate, and annotated ones show their notes', async () => {
  const list: HashList = buildList(annotated.map((url) => normalizeUrl(url)!));
  const bits = prefixBits(list.capacity!);
  const page = await lab.context.newPage();
  const start = lab.recorded.length;
  const visits = withEffort(100, 40);
  let [without, sent] = [0, 0];
  for (let i = 0; i < visits; i++) {
    const isAnnotated = i % 10 === 3;
    const url = isAnnotated
      ? annotated[(i * 37) % annotated.length]
      : `http://site-${i % 40}.${SECRET}.test/plain/${i}?q=${i}`;
    const before = lab.recorded.length;
    const badge = await lab.visit(page, url);
    const questions = lab.traffic(before);
    const form = normalizeUrl(url)!;
    // The list alone decides, and the question is the prefix of the page.
    expect([url, questions.length]).toEqual([url, +list.has(form)]);
    for (const { path } of questions) {
      expect(path).toBe(`/v1/notes?group=public&prefix=${prefixOf(await pageId(form), bits)}`);
    }
    if (isAnnotated) expect([url, badge]).toEqual([url, '1']);
    else {
      without++;
      sent += questions.length;
      expect([url, badge]).toEqual([url, '']);
    }
  }
  expectBinomial(sent, without, list.onesCount() / list.bits, 'visits without notes that sent something');
  // No byte to or from the server tells a page, in any of the usual writings.
  const writings = [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('hex')];
  for (let shift = 0; shift < 3; shift++) {
    writings.push(
      Buffer.from('x'.repeat(shift) + SECRET)
        .toString('base64')
        .slice(4, -4),
    );
  }
  for (const entry of lab.traffic(start)) {
    const bytes = entry.sent + entry.received;
    expect(writings.filter((writing) => bytes.includes(writing))).toEqual([]);
    expect(entry.sent).not.toMatch(/authorization|cookie|referer/i);
  }
  // The extension talks to the server alone. The browser looks for updates by itself.
  const others = lab.recorded.slice(start).filter(({ host }) => !host.endsWith('.test'));
  expect(others.filter(({ host }) => host !== 'update.googleapis.com')).toEqual([]);
  expect(others.filter(({ sent }) => sent.includes(SECRET))).toEqual([]);
  await page.close();
});

test('a note is gone after the next delta, and so are the questions about its page', async () => {
  const page = await lab.context.newPage();
  const url = annotated[7];
  const plain = `http://elsewhere.${SECRET}.test/`;
  expect(await lab.visit(page, url)).toBe('1');
  const ada = lab.notes.userOfToken(token)!;
  const note = [...lab.notes.everyNote()].find((one) => one.url === normalizeUrl(url))!;
  lab.notes.deleteNote(note.id, ada);
  lab.aheadMs += 3_600_000;
  await lab.service.publish();
  const before = lab.recorded.length;
  await lab.sync();
  const files = lab.traffic(before).map(({ path }) => path.replace(/\d{6,}/, 'EPOCH'));
  expect(files).toEqual(['/f/public/head', '/f/public/u1-EPOCH']);
  await lab.visit(page, plain);
  const after = lab.recorded.length;
  expect(await lab.visit(page, url)).toBe('');
  expect(lab.traffic(after)).toEqual([]);
  await page.close();
});

test('a forged list is refused in the extension, and the old one goes on', async () => {
  const page = await lab.context.newPage();
  lab.tamper = (path, body) => {
    if (path.startsWith('/f/')) body[body.length - 5] ^= 1;
    return body;
  };
  lab.aheadMs += 3_600_000;
  await lab.service.publish();
  await lab.sync();
  lab.tamper = undefined;
  expect(await lab.visit(page, annotated[8])).toBe('1');
  await page.close();
});

test('without a list nothing is asked', async () => {
  const worker = await lab.worker();
  expect(await worker.evaluate(`typeof WebAssembly`)).toBe('object');
  const fresh = await new ExtensionLab().start();
  try {
    const page = await fresh.context.newPage();
    expect(await fresh.visit(page, annotated[0])).toBe('');
    expect(fresh.traffic()).toEqual([]);
  } finally {
    await fresh.close();
  }
});
