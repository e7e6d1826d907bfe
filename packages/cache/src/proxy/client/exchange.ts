/**
 * One request of a client and its answer: the side of the proxy that faces the client. It writes
 * heads and texts, forwards interim responses, notices when the client disconnects, and reports to
 * the observer once, at the end.
 *
 * A plain hit has no exchange (`cache-proxy.ts`). Another hit in memory, such as one for HEAD or
 * for a range, uses only the plain fields and `recordNow`: no listener is attached and nothing is
 * scheduled for it. All slower requests call `follow` first.
 *
 * Requests may be pipelined (RFC 9112, 9.3.2), and then an answer waits behind earlier ones. Node
 * tells a response that its connection is closed only if that response is being sent, and ends a
 * connection for a response only when its turn has come. The queued responses would get no event,
 * and would hold their resources (a fetch, a connection to an origin) forever, so they listen to
 * the socket.
 */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { RequestHead } from '../../policy/message-head.ts';
import type { NotStored, StoreFate } from '../../policy/not-stored.ts';
import type { FieldList } from '../../policy/stored-response.ts';
import { cutConnection, hasTurn } from '../../safety/node-internals.ts';
import { sendOwnAnswer } from '../../safety/own-answer.ts';
import { queuedOn } from '../../safety/queued-responses.ts';
import type { AnswerOutcome, ProxyObserver } from '../proxy-observer.ts';
import type { Route } from '../route.ts';

export interface ExchangeParts {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The address of the client. */
  readonly client: string;
  readonly request: RequestHead;
  readonly route: Route;
  /** Time at which the request arrived, by the proxy's clock. */
  readonly at: number;
  /** The name of this node. */
  readonly name: string;
  readonly observer: ProxyObserver;
}

export class Exchange {
  /** The address of the client. */
  readonly client: string;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly request: RequestHead;
  readonly route: Route;
  readonly at: number;
  outcome: AnswerOutcome = 'error';
  reason = '';
  bytesOut = 0;
  bytesFromOrigin = 0;
  bytesFromNeighbours = 0;
  /** The note in which a source that is asked before the origin explains its choice. */
  sourceNote: string | null = null;
  /** The name or the address of the neighbour that gave the response. */
  neighbour: string | null = null;
  /** The member of Cache-Status that this node wrote. */
  cacheStatus: string | null = null;
  /** Says whether the response that it gets is stored, as far as that is known by then. */
  fate: (() => StoreFate) | null = null;
  /** The client has disconnected, or everything is sent. */
  over = false;
  /** How often it waited for another request's fetch, or was started again. */
  rounds = 0;
  /** A fetch that it will no longer wait for. */
  tiredOf: object | null = null;
  readonly #name: string;
  readonly #observer: ProxyObserver;
  /** Set by `follow`; before that, no measurable time has passed. */
  #began = -1;
  #recorded = false;
  #leaving: Set<() => void> | null = null;

  constructor(parts: ExchangeParts) {
    this.req = parts.req;
    this.res = parts.res;
    this.request = parts.request;
    this.route = parts.route;
    this.at = parts.at;
    this.client = parts.client;
    this.#name = parts.name;
    this.#observer = parts.observer;
  }

  /** Watches the connection from now on, and reports to the observer when the answer is over. */
  follow(): void {
    if (this.#leaving !== null) return;
    this.#leaving = new Set();
    this.#began = performance.now();
    const { req, res } = this;
    const closed = () => this.#end();
    if (res.closed || res.destroyed || (!hasTurn(res) && req.socket.destroyed)) {
      queueMicrotask(closed);
      return;
    }
    res.once('close', closed);
    if (!hasTurn(res)) {
      const queued = queuedOn(req.socket);
      queued.add(closed);
      this.#leaving.add(() => queued.delete(closed));
    }
  }

  /** Ends the exchange, on the first event of the response, the socket or `cut`. */
  #end(): void {
    if (this.over) return;
    this.over = true;
    const leaving = [...this.#leaving!];
    this.#leaving!.clear();
    for (const leave of leaving) leave();
    this.recordNow(!this.res.writableFinished);
  }

  /**
   * Calls `leave` when the client disconnects or the answer is over. Returns a function that
   * cancels this.
   */
  onLeave(leave: () => void): () => void {
    this.#leaving!.add(leave);
    return () => this.#leaving!.delete(leave);
  }

  /** Reports to the observer, once. */
  recordNow(aborted: boolean): void {
    if (this.#recorded) return;
    this.#recorded = true;
    const { method, key } = this.request;
    this.#observer.answered({
      at: this.at,
      client: this.client,
      method,
      url: key,
      status: this.res.statusCode,
      outcome: this.outcome,
      reason: this.reason,
      bytesOut: this.bytesOut,
      bytesFromOrigin: this.bytesFromOrigin,
      durationMs: this.#began < 0 ? 0 : performance.now() - this.#began,
      aborted,
      ...(this.bytesFromNeighbours > 0 ? { bytesFromNeighbours: this.bytesFromNeighbours } : {}),
      ...(this.sourceNote === null ? {} : { neighbours: this.sourceNote }),
      ...(this.neighbour === null ? {} : { neighbour: this.neighbour }),
      ...(this.cacheStatus === null ? {} : { cacheStatus: this.cacheStatus }),
      ...notStored(this.fate?.()),
    });
  }

  /** Sends a text of this node as the answer. */
  sendText(status: number, code: string, message: string): void {
    const { req, res } = this;
    this.reason = code;
    this.cacheStatus = null;
    if (this.over) return;
    if (res.headersSent) {
      this.cut();
      return;
    }
    // If the request has a body, the rest of it is not read.
    const length = sendOwnAnswer(res, this.#name, { status, code, message }, hasBody(req));
    this.bytesOut = this.request.method === 'HEAD' ? 0 : length;
  }

  /**
   * Ends the connection, so that the client sees that the answer is incomplete. If an earlier
   * answer is still being sent, that waits until this answer's turn, but this answer's resources
   * are released at once.
   */
  cut(): void {
    if (this.over) return;
    cutConnection(this.res);
    if (!hasTurn(this.res) && this.#leaving !== null) this.#end();
  }

  /**
   * RFC 9110, 15.2: a proxy forwards interim responses that it did not ask for itself, to clients
   * that understand them (not 1.0). Node has methods for 102 and 103 only, and is strict about the
   * latter, so the head is written to the socket.
   */
  sendInterim(status: number, statusText: string, headers: FieldList): void {
    const { req, res } = this;
    // Before its turn, an earlier answer on this connection is still being sent.
    if (this.over || res.headersSent || !hasTurn(res) || req.httpVersion !== '1.1') return;
    // Interim responses are optional, and must not accumulate for a client that does not read.
    if (res.socket.writableLength > MOST_WAITING_BYTES) return;
    let head = `HTTP/1.1 ${status} ${statusText || (STATUS_CODES[status] ?? '')}\r\n`;
    for (let at = 0; at + 1 < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
    res.socket.write(`${head}\r\n`, 'latin1');
  }
}

function notStored(fate: StoreFate | undefined): { readonly notStored?: NotStored } {
  return fate === undefined || fate === 'stored' || fate === 'storing' ? {} : { notStored: fate };
}

const MOST_WAITING_BYTES = 65_536;

/**
 * Whether a request announces a body (RFC 9112, 6.3: by Content-Length or Transfer-Encoding only).
 */
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
