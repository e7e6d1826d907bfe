/**
 * Gives a body to a client: from a reader of the store piece by piece, or from the origin as it comes. The client's pace rules: no
 * more is taken from the source than the socket takes, and a client that takes nothing for `clientStallMs` is cut off.
 *
 * `sendStored` asks for the first piece before the head is written: if the store finds at that moment that its bytes are damaged or
 * gone, nothing has been sent and the request can be answered otherwise. Later `failed` is told how many bytes went out; whoever
 * is told must either go on from exactly there or cut the connection. Ending cleanly is never an option: the client could
 * not tell.
 *
 * It runs in promises of the store and in events of the socket, with nobody above it: what is thrown there would end the process, and
 * everybody's answers with it. So a fault of this node's own (a head that Node refuses to write, say) ends this one answer, as
 * `proxy_internal_error`, and `broke` is told what it was.
 */

import {
  forwardStatus,
  type PolicyOptions,
  type ResponseHead,
  responseFieldsToForward,
  withoutFields,
} from '../../policy/index.ts';
import type { BodyReader } from '../../store/response-store.ts';
import type { Fetched } from '../flight/fetch-order.ts';
import type { OriginFetch } from '../origin/origin-fetch.ts';
import { mapFields } from '../route.ts';
import type { Exchange } from './exchange.ts';

export interface SendOptions {
  readonly stallMs: number;
  /** Called before the first byte; writes the head. */
  readonly begin: () => void;
  /** The source broke after so many bytes. Before the first one, `begin` has not been called. */
  readonly failed: (error: unknown, sent: number) => void;
  /** All is read and sent; default: ends the answer. */
  readonly done?: () => void;
  /** Something threw that should not have. The client is cut off. */
  readonly broke?: (problem: unknown) => void;
}

/** Sends all that a reader has. */
export function sendStored(exchange: Exchange, reader: BodyReader, options: SendOptions): void {
  const { res } = exchange;
  let sent = 0;
  let begun = false;
  const stopListening = exchange.onLeave(() => reader.close());

  const pump = (): void => {
    for (;;) {
      if (exchange.over) return;
      let chunk: Uint8Array | null | Promise<Uint8Array | null>;
      try {
        chunk = reader.next();
      } catch (error) {
        fail(error);
        return;
      }
      if (chunk instanceof Promise) {
        chunk
          .then((bytes) => {
            if (take(bytes)) pump();
          }, fail)
          .catch(broke);
        return;
      }
      if (!take(chunk)) return;
    }
  };

  /** True: go on at once. */
  const take = (chunk: Uint8Array | null): boolean => {
    if (exchange.over) return false;
    if (!begun) {
      begun = true;
      options.begin();
    }
    if (chunk === null) {
      stopListening();
      reader.close();
      if (options.done === undefined) endAnswer(exchange, options.stallMs);
      else options.done();
      return false;
    }
    sent += chunk.length;
    exchange.bytesOut += chunk.length;
    // Its memory is free once the system has taken all of it; after an error nobody knows who still looks at it.
    const written = reader.recycle && ((error?: Error | null) => !error && reader.recycle!(chunk));
    if (res.write(chunk, written)) return true;
    whenDrained(exchange, options.stallMs, go);
    return false;
  };

  const fail = (error: unknown): void => {
    if (exchange.over) return;
    stopListening();
    reader.close();
    options.failed(error, sent);
  };

  const broke = (problem: unknown): void => {
    exchange.outcome = 'error';
    exchange.reason = 'proxy_internal_error';
    // It closes the reader, if that is still open.
    exchange.cut();
    options.broke?.(problem);
  };

  const go = (): void => {
    try {
      pump();
    } catch (problem) {
      broke(problem);
    }
  };

  go();
}

/** The head of a response that goes from the origin straight to the client. */
export function beginStream(
  exchange: Exchange,
  head: ResponseHead,
  decision: Fetched,
  policy: PolicyOptions,
): void {
  const { reason } = decision;
  exchange.outcome = reason === 'method' || reason === 'bypass' ? 'bypass' : 'miss';
  exchange.reason = reason;
  const fields = responseFieldsToForward(head.headers, policy);
  // RFC 9110, 8.6: no length with a 204, not even 0. (With a 304 it may be there, and tells that of the 200.)
  const headers = mapFields(head.status === 204 ? withoutFields(fields, LENGTH) : fields, exchange.route);
  headers.push('Cache-Status', forwardStatus(policy.name, { fwd: reason }));
  exchange.res.writeHead(head.status, head.statusText, headers);
  // Else Node would keep the head back until the first piece of the body. (`flushHeaders` would write it in UTF-8, not byte by byte.)
  exchange.res.write(NO_BYTES);
}

const NO_BYTES = Buffer.alloc(0);
const LENGTH: ReadonlySet<string> = new Set(['content-length']);

/** A piece from the origin, which waits while the client is behind. */
export function sendPiece(exchange: Exchange, fetch: OriginFetch, chunk: Uint8Array, stallMs: number): void {
  if (exchange.over) return;
  exchange.bytesOut += chunk.length;
  if (exchange.res.write(chunk)) return;
  fetch.pause();
  whenDrained(exchange, stallMs, () => fetch.resume());
}

/** The body is complete; what is in the buffers must still be taken in time. */
export function endAnswer(exchange: Exchange, stallMs: number): void {
  const { res } = exchange;
  if (exchange.over) return;
  res.end();
  if (res.writableFinished) return;
  const timer = setTimeout(() => exchange.cut(), stallMs);
  exchange.onLeave(() => clearTimeout(timer));
}

function whenDrained(exchange: Exchange, stallMs: number, go: () => void): void {
  const { res } = exchange;
  const timer = setTimeout(() => exchange.cut(), stallMs);
  const drained = (): void => {
    clearTimeout(timer);
    stopListening();
    go();
  };
  const stopListening = exchange.onLeave(() => {
    clearTimeout(timer);
    res.off('drain', drained);
  });
  res.once('drain', drained);
}
