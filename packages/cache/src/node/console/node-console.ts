/**
 * The console's endpoints of one node, beside the other admin endpoints (docs/spec/console.md).
 * `admin-endpoints.ts` has decided by then that the client may ask.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FleetPicture } from '../../peers/looking/fleet-view.ts';
import { ADMIN_PREFIX, compactJson, type Reply } from '../admin/admin-reply.ts';
import type { HistoryRow } from './history-ring.ts';
import { NodeFeed, type NodeFeedOptions } from './node-feed.ts';
import { type History, historyCsv, SPANS, type Span } from './node-history.ts';
import { pageReply } from './page-answer.ts';
import { type PageFile, readPage } from './page-files.ts';
import { type WhoSource, whoHas } from './who.ts';

export interface NodeConsoleOptions extends Omit<NodeFeedOptions, 'streams'> {
  readonly history: (span: Span) => Promise<History>;
  readonly who: WhoSource;
  /** The whole fleet; null without neighbours. */
  readonly picture: () => Promise<FleetPicture | null>;
  /** The folder of the page (page-files.ts), or null if there is none. */
  readonly page: string | null;
}

/** The endpoints, and the methods that they have. */
export const CONSOLE_ENDPOINTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['events', ['GET', 'HEAD']],
  ['history', ['GET']],
  ['answers', ['GET']],
  ['busiest', ['GET']],
  ['who', ['GET', 'POST']],
  ['fleet', ['GET']],
  ['token', ['POST']],
]);

const STREAM_FIELDS = [
  ['Content-Type', 'text/event-stream; charset=utf-8'],
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
] as const;

export class NodeConsole {
  readonly #options: NodeConsoleOptions;
  readonly #feed: NodeFeed;
  /** The files of the page, once it was asked for. */
  #page: { readonly files: ReadonlyMap<string, PageFile> | null } | null = null;

  constructor(options: NodeConsoleOptions) {
    this.#options = options;
    this.#feed = new NodeFeed(options);
  }

  /** Whether a read of this endpoint needs the token. */
  needsToken(endpoint: string): boolean {
    // Whether a URL is stored tells what others read.
    return endpoint === 'who' && this.#options.hello().urls === 'hidden';
  }

  /** Answers a request. Returns null if it writes to the response itself. */
  async answer(
    endpoint: string,
    parameters: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Reply | null> {
    if (endpoint === 'events') return this.#openStream(response, request.method === 'HEAD');
    // It is right: a wrong one does not come here.
    if (endpoint === 'token') return compactJson({ v: 1, ok: true });
    if (endpoint === 'who') return this.#who(parameters, request.method === 'POST');
    if (endpoint === 'fleet') {
      const picture = await this.#options.picture();
      return picture === null
        ? { status: 404, body: 'This node has no neighbours (--peer).\n' }
        : compactJson(picture);
    }
    if (endpoint === 'answers') return compactJson((await this.#options.answers()).all());
    if (endpoint === 'busiest') return compactJson(await this.#options.busiest());
    if (endpoint === 'history') return this.#history(parameters);
    return { status: 404, body: 'No such endpoint.\n' };
  }

  /** Answers a request for a file of the page; see `pageName` of admin-endpoints.ts. */
  page(name: string, request: IncomingMessage): Reply {
    if (name === '..')
      return {
        status: 308,
        fields: ['Location', `${ADMIN_PREFIX}console/`],
        body: 'The console is at console/\n',
      };
    this.#page ??= { files: readPage(this.#options.page) };
    return pageReply(this.#page.files, name, request);
  }

  /** A row of the hour is complete. */
  rowDone(row: HistoryRow): void {
    this.#feed.rowDone(row);
  }

  /** Tells readers that the node stops. */
  close(): void {
    this.#feed.end();
  }

  /** `ask` belongs to POST: a read must change nothing elsewhere. */
  async #who(parameters: URLSearchParams, isPost: boolean): Promise<Reply> {
    const url = parameters.get('url');
    const isAsking = parameters.has('ask');
    if (url === null || isAsking !== isPost)
      return {
        status: 400,
        body: 'Expected GET who?url=http%3A%2F%2Forigin.example%2F, or POST with &ask.\n',
      };
    try {
      return compactJson(await whoHas(url, isAsking, this.#options.who));
    } catch (error) {
      if (error instanceof TypeError) return { status: 400, body: `${error.message}\n` };
      throw error;
    }
  }

  async #history(parameters: URLSearchParams): Promise<Reply> {
    const span = parameters.get('span') ?? 'hour';
    const format = parameters.get('format') ?? 'json';
    if (!Object.hasOwn(SPANS, span))
      return { status: 400, body: `Expected span=${Object.keys(SPANS).join(' or ')}.\n` };
    if (format !== 'json' && format !== 'csv') return { status: 400, body: 'Expected format=csv or json.\n' };
    const history = await this.#options.history(span as Span);
    if (format === 'json') return compactJson(history);
    return {
      status: 200,
      type: 'text/csv; charset=utf-8',
      fields: ['Content-Disposition', `attachment; filename="bloomery-${span}.csv"`],
      body: historyCsv(history),
    };
  }

  /** HEAD has the same answer without a stream: a page learns by it why it got none. */
  async #openStream(response: ServerResponse, isHead: boolean): Promise<Reply | null> {
    if (this.#feed.isFull)
      return {
        status: 503,
        fields: ['Retry-After', '10'],
        body: 'As many consoles are open as this node serves.\n',
      };
    response.writeHead(200, STREAM_FIELDS.flat());
    if (isHead) {
      response.end();
      return null;
    }
    await this.#feed.add(response);
    return null;
  }
}
