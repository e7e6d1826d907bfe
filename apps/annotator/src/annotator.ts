/**
 * The extension without its user interface: lists, questions, the queue of notes.
 *
 * The rule that everything here serves: a page's URL leads to a request only if a list says
 * "maybe", or the user wrote a note there. Without a list nothing is asked.
 */

import {
  FilterFollower,
  listKey,
  normalizeUrl,
  pageId,
  prefixBits,
  prefixOf,
} from '@bloomery/stores/annotations';
import { HashList } from 'bloomery';
import {
  forget,
  type GroupFacts,
  type KeptState,
  keep,
  type QueuedNote,
  readState,
  type Settings,
} from './kept-state.ts';
import {
  askNotes,
  askServer,
  changeNote,
  download,
  ServerRefusal,
  type ShownNote,
  sendNote,
} from './server-client.ts';

export interface GroupNotes {
  readonly group: string;
  readonly isPrivate: boolean;
  readonly notes: readonly ShownNote[];
  readonly waiting: readonly QueuedNote[];
  /** The answer could not be had; the notes are those of the last answer. */
  readonly isOffline: boolean;
}

export interface PageNotes {
  /** The normalized URL, or null if the page takes no notes. */
  readonly url: string | null;
  readonly groups: readonly GroupNotes[];
}

interface ListStatus {
  readonly group: string;
  readonly isPrivate: boolean;
  readonly pages: number;
  readonly bytes: number;
  readonly falsePositiveRate: number;
  readonly epoch: number;
}

export interface AnnotatorStatus {
  /** The address with its key, as the user entered it. */
  readonly invitation: string | null;
  readonly hasToken: boolean;
  readonly server: string | null;
  readonly user: string | null;
  readonly groups: readonly string[];
  readonly lists: readonly ListStatus[];
  readonly problem: string | null;
}

interface OpenGroup {
  readonly facts: GroupFacts;
  readonly follower: FilterFollower;
  list: HashList | null;
}

/** Pages of own notes are asked for this long, until every list has them. */
const OWN_S = 14 * 86_400;
/** Answers are used again for this long. */
const ANSWER_MS = 60_000;
const MOST_ANSWERS = 200;
const MOST_QUEUE = 500;

export class Annotator {
  #state: KeptState;
  #groups: OpenGroup[] = [];
  #problem: string | null = null;
  #syncing: Promise<void> | undefined;
  #sending: Promise<void> | undefined;
  readonly #answers = new Map<string, { readonly atMs: number; readonly notes: readonly ShownNote[] }>();

  private constructor(state: KeptState) {
    this.#state = state;
  }

  /** Reads what was kept. */
  static async open(): Promise<Annotator> {
    const annotator = new Annotator(await readState());
    await annotator.#openGroups();
    return annotator;
  }

  status(): AnnotatorStatus {
    const { settings, server } = this.#state;
    return {
      invitation: settings === undefined ? null : invitationOf(settings),
      hasToken: (settings?.token ?? '') !== '',
      server: server?.name ?? null,
      user: server?.user?.name ?? null,
      groups: (server?.groups ?? []).map(({ name }) => name),
      lists: this.#groups.flatMap(({ facts, follower, list }) =>
        list === null
          ? []
          : [
              {
                group: facts.name,
                isPrivate: facts.key !== null,
                pages: Math.round(list.estimatedSize()),
                bytes: list.byteLength,
                falsePositiveRate: list.estimatedFalsePositiveRate(),
                epoch: follower.epoch ?? 0,
              },
            ],
      ),
      problem: this.#problem,
    };
  }

  /**
   * Sets the server. The token of the same server stays if none is given. Throws if the address is
   * wrong or the server does not answer.
   */
  async configure(invitation: string, token: string): Promise<void> {
    const given = settingsOf(invitation, token);
    const before = this.#state.settings;
    const isOther = given.address !== before?.address || !sameKey(given, before);
    const settings = given.token === '' && !isOther ? { ...given, token: before?.token ?? '' } : given;
    const server = await askServer(settings);
    if (isOther) await forget();
    this.#state = isOther
      ? { settings, server, lists: {}, queue: [], own: [] }
      : { ...this.#state, settings, server };
    await keep('settings', settings);
    await keep('server', server);
    this.#answers.clear();
    await this.#openGroups();
    await this.sync(true);
  }

  /** The groups that may have notes on the page. Sends nothing. */
  maybe(url: string): readonly OpenGroup[] {
    const waits = (group: string) =>
      this.#state.own.some((page) => page.group === group && page.url === url) ||
      this.#state.queue.some((note) => note.group === group && note.url === url);
    return this.#groups.filter(({ facts, list }) => list?.has(url) === true || waits(facts.name));
  }

  /** The notes of a page. Asks the server only about groups that may have some. */
  async notesOf(address: string): Promise<PageNotes> {
    const url = normalizeUrl(address);
    if (url === null) return { url, groups: [] };
    const groups = await Promise.all(this.maybe(url).map((group) => this.#notesIn(group, url)));
    return { url, groups: groups.filter(({ notes, waiting }) => notes.length + waiting.length > 0) };
  }

  /** Queues a note and tries to send it. The note is kept before the promise is fulfilled. */
  async add(group: string, address: string, text: string, parent: string | null): Promise<void> {
    const url = normalizeUrl(address);
    if (url === null) throw new TypeError('Cannot add a note: expected a page of http or https, got another');
    if (this.#state.queue.length >= MOST_QUEUE) {
      throw new RangeError(`Cannot add a note: expected fewer than ${MOST_QUEUE} waiting, got as many`);
    }
    const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
      byte.toString(16).padStart(2, '0'),
    ).join('');
    const atS = Math.floor(Date.now() / 1000);
    await this.#setQueue([...this.#state.queue, { id, group, url, text, parent, atS }]);
    await this.#setOwn([...this.#state.own, { group, url, atS }]);
    await this.send();
  }

  async change(id: string, action: 'delete' | 'report'): Promise<void> {
    const waiting = this.#state.queue.filter((note) => note.id !== id);
    if (action === 'delete' && waiting.length < this.#state.queue.length) {
      await this.#setQueue(waiting);
      return;
    }
    await changeNote(this.#needSettings(), id, action);
    this.#answers.clear();
  }

  /** Sends the notes that wait, in their order. What the network refuses stays. */
  async send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    await this.#sending;
  }

  /** Follows the lists of all groups. Returns when to call again, in seconds since 1970. */
  async sync(isUrgent = false): Promise<number> {
    this.#syncing ??= this.#syncAll(isUrgent).finally(() => {
      this.#syncing = undefined;
    });
    await this.#syncing;
    await this.send();
    const nowS = Date.now() / 1000;
    const next = this.#groups.map(({ follower }) => follower.next(nowS));
    return Math.min(nowS + 3600, ...next.map((step) => (step.kind === 'wait' ? step.untilS : nowS + 60)));
  }

  async #notesIn({ facts, list }: OpenGroup, url: string): Promise<GroupNotes> {
    const id = await pageId(url, facts.key);
    const found = await this.#answerTo(facts, prefixOf(id, prefixBits(list?.capacity ?? 0)), id);
    const waiting = this.#state.queue.filter((note) => note.group === facts.name && note.url === url);
    return { group: facts.name, isPrivate: facts.key !== null, waiting, ...found };
  }

  async #answerTo(facts: GroupFacts, prefix: string, id: Uint8Array) {
    const key = `${facts.name} ${id.join(',')}`;
    const kept = this.#answers.get(key);
    if (kept !== undefined && Date.now() - kept.atMs < ANSWER_MS)
      return { notes: kept.notes, isOffline: false };
    try {
      const notes = await askNotes(this.#needSettings(), facts, prefix, id);
      this.#answers.delete(key);
      this.#answers.set(key, { atMs: Date.now(), notes });
      if (this.#answers.size > MOST_ANSWERS) this.#answers.delete(this.#answers.keys().next().value!);
      return { notes, isOffline: false };
    } catch {
      return { notes: kept?.notes ?? [], isOffline: true };
    }
  }

  async #sendAll(): Promise<void> {
    for (const note of this.#state.queue) {
      if (note.refused !== undefined) continue;
      try {
        await sendNote(this.#needSettings(), note);
      } catch (error) {
        const isFinal =
          error instanceof ServerRefusal && error.status >= 400 && error.status < 500 && error.status !== 429;
        if (!isFinal) return;
        const refused = { ...note, refused: error.message };
        await this.#setQueue(this.#state.queue.map((one) => (one.id === note.id ? refused : one)));
        continue;
      }
      await this.#setQueue(this.#state.queue.filter(({ id }) => id !== note.id));
      this.#answers.clear();
    }
  }

  async #syncAll(isUrgent: boolean): Promise<void> {
    const { settings } = this.#state;
    if (settings === undefined) return;
    this.#problem = null;
    for (const group of this.#groups) {
      try {
        await this.#follow(settings, group, isUrgent);
      } catch (error) {
        this.#problem = (error as Error).message;
      }
    }
  }

  async #follow(settings: Settings, group: OpenGroup, isUrgent: boolean): Promise<void> {
    const { follower, facts } = group;
    if (isUrgent) follower.wake();
    const nowS = Date.now() / 1000;
    for (let step = follower.next(nowS); step.kind === 'fetch'; step = follower.next(nowS)) {
      const bytes = await download(settings, facts.name, step.file, step.maxBytes).catch(() => null);
      if (bytes === null) {
        follower.fail(step.file, nowS);
        this.#problem = 'The lists cannot be downloaded.';
        continue;
      }
      const outcome = await follower.receive(step.file, bytes, nowS);
      if (outcome.status === 'refused') this.#problem = outcome.error.message;
      if (outcome.status !== 'changed' || follower.held === null) continue;
      this.#problem = null;
      group.list = await openList(follower.held.frame, facts.key);
      await keep(`list ${facts.name}`, follower.held);
      this.#answers.clear();
    }
    await this.#setOwn(this.#state.own.filter(({ atS }) => nowS - atS < OWN_S));
  }

  async #openGroups(): Promise<void> {
    const { settings, server, lists } = this.#state;
    const known = new Map(this.#groups.map((group) => [group.facts.name, group.follower.held]));
    this.#groups = [];
    if (settings === undefined || server === undefined) return;
    for (const facts of server.groups) {
      const held = known.get(facts.name) ?? lists[facts.name];
      const follower = new FilterFollower({
        group: facts.name,
        keys: [settings.publicKey],
        random: Math.random,
        periodS: server.periodS,
        held,
      });
      const list = held === undefined ? null : await openList(held.frame, facts.key);
      this.#groups.push({ facts, follower, list });
    }
  }

  #needSettings(): Settings {
    if (this.#state.settings === undefined) {
      throw new TypeError('Cannot ask: expected the address of a server in the options, got none');
    }
    return this.#state.settings;
  }

  async #setQueue(queue: readonly QueuedNote[]): Promise<void> {
    this.#state = { ...this.#state, queue };
    await keep('queue', queue);
  }

  async #setOwn(own: KeptState['own']): Promise<void> {
    if (own.length === this.#state.own.length) return;
    this.#state = { ...this.#state, own };
    await keep('own', own);
  }
}

async function openList(frame: Uint8Array, groupKey: Uint8Array | null): Promise<HashList | null> {
  try {
    return HashList.decode(frame, groupKey === null ? {} : { key: await listKey(groupKey) });
  } catch {
    return null; // as of another key: nothing is asked until the next list
  }
}

/** Reads `https://server/#key`, which the server's page shows. */
function settingsOf(invitation: string, token: string): Settings {
  const url = new URL(invitation.trim());
  const key = /^#([\w-]{43})$/.exec(url.hash)?.[1];
  if (!/^https?:$/.test(url.protocol) || key === undefined) {
    throw new TypeError('Cannot use the address: expected https://server/#key, as its page shows it');
  }
  const binary = atob(`${key.replaceAll('-', '+').replaceAll('_', '/')}=`);
  const publicKey = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return { address: url.origin + url.pathname.replace(/\/+$/, ''), publicKey, token: token.trim() };
}

function invitationOf({ address, publicKey }: Settings): string {
  const binary = Array.from(publicKey, (byte) => String.fromCharCode(byte)).join('');
  return `${address}/#${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

function sameKey(a: Settings, b: Settings | undefined): boolean {
  return a.publicKey.every((byte, i) => byte === b?.publicKey[i]);
}
