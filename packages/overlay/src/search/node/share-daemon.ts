/**
 * A peer as a process: a member of one or more groups, and a control port on loopback where the
 * user's own programs search.
 *
 *     GET  /find?q=…&most=10     200 and the result
 *     GET  /holders?sha256=…     200 and the peers that hold a file
 *     GET  /status               200: groups, folders, the directory
 *     POST /rescan               200 when all files were looked at
 *
 * The control port gives what the user may read and other users of the machine may not. So every
 * request carries the token that only this process and its user know (`Authorization: Bearer`), and
 * its Host is loopback, which a page of another site cannot arrange.
 */

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TransportError } from '@bloomery/transport';
import { SearchError } from '../../directory/search-error.ts';
import { Searcher } from '../searcher.ts';
import { MOST_RESULTS } from '../wire/score-message.ts';
import { GroupMember, type GroupMemberOptions } from './group-member.ts';

export interface ShareDaemonOptions {
  /** The name of this peer, unique in its groups. */
  readonly id: string;
  readonly groups: readonly Omit<GroupMemberOptions, 'id'>[];
  /** The control port on loopback. Default 0: any. */
  readonly controlPort?: number | undefined;
}

const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;
const MOST_QUERY = 8192;
const TOKEN_BYTES = 32;

export class ShareDaemon {
  readonly id: string;
  /** The address of the control port. */
  readonly control: string;
  /** The token of the control port. */
  readonly token = randomBytes(TOKEN_BYTES).toString('base64url');
  readonly searcher: Searcher;
  readonly #server: Server;
  #members: readonly GroupMember[];

  private constructor(id: string, members: readonly GroupMember[], server: Server) {
    this.id = id;
    this.#members = members;
    this.#server = server;
    this.control = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.searcher = new Searcher(id, () => this.#members.map(({ group }) => group));
    server.on('request', (request, response) => void this.#answer(request, response));
  }

  /** Joins the groups and opens the control port. The folders are indexed by `index`. */
  static async start({ id, groups, controlPort = 0 }: ShareDaemonOptions): Promise<ShareDaemon> {
    const server = createServer();
    server.listen(controlPort, '127.0.0.1');
    await once(server, 'listening');
    const members: GroupMember[] = [];
    try {
      for (const group of groups) members.push(await GroupMember.join({ id, ...group }));
    } catch (error) {
      server.close();
      for (const member of members) await member.close();
      throw error;
    }
    return new ShareDaemon(id, members, server);
  }

  get members(): readonly GroupMember[] {
    return this.#members;
  }

  /** Indexes all folders. */
  async index(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.index()));
  }

  /** Leaves a group and joins it again under a new invitation. */
  async replace(member: GroupMember, options: Omit<GroupMemberOptions, 'id'>): Promise<GroupMember> {
    await member.close();
    this.#members = this.#members.filter((each) => each !== member);
    const next = await GroupMember.join({ id: this.id, ...options });
    this.#members = [...this.#members, next];
    await next.index();
    return next;
  }

  status() {
    return {
      id: this.id,
      groups: this.#members.map(({ group, followers, peerPort, problem }) => ({
        name: group.name,
        problem,
        peerPort,
        folders: followers.map(({ root, size, leftOut, isWatched }) => ({
          root,
          files: size,
          leftOut,
          isWatched,
        })),
        documents: group.folder.index.size,
        keys: group.folder.index.keyCount,
        publishedBytes: group.folder.summary.publishedBytes,
        served: group.folder.served,
        peers: group.directory.peers().map((peer) => ({
          id: peer.id,
          address: peer.address,
          isOnline: peer.isOnline,
          since: peer.since,
          isCurrent: peer.isCurrent,
          documents: peer.card?.documents ?? null,
          label: peer.card?.label ?? null,
          memoryBytes: peer.memoryBytes,
        })),
      })),
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await Promise.all(this.#members.map((member) => member.close()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const say = (code: number, body: unknown) =>
      void response
        .writeHead(code, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
        .end(`${JSON.stringify(body)}\n`);
    if (!LOOPBACK.test(request.headers.host ?? '')) return say(403, { error: 'not loopback' });
    if (!this.#isOwn(request.headers.authorization))
      return say(401, { error: 'the token is missing or wrong' });
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    try {
      if (pathname === '/find' && request.method === 'GET') say(200, await this.#find(searchParams));
      else if (pathname === '/holders' && request.method === 'GET')
        say(200, await this.#holders(searchParams));
      else if (pathname === '/status' && request.method === 'GET') say(200, this.status());
      else if (pathname === '/rescan' && request.method === 'POST') {
        await Promise.all(this.#members.flatMap(({ followers }) => followers.map((each) => each.rescan())));
        say(200, this.status());
      } else say(404, { error: 'expected find, holders, status or rescan' });
    } catch (error) {
      const isAsker = error instanceof SearchError || error instanceof RangeError;
      say(isAsker ? 400 : error instanceof TransportError ? 503 : 500, { error: (error as Error).message });
    }
  }

  async #find(query: URLSearchParams) {
    const text = query.get('q') ?? '';
    if (text.length > MOST_QUERY)
      throw new RangeError(`Cannot search: expected at most ${MOST_QUERY} characters, got ${text.length}`);
    const most = Number(query.get('most') ?? 10);
    const timeoutMs = Number(query.get('timeout') ?? 2000);
    if (!(most >= 1 && most <= MOST_RESULTS && timeoutMs >= 1 && timeoutMs <= 60_000))
      throw new RangeError(
        `Cannot search: expected 1 to ${MOST_RESULTS} results and 1 to 60000 ms, got others`,
      );
    const result = await this.searcher.search(text, { most, timeoutMs });
    const problems = this.#members.flatMap(({ group, problem }) =>
      problem === null ? [] : [`${group.name} has ${problem}`],
    );
    return { ...result, problems };
  }

  async #holders(query: URLSearchParams) {
    const digits = query.get('sha256') ?? '';
    if (!/^[0-9a-f]{64}$/.test(digits))
      throw new RangeError(`Cannot look for holders: expected 64 hex digits, got ${JSON.stringify(digits)}`);
    return await this.searcher.locate(Buffer.from(digits, 'hex'));
  }

  #isOwn(authorization = ''): boolean {
    const [given, own] = [Buffer.from(authorization), Buffer.from(`Bearer ${this.token}`)];
    return given.length === own.length && timingSafeEqual(given, own);
  }
}
