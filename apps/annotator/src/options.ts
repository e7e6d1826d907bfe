/** The options: the server, the token, and what is known about the lists. */

import type { AnnotatorStatus } from './annotator.ts';
import { askWorker } from './messages.ts';
import { element, timeText } from './note-list.ts';

const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const form = byId<HTMLFormElement>('settings');
const address = byId<HTMLInputElement>('address');
const token = byId<HTMLInputElement>('token');
const status = byId('status');

function show(facts: AnnotatorStatus): void {
  if (facts.problem !== null) say(facts.problem, true);
  else if (facts.server !== null) {
    say(
      facts.user === null
        ? `${facts.server}: you read public notes.`
        : `${facts.server}: you write as ${facts.user}.`,
    );
  }
  byId('lists').hidden = facts.lists.length === 0;
  const rows = facts.lists.map((list) => {
    const row = document.createElement('tr');
    row.append(
      element('td', '', list.isPrivate ? `${list.group} (private)` : list.group),
      element('td', 'number', list.pages.toLocaleString()),
      element('td', 'number', sizeText(list.bytes)),
      element(
        'td',
        'number',
        list.falsePositiveRate.toLocaleString(undefined, { style: 'percent', maximumSignificantDigits: 2 }),
      ),
      element('td', '', timeText(list.epoch)),
    );
    return row;
  });
  document.querySelector('#lists tbody')!.replaceChildren(...rows);
}

function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return `${(bytes / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 })} kB`;
}

function say(words: string, isBad = false): void {
  status.textContent = words;
  status.className = isBad ? 'bad' : '';
}

async function run(work: () => Promise<AnnotatorStatus>): Promise<void> {
  try {
    show(await work());
  } catch (error) {
    say((error as Error).message, true);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  say('Asking the server …');
  void run(() => askWorker({ type: 'configure', invitation: address.value, token: token.value }));
});
byId('sync').addEventListener('click', () => void run(() => askWorker({ type: 'sync' })));
void run(async () => {
  const facts = await askWorker({ type: 'status' });
  if (facts.invitation !== null) address.value = facts.invitation;
  if (facts.hasToken) token.placeholder = 'kept; enter another to change it';
  return facts;
});
