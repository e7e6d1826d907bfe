/**
 * Puts the request guard in front of a server's handlers, on every way by which a request reaches them.
 *
 * There are more ways than one. Node answers `Expect: 100-continue` itself before anybody has looked at the request, unless
 * `checkContinue` is listened to; answers other expectations itself, unless `checkExpectation` is; gives CONNECT to `connect`,
 * without a look at Host; and parser errors to `clientError`. All are taken here.
 *
 * A refusal ends the connection. Closing alone is not enough: Node has parsed requests further down in the same packet already, and
 * hands them out although the answer before them says `Connection: close` (measured: the second of two pipelined requests reached
 * the handler). What follows a refused request is exactly what a smuggler wants to be read, so the socket is marked
 * and nothing more is taken from it.
 *
 * Requests that come before earlier ones are answered (RFC 9112, 9.3.2) are counted, as each may be a fetch: measured without that,
 * 9,900 on one connection were 9,900 fetches. One more than `pipelinedRequests` is refused: those before it are answered, then the
 * connection is closed, and a client knows that it must ask for the rest again. What was answered at once (a hit in memory) is not
 * counted; Node itself stops reading when too many bytes of finished answers wait.
 *
 * Reading no more until some are answered would be kinder, but Node does not let go of the socket: it reads on after each request
 * and each answer, whoever has paused it (`readStart` and `socketOnDrain` in its HTTP server), hands out the rest of
 * the packet anyway, and does not notice that a client has gone while nothing is read.
 *
 * Node keeps a request that is dropped until the connection ends, so a client that goes on after a refusal is cut off.
 *
 * Where it breaks down: an error in the body (a wrong chunk) comes after the head was handed to the handler, as a body is not
 * held back. Then the connection is destroyed, the handler's `req` is aborted, and the proxy must not end its request to
 * the origin as if it were whole. A client that is still sending when it is refused may see a reset instead of the answer.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Limits } from './limits.ts';
import { type Refusal, refusal, refusalBytes, sendRefusal } from './refusal.ts';
import { checkRequestHead } from './request-guard.ts';

export interface GuardedHandlers {
  readonly limits: Limits;
  request(req: IncomingMessage, res: ServerResponse): void;
  /** CONNECT; without it the method is answered with 405. */
  connect?(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Told of each refusal; `target` is null when the head could not be read. */
  refused?(why: Refusal, from: { client: string; method: string | null; target: string | null }): void;
}

const refusedSocket = Symbol('refused');
const lastResponse = Symbol('last response');
const unanswered = Symbol('unanswered');
const dropped = Symbol('dropped');

/** What is remembered about a connection, on the socket itself: it is asked with each request. */
interface Marked {
  [refusedSocket]?: boolean;
  [lastResponse]?: ServerResponse;
  /** Requests that were handed to the handler and not answered at once or since. */
  [unanswered]?: number;
  /** Requests that came after a refusal. */
  [dropped]?: number;
  /** Node's own: the response that is being sent on this socket. */
  _httpMessage?: ServerResponse | null;
}

/** For `http` and `https` servers; to be called once, with no other listeners for these events. */
export function guardServer(server: Server, handlers: GuardedHandlers): void {
  const { limits } = handlers;

  const admit = (req: IncomingMessage, res: ServerResponse): boolean => {
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
    if (why !== null) {
      socket[refusedSocket] = true;
      tell(req, why);
      sendRefusal(res, why);
      return false;
    }
    socket[lastResponse] = res;
    return true;
  };

  const tell = (req: IncomingMessage, why: Refusal) =>
    handlers.refused?.(why, {
      client: req.socket.remoteAddress ?? '',
      method: req.method ?? null,
      target: req.url ?? null,
    });

  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    handlers.request(req, res);
    if (res.writableEnded) return;
    const socket = req.socket as Socket & Marked;
    socket[unanswered] = (socket[unanswered] ?? 0) + 1;
    // Not told when the connection goes, if it is behind another one: then nobody counts any more.
    res.once('close', answered);
  };

  server.on('request', (req, res) => {
    if (admit(req, res)) handle(req, res);
  });
  server.on('checkContinue', (req, res) => {
    if (!admit(req, res)) return;
    res.writeContinue();
    handle(req, res);
  });
  // Node calls this for all that is not 100-continue; the guard refuses it, for these reasons or others.
  server.on('checkExpectation', (req, res) => {
    if (admit(req, res)) handle(req, res);
  });

  server.on('connect', (req, socket, head) => {
    const marked = socket as Duplex & Marked;
    // Node has let go of the socket: without a listener, an error of it would end the process.
    socket.on('error', ignore);
    // Refused before, or the answer to an earlier request is still on its way: raw bytes would get into it.
    if (marked[refusedSocket] === true || marked._httpMessage) {
      socket.destroy();
      return;
    }
    const why =
      checkRequestHead(
        { method: 'CONNECT', target: req.url ?? '', httpVersion: req.httpVersion, headers: req.rawHeaders },
        limits,
      ) ??
      (handlers.connect === undefined ? refusal(405, 'no-tunnels', 'CONNECT is not offered here.') : null);
    if (why === null) {
      handlers.connect!(req, socket, head);
      return;
    }
    marked[refusedSocket] = true;
    tell(req, why);
    endWith(socket, why);
  });

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const marked = socket as Duplex & Marked;
    if (marked[refusedSocket] === true) {
      // The answer is written or in the queue, and closes the connection. With no answer under way, close now.
      if (!marked._httpMessage) (socket as Socket).destroySoon();
      return;
    }
    marked[refusedSocket] = true;
    // A client that went away (reset, or gone when an answer was written to it) said nothing wrong.
    const gone = error.code === 'ECONNRESET' || error.code === 'EPIPE';
    const why = gone ? null : refusalOfParserError(error);
    const current = marked[lastResponse];
    // Bytes may be written only as the answer to the request that is wrong: nothing is being answered, or it is this very
    // request (its body is broken) and its answer has not begun. Otherwise they would be taken for another's answer.
    const broken = current !== undefined && !current.req.complete && !current.headersSent;
    const free = !marked._httpMessage || (broken && marked._httpMessage === current);
    if (why !== null) {
      handlers.refused?.(why, {
        client: (socket as Socket).remoteAddress ?? '',
        method: current?.req.complete === false ? (current.req.method ?? null) : null,
        target: current?.req.complete === false ? (current.req.url ?? null) : null,
      });
    }
    if (why !== null && free && socket.writable) endWith(socket, why);
    else socket.destroy();
  });
}

/** In words, what Node's parser found. */
export function refusalOfParserError(error: NodeJS.ErrnoException & { readonly reason?: string }): Refusal {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return refusal(431, 'head-too-large', 'The URL and header fields are too large.');
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

function answered(this: ServerResponse): void {
  const socket = this.req.socket as Socket & Marked;
  socket[unanswered] = socket[unanswered]! - 1;
}

function endWith(socket: Duplex, why: Refusal): void {
  socket.on('error', ignore);
  socket.end(refusalBytes(why), () => socket.destroy());
}

function ignore(): void {}
