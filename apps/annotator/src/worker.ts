/**
 * The service worker: badges, synchronisation, and answers to the panel and the options.
 *
 * It dies after 30 s without work. Listeners are registered before anything else, as Chromium
 * requires; each waits for the state that is being read from IndexedDB.
 */

import { normalizeUrl } from '@bloomery/stores/annotations';
import { Annotator } from './annotator.ts';
import { chrome } from './chrome-api.ts';
import type { Answers, Message, Reply } from './messages.ts';

const opening = Annotator.open();
const COLOR = '#0b57b0';
const ALARM = 'sync';
/** Chromium rounds shorter alarms up. */
const LEAST_ALARM_MS = 30_000;

/** The page that each tab shows, so that a late answer does not land on the next page. */
const shown = new Map<number, string>();

/** The last badge: its page, and milliseconds since this worker started. For tests and bench. */
const last = { url: '', badgeMs: 0 };
(globalThis as unknown as { annotatorLast: typeof last }).annotatorLast = last;

async function showBadge(tabId: number, url: string): Promise<void> {
  shown.set(tabId, url);
  const annotator = await opening;
  const form = normalizeUrl(url);
  const groups = form === null ? [] : annotator.maybe(form);
  if (groups.length === 0) {
    await setBadge(tabId, 0);
    return;
  }
  const page = await annotator.notesOf(url);
  if (shown.get(tabId) !== url) return;
  const count = page.groups.reduce((sum, { notes, waiting }) => sum + visible(notes) + waiting.length, 0);
  await setBadge(tabId, count);
}

function visible(notes: readonly { readonly state: string }[]): number {
  return notes.filter(({ state }) => state === 'visible').length;
}

async function setBadge(tabId: number, count: number): Promise<void> {
  const title =
    count === 0
      ? 'No notes on this page'
      : count === 1
        ? '1 note on this page'
        : `${count} notes on this page`;
  try {
    const text = count === 0 ? '' : count > 999 ? '999+' : String(count);
    await Promise.all([
      chrome.action.setBadgeText({ text, tabId }),
      chrome.action.setTitle({ title, tabId }),
    ]);
    last.badgeMs = performance.now();
    last.url = shown.get(tabId) ?? '';
  } catch {
    // The tab was closed in the meantime.
  }
}

async function showAll(): Promise<void> {
  for (const { id, url } of await chrome.tabs.query({})) {
    if (id !== undefined && url !== undefined) void showBadge(id, url);
  }
}

async function synchronise(isUrgent: boolean): Promise<void> {
  const annotator = await opening;
  const nextS = await annotator.sync(isUrgent);
  await chrome.alarms.create(ALARM, { when: Math.max(1000 * nextS, Date.now() + LEAST_ALARM_MS) });
}

for (const event of [
  chrome.webNavigation.onCommitted,
  chrome.webNavigation.onHistoryStateUpdated,
  chrome.webNavigation.onReferenceFragmentUpdated,
]) {
  event.addListener(({ tabId, frameId, url }) => {
    if (frameId === 0) void showBadge(tabId, url);
  });
}
chrome.alarms.onAlarm.addListener(({ name }) => {
  if (name === ALARM) void synchronise(false);
});
for (const event of [chrome.runtime.onInstalled, chrome.runtime.onStartup]) {
  event.addListener(() => {
    void chrome.action.setBadgeBackgroundColor({ color: COLOR });
    void chrome.action.setBadgeTextColor?.({ color: '#ffffff' });
    void chrome.sidePanel?.setPanelBehavior({ openPanelOnActionClick: true });
    void synchronise(false).then(showAll);
  });
}

chrome.runtime.onMessage.addListener((message, sender, reply) => {
  // Pages of this extension alone may ask.
  if (sender.id !== chrome.runtime.id) return false;
  answer(message as Message).then(
    (value) => reply({ value } satisfies Reply<unknown>),
    (error: Error) => reply({ error: error.message } satisfies Reply<unknown>),
  );
  return true;
});

async function answer(message: Message): Promise<Answers[Message['type']]> {
  const annotator = await opening;
  switch (message.type) {
    case 'page':
      return annotator.notesOf(message.url);
    case 'add':
      await annotator.add(message.group, message.url, message.text, message.parent);
      await showAll();
      return null;
    case 'change':
      await annotator.change(message.id, message.action);
      await showAll();
      return null;
    case 'configure':
      await annotator.configure(message.invitation, message.token);
      await synchronise(false);
      await showAll();
      return annotator.status();
    case 'sync':
      await synchronise(true);
      await showAll();
      return annotator.status();
    case 'status':
      return annotator.status();
  }
}
