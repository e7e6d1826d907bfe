/**
 * Sends a body to a client: from a reader of the store piece by piece, or from the origin as it
 * arrives. The client sets the pace: no more is read from the source than the socket accepts, and a
 * client that accepts nothing for `clientStallMs` is disconnected.
 *
 * `sendStored` reads the first piece before the head is written. If the store finds at that moment
 * that its bytes are damaged or gone, nothing has been sent and the request can be answered in
 * another way. Later, `failed` is told how many bytes were sent, and must either continue from
 * exactly that byte or cut the connection. A regular end is never an option, because the client
 * could not tell that bytes are missing.
 *
 * This code runs in promises of the store and in events of the socket, without a caller that could
 * catch: an exception would end the process, and with it the answers to all clients. An error of
 * this node itself (for example a head that Node refuses to write) therefore ends only this answer,
 * as `proxy_internal_error`, and is reported to `broke`.
 */

import {
  forwardStatus,
  type NotStored,
  type PolicyOptions,
  type ResponseHead,
  responseFieldsToForward,
  withoutFields,
} from '../../policy/index.ts';
import type { BodyReader } from '../../store/response-store.ts';
import type { FetchDecision } from '../flight/fetch-order.ts';
import type { SourceFetch } from '../response-source.ts';
import { mapFields } from '../route.ts';
import type { Exchange } from './exchange.ts';

export interface SendOptions {
  readonly stallMs: number;
  /** Called before the first byte; writes the head. */
  readonly begin: () => void;
  /**
   * The source failed after `sent` bytes. If that was before the first one, `begin` has not been
   * called.
   */
  readonly failed: (error: unknown, sent: number) => void;
  /** Called when everything is read and sent; by default it ends the answer. */
  readonly done?: () => void;
  /** Reports an unexpected exception. The client is disconnected. */
  readonly broke?: (problem: unknown) => void;
}

/** Sends everything that a reader returns. */
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

  /** Returns true if sending can continue at once. */
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
    // The memory can be reused once the system has accepted all of it. After an error it may still
    // be in use.
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
    // This also closes the reader, if it is still open.
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

/** Sends the head of a response that goes from the origin straight to the client. */
export function beginStream(
  exchange: Exchange,
  head: ResponseHead,
  decision: FetchDecision,
  notStored: NotStored,
  policy: PolicyOptions,
): void {
  const { reason } = decision;
  // `fwd=method` says it already.
  const detail = reason === 'method' ? undefined : notStored;
  if (detail !== undefined) exchange.fate = () => detail;
  exchange.outcome = reason === 'method' || reason === 'bypass' ? 'bypass' : 'miss';
  exchange.reason = reason;
  const fields = responseFieldsToForward(head.headers, policy);
  // RFC 9110, 8.6: no length with a 204, not even 0. (A 304 may have one, which states that of the
  // 200.)
  const headers = mapFields(head.status === 204 ? withoutFields(fields, LENGTH) : fields, exchange.route);
  const status = forwardStatus(policy.name, { fwd: reason, ...(detail && { detail }) });
  exchange.cacheStatus = status;
  headers.push('Cache-Status', status);
  exchange.res.writeHead(head.status, head.statusText, headers);
  // Otherwise Node would hold the head back until the first piece of the body. (`flushHeaders`
  // would write it in UTF-8, not byte by byte.)
  exchange.res.write(NO_BYTES);
}

const NO_BYTES = Buffer.alloc(0);
const LENGTH: ReadonlySet<string> = new Set(['content-length']);

/** Sends a piece from the origin, and pauses the fetch while the client is behind. */
export function sendPiece(exchange: Exchange, fetch: SourceFetch, chunk: Uint8Array, stallMs: number): void {
  if (exchange.over) return;
  exchange.bytesOut += chunk.length;
  if (exchange.res.write(chunk)) return;
  fetch.pause();
  whenDrained(exchange, stallMs, () => fetch.resume());
}

/** Ends a complete body; the client must still accept the buffered bytes in time. */
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
