/**
 * Puts the request guard in front of a server's handlers, for every event by which a request
 * reaches them.
 *
 * There are several such events. Node answers `Expect: 100-continue` itself before the request was
 * checked, unless there is a `checkContinue` listener. It answers other expectations itself, unless
 * there is a `checkExpectation` listener. It passes CONNECT to `connect` without checking Host, and
 * parser errors to `clientError`. All of them are handled here.
 *
 * A refusal ends the connection. Closing alone is not enough: Node has already parsed later
 * requests in the same packet, and emits them although the answer before them says `Connection:
 * close` (measured: the second of two pipelined requests reached the handler). The bytes after a
 * refused request are exactly those that an attacker wants to smuggle in. The socket is therefore
 * marked, and no further request is accepted from it.
 *
 * Requests that arrive before earlier ones are answered (RFC 9112, 9.3.2) are counted, because each
 * may cause a fetch. Without that limit, 9,900 requests on one connection caused 9,900 fetches
 * (measured). A request above `pipelinedRequests` is refused: the requests before it are answered,
 * then the connection is closed, and the client knows that it must repeat the rest. Requests that
 * were answered at once (a hit in memory) are not counted; Node itself stops reading when too many
 * bytes of finished answers wait.
 *
 * It would be kinder to stop reading until some requests are answered, but Node does not allow it.
 * It resumes reading after each request and each answer, even if the socket was paused (`readStart`
 * and `socketOnDrain` in its HTTP server). It also emits the rest of the packet anyway, and does
 * not notice that a client has disconnected while nothing is read.
 *
 * Node keeps a dropped request until the connection ends, so a client that continues after a
 * refusal is disconnected.
 *
 * A complete request is answered even if the bytes behind it cannot be read, or if it says
 * `Connection: close` and bytes follow (RFC 9112, 9.6: the server must not process them). The
 * answers that are due are sent, then the connection is closed. The unread bytes get an answer of
 * their own only if no other is due.
 *
 * Where it breaks down: an error in the body (a wrong chunk) occurs after the head was passed to
 * the handler, because bodies are not held back. Then the connection is destroyed and the handler's
 * `req` is aborted, and the proxy must not end its request to the origin as if it were complete. A
 * client that is still sending when it is refused may see a reset instead of the answer.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { fieldValue, withoutFields } from '../policy/fields.ts';
import { FORWARDED } from '../policy/forwarding.ts';
import { clientAddress } from './client-guard.ts';
import type { ForwardedClients } from './forwarded-client.ts';
import type { Limits } from './limits.ts';
import { checkNodeInternals, closeAfter, hasTurn, isAnswering } from './node-internals.ts';
import { ownAnswerBytes, sendOwnAnswer } from './own-answer.ts';
import { queuedOn } from './queued-responses.ts';
import { type Refusal, refusal } from './refusal.ts';
import { checkRequestHead } from './request-guard.ts';

export interface GuardedHandlers {
  readonly limits: Limits;
  /** The name of this node, which a new configuration may change. */
  name(): string;
  /** The proxies in front of this node that are trusted, if there are any. */
  forwarded?(): ForwardedClients | null;
  /** `client` is the address that the connection came from, or that a trusted proxy names. */
  request(req: IncomingMessage, res: ServerResponse, client: string): void;
  /** Handles CONNECT; without it the method is answered with 405. */
  connect?(req: IncomingMessage, socket: Duplex, head: Buffer, client: string): void;
  /**
   * Whether a request whose head could not be read is answered by a reset, because a Squid may have
   * sent it with only-if-cached. The only status that such a request may get is 504, and a Squid
   * treats a reset like a 504.
   */
  resetsUnread?(): boolean;
  /** Called for each refusal; `target` is null if the head could not be read. */
  refused?(why: Refusal, from: { client: string; method: string | null; target: string | null }): void;
}

const refusedSocket = Symbol('refused');
const lastResponse = Symbol('last response');
const unanswered = Symbol('unanswered');
const dropped = Symbol('dropped');

/** State of a connection, kept on the socket itself because it is read at each request. */
interface Marked {
  [refusedSocket]?: boolean;
  /** The response to the last request that was passed on or refused. */
  [lastResponse]?: ServerResponse;
  /** Requests passed to the handler that are still unanswered. */
  [unanswered]?: number;
  /** Requests that arrived after a refusal. */
  [dropped]?: number;
}

/**
 * Guards an `http` or `https` server. Call it once; there must be no other listeners for these
 * events.
 */
export function guardServer(server: Server, handlers: GuardedHandlers): void {
  checkNodeInternals();
  const guard = new ServerGuard(handlers);
  server.on('request', (req, res) => {
    if (guard.admit(req, res)) guard.handle(req, res);
  });
  server.on('checkContinue', (req, res) => {
    if (!guard.admit(req, res)) return;
    res.writeContinue();
    guard.handle(req, res);
  });
  // Node emits this for expectations other than 100-continue; the guard refuses them, for this
  // reason or another.
  server.on('checkExpectation', (req, res) => {
    if (guard.admit(req, res)) guard.handle(req, res);
  });
  server.on('connect', (req, socket, head) => guard.connect(req, socket, head));
  server.on('clientError', (error, socket) => guard.parserFailed(error, socket));
}

class ServerGuard {
  readonly #handlers: GuardedHandlers;

  constructor(handlers: GuardedHandlers) {
    this.#handlers = handlers;
  }

  /** Checks a request. Returns false if it was refused, or dropped after an earlier refusal. */
  admit(req: IncomingMessage, res: ServerResponse): boolean {
    const { limits } = this.#handlers;
    const socket = req.socket as Socket & Marked;
    if (socket[refusedSocket] === true) {
      const count = (socket[dropped] ?? 0) + 1;
      socket[dropped] = count;
      if (count > limits.pipelinedRequests) socket.destroy();
      return false;
    }
    const waiting = socket[unanswered];
    const why =
      waiting !== undefined && waiting >= limits.pipelinedRequests
        ? tooManyUnanswered(limits)
        : checkRequestHead(
            {
              method: req.method ?? '',
              target: req.url ?? '',
              httpVersion: req.httpVersion,
              headers: req.rawHeaders,
            },
            limits,
          );
    socket[lastResponse] = res;
    if (why === null) return true;
    socket[refusedSocket] = true;
    this.#tell(req, why);
    // After a request that was not understood, it is unknown where the next one begins.
    sendOwnAnswer(res, this.#handlers.name(), why, true);
    return false;
  }

  /** Passes an admitted request to the handler, and counts it until it is answered. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    const client = this.#client(req);
    if (!this.#mayBegin(req, res, client)) return;
    this.#handlers.request(req, res, client);
    if (res.writableEnded) return;
    const socket = req.socket as Socket & Marked;
    socket[unanswered] = (socket[unanswered] ?? 0) + 1;
    // A response that is queued behind another gets no event when the connection closes, but by
    // then the count no longer matters.
    res.once('close', answered);
  }

  #client(req: IncomingMessage): string {
    const peer = clientAddress(req.socket);
    return this.#handlers.forwarded?.()?.clientOf(peer, req.rawHeaders) ?? peer;
  }

  /**
   * Applies the limit per client to clients behind a trusted proxy. Others are counted by
   * connection.
   */
  #mayBegin(req: IncomingMessage, res: ServerResponse, client: string): boolean {
    const forwarded = this.#handlers.forwarded?.() ?? null;
    if (forwarded === null) return true;
    const isTrusted = forwarded.trusts(clientAddress(req.socket));
    // From here on, such fields come from a trusted proxy or from this node.
    if (!isTrusted) req.rawHeaders = withoutFields(req.rawHeaders, FORWARDED);
    addScheme(req);
    const end = this.#begin(req, client);
    if (end !== null) {
      if (isTrusted) endWhenOver(req, res, end);
      return true;
    }
    const why = tooManyAtOnce(this.#handlers.limits);
    this.#tell(req, why);
    // The connection is the proxy's, and has other clients.
    sendOwnAnswer(res, this.#handlers.name(), why, false);
    return false;
  }

  /** Counts a request of a client behind a trusted proxy. Null if the client has too many. */
  #begin(req: IncomingMessage, client: string): (() => void) | null {
    const forwarded = this.#handlers.forwarded?.() ?? null;
    if (forwarded === null || !forwarded.trusts(clientAddress(req.socket))) return ignore;
    return forwarded.begin(client, this.#handlers.limits.connectionsPerClient);
  }

  connect(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { limits } = this.#handlers;
    const marked = socket as Duplex & Marked;
    // Node has released the socket: without a listener, an error on it would end the process.
    socket.on('error', ignore);
    // The socket was refused before, or an earlier answer is still being sent, and raw bytes would
    // get into it.
    if (marked[refusedSocket] === true || isAnswering(marked[lastResponse])) {
      socket.destroy();
      return;
    }
    const fault =
      checkRequestHead(
        { method: 'CONNECT', target: req.url ?? '', httpVersion: req.httpVersion, headers: req.rawHeaders },
        limits,
      ) ??
      (this.#handlers.connect === undefined
        ? refusal(405, 'no-tunnels', 'CONNECT is not offered here.')
        : null);
    const client = this.#client(req);
    const end = fault === null ? this.#begin(req, client) : null;
    if (end !== null) {
      socket.once('close', end);
      this.#handlers.connect!(req, socket, head, client);
      return;
    }
    const why = fault ?? tooManyAtOnce(limits);
    marked[refusedSocket] = true;
    this.#tell(req, why);
    endWith(socket, ownAnswerBytes(this.#handlers.name(), why, req.rawHeaders).bytes);
  }

  /** Node's parser could not read the bytes of a client, or the connection failed. */
  parserFailed(error: NodeJS.ErrnoException, socket: Duplex): void {
    const marked = socket as Duplex & Marked;
    if (marked[refusedSocket] === true) {
      // The answer is written or queued, and closes the connection. If no answer is pending, close
      // now. A client that goes on sending is disconnected, as after requests.
      const count = (marked[dropped] ?? 0) + 1;
      marked[dropped] = count;
      if (count > this.#handlers.limits.pipelinedRequests) socket.destroy();
      else if (!isAnswering(marked[lastResponse])) (socket as Socket).destroySoon();
      return;
    }
    marked[refusedSocket] = true;
    // A client that disconnected (reset, or gone when an answer was written to it) made no error.
    const gone = error.code === 'ECONNRESET' || error.code === 'EPIPE';
    const why = gone ? null : refusalOfParserError(error);
    const current = marked[lastResponse];
    // A refusal may be written only as the answer to the faulty request. That is the case if
    // nothing is being answered, or if the answer being sent belongs to this very request (its body
    // is broken) and has not begun. Otherwise the client would take the bytes for the answer to
    // another request.
    const broken = current !== undefined && !current.req.complete && !current.headersSent;
    const free = !isAnswering(current) || (broken && hasTurn(current));
    if (why !== null) {
      this.#handlers.refused?.(why, {
        client: clientAddress(socket as Socket),
        method: current?.req.complete === false ? (current.req.method ?? null) : null,
        target: current?.req.complete === false ? (current.req.url ?? null) : null,
      });
    }
    // The client's error follows a complete request, which is still answered.
    if (why !== null && !free && current?.req.complete) {
      closeOnceAnswered(socket as Socket, current);
      return;
    }
    const asked = broken ? current.req.rawHeaders : null;
    if (why === null || !free || !socket.writable) socket.destroy();
    else if (asked === null && this.#handlers.resetsUnread?.()) (socket as Socket).resetAndDestroy();
    else endWith(socket, ownAnswerBytes(this.#handlers.name(), why, asked ?? []).bytes);
  }

  #tell(req: IncomingMessage, why: Refusal): void {
    this.#handlers.refused?.(why, {
      client: this.#client(req),
      method: req.method ?? null,
      target: req.url ?? null,
    });
  }
}

/** Translates an error of Node's parser into a refusal. */
function refusalOfParserError(error: NodeJS.ErrnoException & { readonly reason?: string }): Refusal {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return refusal(431, 'head-too-large', 'The URL and header fields are too large.');
    case 'HPE_CLOSED_CONNECTION':
      return refusal(400, 'after-close', 'Nothing may follow a request that closes the connection.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refusal(413, 'chunk-extensions', 'The chunk extensions are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusal(408, 'timeout', 'The request took too long to arrive.');
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return refusal(400, 'version', 'HTTP/1.1 is spoken here, and this is another version or protocol.');
    case 'HPE_INVALID_METHOD':
      return refusal(400, 'method-invalid', 'The request does not begin with a known method.');
    case 'HPE_INVALID_URL':
      return refusal(400, 'target-character', 'The URL has a character that must be percent-encoded.');
    case 'HPE_UNEXPECTED_CONTENT_LENGTH':
    case 'HPE_INVALID_CONTENT_LENGTH':
      return refusal(400, 'content-length', 'The length of the body is given wrongly, or more than once.');
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return refusal(
        400,
        'transfer-encoding',
        'Only "chunked", once and alone, is accepted as Transfer-Encoding.',
      );
    case 'HPE_INVALID_CHUNK_SIZE':
      return refusal(400, 'chunk-size', 'The chunked body is broken: expected the size of a chunk.');
    case 'HPE_INVALID_HEADER_TOKEN':
      return refusal(400, 'header-invalid', 'A header field has a character that is not allowed.');
    case 'HPE_CR_EXPECTED':
    case 'HPE_LF_EXPECTED':
      return refusal(400, 'line-ending', 'A line does not end with CR LF.');
    default:
      return refusal(400, 'not-http', 'This could not be read as an HTTP request.');
  }
}

/** RFC 6585, 4. */
function tooManyUnanswered({ pipelinedRequests }: Limits): Refusal {
  return refusal(
    429,
    'pipelining',
    `Too many requests on one connection at once: expected at most ${pipelinedRequests} without an answer.`,
  );
}

function tooManyAtOnce({ connectionsPerClient: most }: Limits): Refusal {
  return refusal(429, 'requests-per-client', `More than ${most} requests at once from one address.`);
}

function answered(this: ServerResponse): void {
  const socket = this.req.socket as Socket & Marked;
  socket[unanswered] = socket[unanswered]! - 1;
}

/**
 * Notes that a request came over TLS, for the fields that an origin gets (`senderOf`). The worker
 * that sends them may have got the request from another worker, so its own connection does not show
 * the scheme. Origins get no scheme with GET and HEAD.
 */
function addScheme(req: IncomingMessage): void {
  const { method, socket, rawHeaders } = req;
  if (method === 'GET' || method === 'HEAD' || !('encrypted' in socket)) return;
  if (fieldValue(rawHeaders, 'x-forwarded-proto') === undefined)
    rawHeaders.push('X-Forwarded-Proto', 'https');
}

/** Calls `end` once, when the response is sent or its connection is closed. */
function endWhenOver(req: IncomingMessage, res: ServerResponse, end: () => void): void {
  if (hasTurn(res)) {
    res.once('close', end);
    return;
  }
  // A response behind others gets no event when the connection closes.
  const queued = queuedOn(req.socket);
  const over = () => {
    if (queued.delete(over)) end();
  };
  queued.add(over);
  res.once('close', over);
  if (req.socket.destroyed) over();
}

/** Closes the connection when the last response on it is sent. */
function closeOnceAnswered(socket: Socket, last: ServerResponse): void {
  if (!last.headersSent) closeAfter(last);
  // Node closes by itself only if the head announced it.
  last.once('finish', () => socket.destroySoon());
}

function endWith(socket: Duplex, answer: Buffer): void {
  socket.on('error', ignore);
  socket.end(answer, () => socket.destroy());
}

function ignore(): void {}
