/**
 * The rules for notes. Pure.
 *
 * Text is plain text. It is stored as it came, without control characters, and every client shows
 * it as text. We refused to escape or filter HTML here: a store that "cleans" markup invites
 * clients to trust it.
 */

import { normalizeUrl } from '../pages/normalize-url.ts';
import { GROUP_NAME } from '../publication/list-files.ts';
import { AnnotationError } from './annotation-error.ts';

export const MOST_TEXT = 4000;
export const MOST_NOTES_OF_PAGE = 200;

/** A note that a user wants to add. */
export interface NewNote {
  readonly group: string;
  /** The normalized URL. */
  readonly url: string;
  readonly text: string;
  /** The note that this one replies to. */
  readonly parent: string | null;
  /** 16 bytes in hexadecimal, chosen by the client so that it can repeat its request; or null. */
  readonly id: string | null;
}

/** Checks the fields of a new note, from whatever a client sent. */
export function checkNote(value: unknown): NewNote {
  const {
    group,
    url,
    text,
    parent = null,
    id = null,
  } = fieldsOf(value, ['group', 'url', 'text', 'parent', 'id']);
  return {
    group: checkName('group', group),
    url: checkUrl(url),
    text: checkText(text),
    parent: parent === null ? null : checkNoteId(parent),
    id: id === null ? null : checkNoteId(id),
  };
}

/** Checks a note of an export. */
export function checkImport(value: unknown): Omit<NewNote, 'id'> & {
  readonly id: string;
  readonly author: string;
  readonly atS: number;
  readonly state: 'visible' | 'hidden' | 'deleted';
} {
  const names = ['id', 'parent', 'author', 'text', 'atS', 'state', 'group', 'url', 'reports'];
  const { id, author, atS, state, text, ...rest } = fieldsOf(value, names);
  const isDeleted = state === 'deleted';
  const { group, url, parent } = rest;
  const note = checkNote({ group, url, parent, text: isDeleted ? 'deleted' : text });
  if (!isDeleted && state !== 'visible' && state !== 'hidden') {
    throw wrongField('state', 'visible, hidden or deleted', state);
  }
  if (typeof atS !== 'number' || !Number.isSafeInteger(atS) || atS < 0) {
    throw wrongField('atS', 'seconds since 1970', atS);
  }
  return {
    ...note,
    text: isDeleted ? '' : note.text,
    id: checkNoteId(id),
    author: isDeleted && author === '' ? 'deleted' : checkName('author', author),
    atS,
    state,
  };
}

export function checkName(what: string, name: unknown): string {
  if (typeof name === 'string' && GROUP_NAME.test(name)) return name;
  throw wrongField(what, 'up to 32 of a-z, 0-9 and -, a letter first', name);
}

export function checkNoteId(id: unknown): string {
  if (typeof id === 'string' && /^[0-9a-f]{32}$/.test(id)) return id;
  throw wrongField('id', '32 hexadecimal digits', id);
}

/** The prefix of a question: zeros and ones. */
export function checkPrefix(prefix: unknown, bits: number): string {
  const isPrefix = typeof prefix === 'string' && /^[01]{0,20}$/.test(prefix);
  if (isPrefix && prefix.length === bits) return prefix;
  const got = isPrefix ? `${prefix.length} bits` : typeof prefix;
  throw new AnnotationError(
    'prefix',
    `Cannot answer: expected a prefix of exactly ${bits} zeros and ones, got ${got}`,
  );
}

/** The fields of an object, which has no others. */
function fieldsOf(value: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongField('body', 'an object', value);
  }
  for (const name of Object.keys(value)) {
    if (!names.includes(name)) throw wrongField('body', `only ${names.join(', ')}`, name);
  }
  return value as Record<string, unknown>;
}

function checkUrl(url: unknown): string {
  const form = typeof url === 'string' ? normalizeUrl(url) : null;
  if (form !== null && form === url) return form;
  const got = typeof url === 'string' ? JSON.stringify(url.slice(0, 100)) : typeof url;
  throw new AnnotationError('url', `Cannot take a note: expected a URL in its normal form, got ${got}`);
}

function checkText(text: unknown): string {
  if (typeof text !== 'string' || text.length > 2 * MOST_TEXT || /\p{Cs}/u.test(text)) {
    throw new AnnotationError(
      'text',
      `Cannot take a note: expected a text of at most ${MOST_TEXT} characters, got ${typeof text === 'string' ? text.length : typeof text}`,
    );
  }
  const clean = text.replace(CONTROLS, '').replace(/\r\n?/g, '\n').trim();
  if (clean !== '' && [...clean].length <= MOST_TEXT) return clean;
  throw new AnnotationError(
    'text',
    `Cannot take a note: expected 1 to ${MOST_TEXT} characters, got ${[...clean].length}`,
  );
}

function wrongField(what: string, expected: string, got: unknown): AnnotationError {
  const shown = (typeof got === 'string' ? JSON.stringify(got.slice(0, 100)) : typeof got) ?? 'none';
  return new AnnotationError('field', `Cannot use ${what}: expected ${expected}, got ${shown}`);
}

/**
 * Control characters except tab, newline and return, and the characters that turn the direction of
 * what follows: a note could write over its neighbours with them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
