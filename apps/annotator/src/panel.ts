/** The side panel: the notes of the page in the active tab, and a form for a new one. */

import type { GroupNotes } from './annotator.ts';
import { chrome } from './chrome-api.ts';
import { askWorker } from './messages.ts';
import { element, type ListedNote, type NoteAction, noteElements } from './note-list.ts';

const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const status = byId('status');
const list = byId('notes');
const form = byId<HTMLFormElement>('write');
const text = byId<HTMLTextAreaElement>('text');
const groups = byId<HTMLSelectElement>('group');
const replyLine = byId('reply');

/** The address that is shown: that of the active tab, or of `?url=` in a tab of its own. */
let address = '';
let userName: string | null = null;
let parent: { readonly id: string; readonly group: string } | null = null;
let latest = 0;

async function activeAddress(): Promise<string> {
  const given = new URLSearchParams(location.search).get('url');
  if (given !== null) return given;
  const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
  return tab?.url ?? '';
}

async function show(): Promise<void> {
  const turn = ++latest;
  try {
    const found = await activeAddress();
    if (found !== address) setParent(null);
    address = found;
    const [page, facts] = await Promise.all([
      askWorker({ type: 'page', url: address }),
      askWorker({ type: 'status' }),
    ]);
    if (turn !== latest) return;
    userName = facts.user;
    byId('page').textContent = page.url?.replace('https://', '') ?? '';
    form.hidden = page.url === null || facts.user === null;
    showGroups(facts.groups);
    list.replaceChildren(...page.groups.flatMap(elementsOf));
    const count = page.groups.reduce((sum, one) => sum + one.notes.length + one.waiting.length, 0);
    if (facts.invitation === null) say('Enter the address of a server in the options of the extension.');
    else if (page.url === null) say('Pages like this one take no notes.');
    else if (facts.lists.length === 0) say('There is no list of annotated pages yet, so nothing is asked.');
    else if (page.groups.some(({ isOffline }) => isOffline))
      say('The server does not answer. These notes are not current.');
    else say(count === 0 ? 'No notes on this page.' : '');
  } catch (error) {
    say((error as Error).message, true);
  }
}

function elementsOf({ group, notes, waiting }: GroupNotes): HTMLElement[] {
  const queued: ListedNote[] = waiting.map((note) => ({
    ...note,
    author: userName ?? 'You',
    state: 'visible',
    waiting: note.refused === undefined ? 'waits for the server' : `refused: ${note.refused}`,
  }));
  const actionsFor = (note: ListedNote): NoteAction[] => {
    const actions: NoteAction[] = [];
    if (note.waiting === undefined && userName !== null) {
      actions.push({ label: 'Reply', run: () => setParent({ id: note.id, group, author: note.author }) });
    }
    if (note.author === userName || note.waiting !== undefined) {
      actions.push({ label: 'Delete', run: () => void change(note.id, 'delete') });
    } else if (userName !== null) {
      actions.push({ label: 'Report', run: () => void change(note.id, 'report') });
    }
    return actions;
  };
  return noteElements([...notes, ...queued], { group, actionsFor });
}

async function change(id: string, action: 'delete' | 'report'): Promise<void> {
  try {
    await askWorker({ type: 'change', id, action });
    await show();
    if (action === 'report') say('Thank you. A moderator will look at the note.');
  } catch (error) {
    say((error as Error).message, true);
  }
}

function setParent(
  to: { readonly id: string; readonly group: string; readonly author: string } | null,
): void {
  parent = to;
  replyLine.hidden = to === null;
  if (to === null) return;
  replyLine.querySelector('span')!.textContent = `Reply to ${to.author}`;
  groups.value = to.group;
  text.focus();
}

function showGroups(names: readonly string[]): void {
  const before = groups.value;
  groups.replaceChildren(...names.map((name) => Object.assign(element('option', '', name), { value: name })));
  if (names.includes(before)) groups.value = before;
}

function say(words: string, isBad = false): void {
  status.textContent = words;
  status.className = isBad ? 'bad' : 'soft';
  status.hidden = words === '';
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const group = parent?.group ?? groups.value;
  try {
    await askWorker({ type: 'add', group, url: address, text: text.value, parent: parent?.id ?? null });
    text.value = '';
    setParent(null);
    await show();
  } catch (error) {
    say((error as Error).message, true);
  }
});
replyLine.querySelector('button')!.addEventListener('click', () => setParent(null));
chrome.tabs.onActivated.addListener(() => void show());
chrome.tabs.onUpdated.addListener((_id, { url, status: state }, tab) => {
  if (tab.active === true && (url !== undefined || state === 'complete')) void show();
});
void show();
