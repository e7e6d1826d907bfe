/** The side panel, the options, private groups and the site's script, in Chromium. */

import { normalizeUrl } from '@bloomery/stores/annotations';
import { until } from '@bloomery/testkit/eventually';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExtensionLab } from './extension-lab.ts';
import { HOSTILE_TEXTS } from './hostile-texts.ts';

const HOSTILE_PAGE = 'http://hostile.test/notes';
const TEAM_PAGE = 'http://team.test/plan';
const lab = new ExtensionLab({ page: pageOf });
let ada: string;
let bob: string;

function pageOf(url: URL) {
  const html = `<!doctype html><title>A page</title><link rel="canonical" href="/notes">
    <div id="notes"></div>
    <script>window.ran = 0; window.pwned = () => { window.ran++; };</script>
    <script src="/annotations-site.js" data-server="http://notes.test/" data-into="notes" defer></script>`;
  return { html: url.host === 'hostile.test' ? html : '<!doctype html><title>A page</title>' };
}

async function write(user: string, url: string, text: string, group = 'public'): Promise<string> {
  const author = lab.notes.userOfToken(user)!;
  const note = { group, url: normalizeUrl(url)!, text, parent: null, id: null };
  return (await lab.notes.addNote(note, author, { nowS: 1 })).id;
}

beforeAll(async () => {
  [ada, bob] = ['ada', 'bob'].map((name) => lab.notes.addUser(name, { nowS: 0 }));
  lab.notes.addGroup('team', { isPrivate: true, nowS: 0 });
  lab.notes.setMember('team', 'ada', true);
  for (const text of HOSTILE_TEXTS) await write(bob, HOSTILE_PAGE, text);
  await write(ada, TEAM_PAGE, 'for the team', 'team');
  await lab.start();
  await lab.configure(ada);
}, 120_000);

afterAll(() => lab.close());

async function openPanel(url: string): Promise<Page> {
  const page = await lab.context.newPage();
  await page.addInitScript('window.ran = 0; window.pwned = () => { window.ran++; };');
  await page.goto(await lab.extensionUrl(`panel.html?url=${encodeURIComponent(url)}`));
  await page.waitForFunction(`document.getElementById('page').textContent !== ''`);
  return page;
}

const textsIn = (page: Page) => page.locator('#notes .text').allTextContents();

/** Nothing of the notes has become an element other than those that we make. */
async function isTextAlone(page: Page): Promise<void> {
  const names = await page.evaluate(
    `[...new Set([...document.querySelectorAll('#notes *')].map((one) => one.localName))]`,
  );
  expect((names as string[]).filter((name) => !['article', 'p', 'span', 'button'].includes(name))).toEqual(
    [],
  );
  expect(await page.evaluate('window.ran')).toBe(0);
}

test('hostile notes are shown as text in the panel', async () => {
  const before = lab.recorded.length;
  const page = await openPanel(HOSTILE_PAGE);
  expect(await textsIn(page)).toEqual(HOSTILE_TEXTS);
  await isTextAlone(page);
  await page.close();
  expect(lab.recorded.slice(before).filter(({ host }) => host === 'evil.test')).toEqual([]);
});

test("hostile notes are shown as text by the script on a site's own pages", async () => {
  const before = lab.recorded.length;
  const page = await lab.context.newPage();
  await page.goto(`${HOSTILE_PAGE}/other?x=1`);
  await page.waitForSelector('#notes .note');
  expect(await textsIn(page)).toEqual(HOSTILE_TEXTS);
  await isTextAlone(page);
  await page.close();
  expect(lab.recorded.slice(before).filter(({ host }) => host === 'evil.test')).toEqual([]);
});

test('a hostile server runs no script, whichever field it fills', async () => {
  lab.tamper = (path, body) => {
    if (!path.startsWith('/v1/notes?')) return body;
    const answer = JSON.parse(body.toString());
    for (const { notes } of answer.pages) {
      for (const note of notes) {
        note.author = '<img src=x onerror=pwned()>';
        note.id = '"><svg onload=pwned()>';
        note.parent = note.id;
        note.state = '<b>';
      }
    }
    return Buffer.from(JSON.stringify(answer));
  };
  const page = await lab.context.newPage();
  try {
    await page.goto(`${HOSTILE_PAGE}/again`);
    await page.waitForSelector('#notes .note');
    await isTextAlone(page);
  } finally {
    lab.tamper = undefined;
    await page.close();
  }
});

test('a note is added, answered, shown in the badge and deleted', async () => {
  const url = 'http://fresh.test/page';
  const tab = await lab.context.newPage();
  expect(await lab.visit(tab, url)).toBe('');
  const page = await openPanel(url);
  expect(await page.locator('#status').textContent()).toBe('No notes on this page.');
  await page.getByLabel('Your note').fill('first <b>note</b>');
  await page.getByLabel('Group').selectOption('public');
  await page.getByRole('button', { name: 'Add note' }).click();
  await page.waitForSelector('#notes .note');
  await page.getByRole('button', { name: 'Reply' }).click();
  await page.getByLabel('Your note').fill('an answer');
  await page.getByRole('button', { name: 'Add note' }).click();
  await page.waitForSelector('#notes .note .note');
  expect(await textsIn(page)).toEqual(['first <b>note</b>', 'an answer']);
  await until('the badge', async () => (await lab.badgeOf(url)) === '2');
  const stored = [...lab.notes.everyNote()].filter((note) => note.url === normalizeUrl(url));
  expect(stored.map(({ author, parent }) => [author, parent !== null]).sort()).toEqual([
    ['ada', false],
    ['ada', true],
  ]);
  await page.locator('#notes .note .note').getByRole('button', { name: 'Delete' }).click();
  await until('the deletion', async () => (await textsIn(page)).length === 1);
  await until('the badge', async () => (await lab.badgeOf(url)) === '1');
  await page.close();
  await tab.close();
});

test('a note that is written offline waits, and is sent once', async () => {
  const url = 'http://train.test/page';
  lab.isOffline = true;
  const page = await openPanel(url);
  await page.getByLabel('Your note').fill('from the train');
  await page.getByRole('button', { name: 'Add note' }).click();
  await page.waitForSelector('#notes .note');
  expect(await page.locator('#notes .when').textContent()).toBe('waits for the server');
  expect(await page.locator('#status').textContent()).toContain('The server does not answer');
  lab.isOffline = false;
  await lab.sync();
  await lab.sync();
  const stored = [...lab.notes.everyNote()].filter((note) => note.url === normalizeUrl(url));
  expect(stored.map(({ text }) => text)).toEqual(['from the train']);
  await page.close();
});

test('members see the notes of a private group, and the questions name neither page nor key', async () => {
  const tab = await lab.context.newPage();
  const before = lab.recorded.length;
  expect(await lab.visit(tab, TEAM_PAGE)).toBe('1');
  const questions = lab.traffic(before);
  expect(questions.map(({ path }) => path.replace(/[01]+$/, ''))).toContain('/v1/notes?group=team&prefix=');
  const key = Buffer.from(lab.notes.group('team').key!).toString('hex');
  for (const { sent, received } of questions) {
    expect(sent + received).not.toContain('team.test');
    expect(sent + received).not.toContain(key);
  }
  await tab.close();
});

test('the options say what is wrong with an address or a token', async () => {
  const page = await lab.context.newPage();
  await page.goto(await lab.extensionUrl('options.html'));
  const status = () => page.locator('#status').textContent();
  await until('the facts', async () => (await status()) === 'Notes of the lab: you write as ada.');
  await page.locator('#address').fill('http://notes.test/');
  await page.getByRole('button', { name: 'Save' }).click();
  await until('a refusal', async () => (await status())?.includes('expected https://server/#key'));
  await page.locator('#address').fill(lab.service.invitation);
  await page.locator('#token').fill('x'.repeat(43));
  await page.getByRole('button', { name: 'Save' }).click();
  await until('a refusal', async () => (await status())?.includes('Cannot accept the token'));
  await page.close();
});
