/**
 * One request of a client, and what becomes of it: the side of the proxy that faces the client. It writes heads and texts, forwards
 * interim responses, notices when the client leaves, and tells the observer once, at the end.
 *
 * A hit in memory uses only the plain fields and `recordNow`: no listener is attached and nothing is scheduled for it. Everything
 * slower calls `follow` first.
 *
 * Requests may be pipelined (RFC 9112, 9.3.2), and then an answer waits behind those before it. Node tells a response that its
 * connection is gone only if it is the one being sent, and ends a connection for a response only when its turn has come. Nobody would
 * tell the others, and what they hold (a fetch, a connection to an origin) would be held for ever; so they listen to the socket.
 *
 * Text that this node makes up (refusals, failures) is plain and short, is never stored (`no-store`), and says why, for programs in
 * `Proxy-Status` (RFC 9209). It carries no Cache-Status, which RFC 9211, 2 keeps for responses that came from somewhere.
 */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { cacheName } from '../../policy/cache-status.ts';
import type { RequestHead } from '../../policy/message-head.ts';
import type { FieldList } from '../../policy/stored-response.ts';
import type { AnswerOutcome, ProxyObserver } from '../proxy-observer.ts';
import type { Route } from '../route.ts';

export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly request: RequestHead;
  readonly route: Route;
  /** When it came, by the proxy's clock. */
  readonly at: number;
  outcome: AnswerOutcome = 'error';
  reason = '';
  bytesOut = 0;
  bytesFromOrigin = 0;
  /** The client has gone, or all is sent. */
  over = false;
  /** How often it waited for another one's fetch, or was sent round again. */
  rounds = 0;
  /** A fetch that it will not wait for any more. */
  tiredOf: object | null = null;
  readonly #observer: ProxyObserver;
  /** Set by `follow`; before it, no time has passed that could be measured. */
  #began = -1;
  #recorded = false;
  #leaving: Set<() => void> | null = null;

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    request: RequestHead,
    route: Route,
    at: number,
    observer: ProxyObserver,
  ) {
    this.req = req;
    this.res = res;
    this.request = request;
    this.route = route;
    this.at = at;
    this.#observer = observer;
  }

  /** Watches the connection from now on, and tells the observer when the answer is over. */
  follow(): void {
    if (this.#leaving !== null) return;
    this.#leaving = new Set();
    this.#began = performance.now();
    const { req, res } = this;
    const closed = () => this.#end();
    if (res.closed || res.destroyed || (res.socket === null && req.socket.destroyed)) {
      queueMicrotask(closed);
      return;
    }
    res.once('close', closed);
    if (res.socket === null) {
      const queued = queuedOn(req.socket);
      queued.add(closed);
      this.#leaving.add(() => queued.delete(closed));
    }
  }

  /** It is over: told by the response, by the socket, or by `cut`, whichever comes first. */
  #end(): void {
    if (this.over) return;
    this.over = true;
    const leaving = [...this.#leaving!];
    this.#leaving!.clear();
    for (const leave of leaving) leave();
    this.recordNow(!this.res.writableFinished);
  }

  /** Calls `leave` when the client goes or the answer is over. Returns how not to. */
  onLeave(leave: () => void): () => void {
    this.#leaving!.add(leave);
    return () => this.#leaving!.delete(leave);
  }

  /** Tells the observer, once. */
  recordNow(aborted: boolean): void {
    if (this.#recorded) return;
    this.#recorded = true;
    const { method, key } = this.request;
    this.#observer.answered({
      at: this.at,
      client: this.req.socket.remoteAddress ?? '',
      method,
      url: key,
      status: this.res.statusCode,
      outcome: this.outcome,
      reason: this.reason,
      bytesOut: this.bytesOut,
      bytesFromOrigin: this.bytesFromOrigin,
      durationMs: this.#began < 0 ? 0 : performance.now() - this.#began,
      aborted,
    });
  }

  /** An answer in this node's own words. */
  sendText(status: number, name: string, code: string, text: string, extra: FieldList = []): void {
    const { res } = this;
    this.reason = code;
    if (this.over) return;
    if (res.headersSent) {
      this.cut();
      return;
    }
    const body = Buffer.from(`${text}\n`);
    this.bytesOut = this.request.method === 'HEAD' ? 0 : body.length;
    res.writeHead(status, textFields(name, code, body.length, hasBody(this.req), extra) as string[]);
    res.end(body);
  }

  /**
   * Ends the connection: what was sent is not all, and the client must see that. Behind another answer, which is whole and may take
   * long, Node waits with that until this one's turn; what this one holds is let go at once.
   */
  cut(): void {
    if (this.over) return;
    this.res.destroy();
    if (this.res.socket === null && this.#leaving !== null) this.#end();
  }

  /**
   * RFC 9110, 15.2: a proxy forwards interim responses that it did not ask for itself, to clients that know them (not 1.0).
   * Node has methods for 102 and 103 only, and is picky about the latter, so the head is written to the socket.
   */
  sendInterim(status: number, statusText: string, headers: FieldList): void {
    const { req, res } = this;
    // Without a socket, an earlier answer on this connection is still being sent.
    if (this.over || res.headersSent || res.socket === null || req.httpVersion !== '1.1') return;
    // Nobody needs them; they must not pile up before a client that does not read.
    if (res.socket.writableLength > MOST_WAITING_BYTES) return;
    let head = `HTTP/1.1 ${status} ${statusText || (STATUS_CODES[status] ?? '')}\r\n`;
    for (let at = 0; at + 1 < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
    res.socket.write(`${head}\r\n`, 'latin1');
  }
}

const MOST_WAITING_BYTES = 65_536;

/** One listener for each socket: a hundred pipelined requests with one each would be taken for a leak (MaxListenersExceededWarning). */
const queuedBySocket = new WeakMap<Socket, Set<() => void>>();

/** Called when this connection closes: for responses whose turn has not come. Who is done takes itself out. */
export function queuedOn(socket: Socket): Set<() => void> {
  const known = queuedBySocket.get(socket);
  if (known !== undefined) return known;
  const queued = new Set<() => void>();
  queuedBySocket.set(socket, queued);
  socket.once('close', () => {
    for (const closed of [...queued]) closed();
  });
  return queued;
}

/** Whether a request announces a body (RFC 9112, 6.3: by Content-Length or Transfer-Encoding only). */
export function hasBody(req: IncomingMessage): boolean {
  const { rawHeaders } = req;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const { length } = rawHeaders[at]!;
    if (length === 14) {
      if (rawHeaders[at + 1] !== '0' && rawHeaders[at]!.toLowerCase() === 'content-length') return true;
    } else if (length === 17 && rawHeaders[at]!.toLowerCase() === 'transfer-encoding') {
      return true;
    }
  }
  return false;
}

/** The fields of a text of this node's own. `close`: the rest of the request is not read. */
export function textFields(
  name: string,
  code: string,
  length: number,
  close: boolean,
  extra: FieldList = [],
): string[] {
  const fields = [
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(length),
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'Proxy-Status',
    proxyStatus(name, code),
    ...extra,
  ];
  if (close) fields.push('Connection', 'close');
  return fields;
}

/** RFC 9209, 2.3: its error types are written with underscores; what this node refuses for reasons of its own is a detail. */
function proxyStatus(name: string, code: string): string {
  return code.includes('_')
    ? `${cacheName(name)}; error=${code}`
    : `${cacheName(name)}; error=http_request_denied; details="${code}"`;
}
