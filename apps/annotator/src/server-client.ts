/**
 * The requests to the server. Answers are untrusted: their size is limited while they are read,
 * and every field is checked before it is used.
 */

import type { GroupFacts, QueuedNote, ServerFacts, Settings } from './kept-state.ts';

export interface ShownNote {
  readonly id: string;
  readonly parent: string | null;
  readonly author: string;
  readonly text: string;
  readonly atS: number;
  readonly state: string;
}

/** A refusal of the server, with its reason. Other errors are those of the network. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const MOST_ANSWER = 2 ** 22;
const MOST_NOTES = 1000;
const DEADLINE_MS = 30_000;

/** Downloads a published file, or returns null if there is none. */
export async function download(
  { address }: Settings,
  group: string,
  file: string,
  maxBytes: number,
): Promise<Uint8Array | null> {
  const response = await fetch(`${address}/f/${group}/${file}`, {
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    cache: 'no-cache',
    signal: AbortSignal.timeout(10 * DEADLINE_MS),
  });
  return response.ok ? readBytes(response, maxBytes) : null;
}

export async function askServer(settings: Settings): Promise<ServerFacts> {
  const { name, periodS, user, groups } = objectOf(await ask(settings, '/v1/server'));
  const isPeriod =
    typeof periodS === 'number' && Number.isInteger(periodS) && periodS >= 1 && periodS <= 86_400;
  if (typeof name !== 'string' || !isPeriod || !Array.isArray(groups) || groups.length > 100)
    throw unexpected();
  const facts = user === null || user === undefined ? null : objectOf(user);
  return {
    name: name.slice(0, 200),
    periodS,
    user: facts === null ? null : { name: textOf(facts.name), isModerator: facts.isModerator === true },
    groups: groups.map(groupOf),
  };
}

/** The notes of one page, found among all pages whose id begins with the prefix. */
export async function askNotes(
  settings: Settings,
  group: GroupFacts,
  prefix: string,
  pageId: Uint8Array,
): Promise<readonly ShownNote[]> {
  const query = new URLSearchParams({ group: group.name, prefix });
  // Public notes are asked without the token, so that questions do not carry a name.
  const asker = group.key === null ? { ...settings, token: '' } : settings;
  const { pages } = objectOf(await ask(asker, `/v1/notes?${query}`));
  if (!Array.isArray(pages)) throw unexpected();
  const id = Array.from(pageId, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const page = pages.map(objectOf).find((one) => one.id === id);
  if (page === undefined) return [];
  if (!Array.isArray(page.notes)) throw unexpected();
  return page.notes.slice(0, MOST_NOTES).map((value) => {
    const note = objectOf(value);
    if (typeof note.atS !== 'number' || !Number.isFinite(note.atS)) throw unexpected();
    return {
      id: textOf(note.id),
      parent: note.parent === null ? null : textOf(note.parent),
      author: textOf(note.author),
      text: textOf(note.text),
      atS: note.atS,
      state: textOf(note.state),
    };
  });
}

export async function sendNote(settings: Settings, note: QueuedNote): Promise<void> {
  const { id, group, url, text, parent } = note;
  await ask(settings, '/v1/notes', 'POST', { id, group, url, text, parent });
}

export async function changeNote(settings: Settings, id: string, action: 'delete' | 'report'): Promise<void> {
  const path = `/v1/notes/${encodeURIComponent(id)}`;
  if (action === 'delete') await ask(settings, path, 'DELETE');
  else await ask(settings, `${path}/report`, 'POST');
}

async function ask(
  { address, token }: Settings,
  path: string,
  method = 'GET',
  body?: unknown,
): Promise<unknown> {
  const response = await fetch(address + path, {
    method,
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    cache: 'no-store',
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  let answer: unknown;
  try {
    answer = JSON.parse(new TextDecoder().decode(await readBytes(response, MOST_ANSWER)));
  } catch (error) {
    if (response.ok) throw error;
  }
  if (response.ok) return answer;
  const { error } = (answer ?? {}) as { error?: { code?: unknown; message?: unknown } };
  throw new ServerRefusal(response.status, String(error?.code ?? ''), String(error?.message ?? 'refused'));
}

async function readBytes(response: Response, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    length += part.value.length;
    if (length > maxBytes) {
      await reader?.cancel();
      throw new RangeError(`Cannot read an answer: expected at most ${maxBytes} bytes, got more`);
    }
    parts.push(part.value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function groupOf(value: unknown): GroupFacts {
  const { name, key, prefixBits } = objectOf(value);
  const digits = typeof key === 'string' ? key : '';
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,31}$/.test(name)) throw unexpected();
  if (key !== null && !/^[0-9a-f]{64}$/.test(digits)) throw unexpected();
  const bytes =
    key === null ? null : Uint8Array.from(digits.match(/../g)!, (pair) => Number.parseInt(pair, 16));
  const isCount = typeof prefixBits === 'number' && Number.isInteger(prefixBits);
  if (!isCount || prefixBits < 0 || prefixBits > 20) throw unexpected();
  return { name, key: bytes, prefixBits };
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw unexpected();
  return value as Record<string, unknown>;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw unexpected();
  return value;
}

function unexpected(): TypeError {
  return new TypeError(
    'Cannot use the answer of the server: expected the form of the specification, got another',
  );
}
