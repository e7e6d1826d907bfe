/**
 * The HTTP side of annotations (docs/spec/annotations.md): questions by prefix, notes of users, and
 * the static files for operators who have no file server.
 *
 * Untrusted input. Bodies, headers, connections, the time of a request and the requests of each
 * address and user have limits, and each refusal has a code. Tokens come in a field that another
 * site's page cannot set, and there are no cookies, so no other site acts for a user. All answers
 * are JSON with `nosniff`, or the page about the server, whose policy allows no script.
 *
 * No log. The service keeps neither addresses nor questions, except for the counters of its limits.
 */

import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { prefixBits } from '../pages/page-id.ts';
import { HEAD_FILE, readFileName } from '../publication/list-files.ts';
import { AnnotationError, type AnnotationErrorCode } from './annotation-error.ts';
import { FloodLimit, floodKey } from './flood-limits.ts';
import { checkName, checkNote, checkNoteId, checkPrefix } from './note-rules.ts';
import type { PublicationFolder, PublishedGroup } from './publication-folder.ts';
import { PAGE_POLICY, serverPage } from './server-page.ts';
import type { Group, SqliteNotes, User } from './sqlite-notes.ts';

export interface AnnotationServiceOptions {
  readonly notes: SqliteNotes;
  readonly publications: PublicationFolder;
  /** The publisher's public key, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** Shown to people. */
  readonly name: string;
  /** The address under which clients reach the server, without a slash at the end. */
  readonly address?: string | undefined;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Believes the last address in `X-Forwarded-For`, for a server behind a proxy. */
  readonly trustsProxy?: boolean | undefined;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal that is no `AnnotationError`: of HTTP, or of too many requests. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryS: number;

  constructor(status: number, code: string, message: string, retryS = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryS = retryS;
  }
}

const STATUS: Record<AnnotationErrorCode, number> = {
  url: 400,
  text: 400,
  field: 400,
  prefix: 400,
  token: 401,
  forbidden: 403,
  'not-found': 404,
  exists: 409,
  full: 409,
  rate: 429,
  format: 500,
};
const MOST_BODY = 32 * 1024;
const MOST_ANSWER = 2 ** 20;
const MOST_CONNECTIONS = 512;
/** Pages and extensions elsewhere may ask. There are no cookies that they could use. */
const PREFLIGHT: Answer = {
  status: 204,
  type: 'text/plain',
  body: '',
  headers: {
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': 'authorization, content-type',
    'access-control-max-age': '86400',
  },
};
const JSON_TYPE = 'application/json; charset=utf-8';

export class AnnotationService {
  readonly #options: AnnotationServiceOptions;
  readonly #server: Server;
  readonly #published = new Map<string, PublishedGroup>();
  readonly #questions = new FloodLimit({ burst: 60, perSecond: 10 });
  readonly #writes = new FloodLimit({ burst: 20, perSecond: 1 / 6 });
  readonly #wrongTokens = new FloodLimit({ burst: 10, perSecond: 0.1 });
  #publishing: Promise<void> = Promise.resolve();

  private constructor(options: AnnotationServiceOptions) {
    this.#options = options;
    this.#server = createServer(
      { headersTimeout: 5_000, requestTimeout: 10_000, maxHeaderSize: 16_384, keepAliveTimeout: 5_000 },
      (request, response) => void this.#handle(request, response),
    );
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** Publishes the lists of all groups, and listens. */
  static async start(options: AnnotationServiceOptions): Promise<AnnotationService> {
    const service = new AnnotationService(options);
    await service.publish();
    await new Promise<void>((resolve, reject) => {
      service.#server.once('error', reject);
      service.#server.listen({ host: options.host, port: options.port }, resolve);
    });
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The text that users enter in the extension: the address, and the key that signs. */
  get invitation(): string {
    return `${this.#address}/#${Buffer.from(this.#options.publicKey).toString('base64url')}`;
  }

  /** Publishes the lists of all groups. Calls follow each other. */
  async publish({ signal }: { readonly signal?: AbortSignal } = {}): Promise<readonly PublishedGroup[]> {
    const before = this.#publishing;
    const made = (async () => {
      await before.catch(() => {});
      const { notes, publications, nowMs } = this.#options;
      const published: PublishedGroup[] = [];
      for (const group of notes.groups()) {
        signal?.throwIfAborted();
        const one = await publications.publish(group, notes.urls(group), { nowS: nowMs() / 1000, signal });
        this.#published.set(group.name, one);
        published.push(one);
      }
      return published;
    })();
    this.#publishing = made.then(() => {});
    this.#publishing.catch(() => {});
    return made;
  }

  /** Stops taking requests, and waits for those that are being answered. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    await closed;
    await this.#publishing.catch(() => {});
  }

  get #address(): string {
    const { address, host } = this.#options;
    return address ?? `http://${host.includes(':') ? `[${host}]` : host}:${this.port}`;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#answer(request);
    } catch (error) {
      answer = refusalOf(error);
    }
    if (response.destroyed) return;
    const isRead = request.complete;
    response.writeHead(answer.status, {
      'content-type': answer.type,
      'content-length': Buffer.byteLength(answer.body),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'cache-control': 'no-store',
      ...answer.headers,
      // The rest of a body is not read: the connection ends with the answer.
      ...(!isRead && { connection: 'close' }),
    });
    response.end(request.method === 'HEAD' ? undefined : answer.body);
    if (!isRead) response.once('finish', () => request.destroy());
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    if (request.method === 'OPTIONS') return PREFLIGHT;
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const { pathname, searchParams } = addressOf(request.url ?? '');
    const route = `${method} ${pathname}`;
    if (route === 'GET /') return this.#page();
    const file = /^\/f\/([^/]+)\/([^/]+)$/.exec(pathname);
    if (file !== null && method === 'GET') return this.#file(file[1], file[2]);
    if (route === 'GET /v1/server') return json(this.#describe(this.#userOf(request)));
    if (route === 'GET /v1/notes') return this.#answerQuestion(request, searchParams);
    if (route === 'GET /v1/moderation') return this.#moderation(request, searchParams);
    const change = /^\/v1\/notes(?:\/([^/]+)(?:\/(report|hide|show))?)?$/.exec(pathname);
    if (change !== null) return this.#change(request, method ?? '', change[1], change[2]);
    if (/^\/(f|v1)\//.test(pathname) && method !== 'GET') throw new Refusal(405, 'method', 'Expected GET');
    throw new Refusal(404, 'path', 'Expected a path of the specification');
  }

  async #file(groupName: string, name: string): Promise<Answer> {
    const group = this.#options.notes.group(checkName('group', groupName));
    const file = readFileName(name);
    if (name !== HEAD_FILE && file === null) throw new Refusal(404, 'path', 'Expected a published file');
    let body: Buffer;
    try {
      body = await readFile(join(this.#options.publications.files, group.name, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new Refusal(404, 'not-found', 'Expected a published file');
    }
    const cache = file === null ? 'public, max-age=30' : 'public, max-age=1209600, immutable';
    return { status: 200, type: 'application/octet-stream', body, headers: { 'cache-control': cache } };
  }

  #answerQuestion(request: IncomingMessage, query: URLSearchParams): Answer {
    const waitS = this.#questions.take(this.#floodKey(request), this.#options.nowMs());
    if (waitS > 0) throw new Refusal(429, 'rate', 'Too many questions', waitS);
    const group = this.#readableGroup(query.get('group'), this.#userOf(request));
    const prefix = checkPrefix(query.get('prefix'), this.#prefixBits(group));
    const { pages, isCut } = this.#options.notes.pagesWithPrefix(group, prefix, MOST_ANSWER);
    return json({
      pages: pages.map(({ id, notes }) => ({ id: Buffer.from(id).toString('hex'), notes })),
      ...(isCut && { cut: true }),
    });
  }

  #moderation(request: IncomingMessage, query: URLSearchParams): Answer {
    const user = this.#needUser(request);
    if (!user.isModerator)
      throw new AnnotationError('forbidden', 'Cannot show reports: expected a moderator');
    return json({ notes: this.#options.notes.moderation(this.#readableGroup(query.get('group'), user)) });
  }

  async #change(
    request: IncomingMessage,
    method: string,
    id: string | undefined,
    action: string | undefined,
  ): Promise<Answer> {
    const { notes, nowMs } = this.#options;
    const isDeletion = method === 'DELETE' && id !== undefined && action === undefined;
    const isPost = method === 'POST' && (id === undefined) === (action === undefined);
    if (!isDeletion && !isPost) throw new Refusal(405, 'method', 'Expected POST, or DELETE of a note');
    const user = this.#needUser(request);
    const waitS = this.#writes.take(String(user.id), nowMs());
    if (waitS > 0) throw new Refusal(429, 'rate', 'Too many changes', waitS);
    if (id === undefined) {
      const note = checkNote(await jsonBody(request));
      this.#readableGroup(note.group, user);
      const { id: noteId, page } = await notes.addNote(note, user, { nowS: nowMs() / 1000 });
      return json({ id: noteId, page: Buffer.from(page).toString('hex') });
    }
    checkNoteId(id);
    if (!notes.mayRead(notes.groupOfNote(id), user)) {
      throw new AnnotationError('not-found', `Cannot find the note: expected one that exists, got ${id}`);
    }
    if (isDeletion) {
      notes.deleteNote(id, user);
      return json({ deleted: true });
    }
    if (action === 'report') {
      notes.report(id, user);
      return json({ reported: true });
    }
    const state = action === 'hide' ? 'hidden' : 'visible';
    notes.moderate(id, state, user);
    return json({ state });
  }

  #describe(user: User | null): unknown {
    const { notes, publications, publicKey, name } = this.#options;
    return {
      name,
      periodS: publications.periodS,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      user: user === null ? null : { name: user.name, isModerator: user.isModerator },
      groups: notes
        .groups()
        .filter((group) => notes.mayRead(group, user))
        .map((group) => ({
          name: group.name,
          key: group.key === null ? null : Buffer.from(group.key).toString('hex'),
          prefixBits: this.#prefixBits(group),
        })),
    };
  }

  #page(): Answer {
    const { notes, name } = this.#options;
    const isPublic = ({ key }: Group) => key === null;
    const groups = notes.groups().filter(isPublic);
    const facts = groups.map((group) => ({
      name: group.name,
      ...notes.counts(group),
      prefixBits: this.#prefixBits(group),
      published: this.#publishedAt(group),
    }));
    const body = serverPage({ name, invitation: this.invitation, groups: facts });
    return {
      status: 200,
      type: 'text/html; charset=utf-8',
      body,
      headers: { 'content-security-policy': PAGE_POLICY },
    };
  }

  #publishedAt({ name }: Group): string {
    const epoch = this.#published.get(name)?.epoch;
    return epoch === undefined
      ? 'not yet'
      : `${new Date(epoch * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  }

  #prefixBits({ name }: Group): number {
    return prefixBits(this.#published.get(name)?.capacity ?? 0);
  }

  #readableGroup(name: string | null, user: User | null): Group {
    const { notes } = this.#options;
    const group = notes.group(checkName('group', name));
    if (notes.mayRead(group, user)) return group;
    // A private group is as absent for others as one that does not exist.
    throw new AnnotationError(
      'not-found',
      `Cannot find the group: expected one that exists, got ${group.name}`,
    );
  }

  #needUser(request: IncomingMessage): User {
    const user = this.#userOf(request);
    if (user === null) throw new AnnotationError('token', 'Cannot change notes: expected a token, got none');
    return user;
  }

  #userOf(request: IncomingMessage): User | null {
    const { authorization } = request.headers;
    if (authorization === undefined) return null;
    const key = this.#floodKey(request);
    const nowMs = this.#options.nowMs();
    const waitS = this.#wrongTokens.waitS(key, nowMs);
    if (waitS > 0) throw new Refusal(429, 'rate', 'Too many wrong tokens', waitS);
    const token = /^Bearer ([\w-]{20,100})$/i.exec(authorization)?.[1];
    const user = token === undefined ? null : this.#options.notes.userOfToken(token);
    if (user !== null) return user;
    this.#wrongTokens.take(key, nowMs);
    throw new AnnotationError('token', 'Cannot accept the token: expected one of a user, got another');
  }

  #floodKey(request: IncomingMessage): string {
    const forwarded = this.#options.trustsProxy ? request.headers['x-forwarded-for'] : undefined;
    const last = typeof forwarded === 'string' ? forwarded.split(',').pop()!.trim() : undefined;
    return floodKey(last || request.socket.remoteAddress || '');
  }
}

async function jsonBody(request: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    throw new Refusal(415, 'body', 'Expected application/json');
  }
  const tooLong = new Refusal(413, 'body', `Expected at most ${MOST_BODY} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > MOST_BODY) throw tooLong;
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > MOST_BODY) throw tooLong;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    throw new Refusal(400, 'body', 'Expected JSON');
  }
}

function addressOf(url: string): Pick<URL, 'pathname' | 'searchParams'> {
  try {
    return new URL(url, 'http://annotations.invalid');
  } catch {
    throw new Refusal(400, 'path', 'Expected a path');
  }
}

function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, type: JSON_TYPE, body: `${JSON.stringify(value)}\n`, headers };
}

function refusalOf(error: unknown): Answer {
  const body = (code: string, message: string) => ({ error: { code, message } });
  if (error instanceof AnnotationError) {
    const { code, message } = error;
    return json(body(code, message), STATUS[code], code === 'token' ? { 'www-authenticate': 'Bearer' } : {});
  }
  if (error instanceof Refusal) {
    const { code, message, retryS } = error;
    return json(body(code, message), error.status, retryS > 0 ? { 'retry-after': String(retryS) } : {});
  }
  return json(body('internal', 'The server failed'), 500);
}
