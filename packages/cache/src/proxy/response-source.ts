/**
 * A place from which the response to a request can come: the origin (`origin/origin-source.ts`), or
 * the neighbours (`peers/neighbour-source.ts`).
 *
 * A fetch has a list of sources (`flight/fetch-order.ts`). `flight/fetch-job.ts` asks them in that
 * order, inside the flight, so all requests that wait for the flight share them. If a source fails
 * before it has given a head, the next one is asked. The failure of the last source is the failure
 * of the fetch. A failure after the head ends the fetch: the waiting requests have the head by
 * then, and the bytes of another source may not continue that body.
 *
 * A source decides itself whether a head is an answer. One that can only say "not here" reports
 * that as an error, and the next source is asked.
 */

import type { ResponseHead } from '../policy/message-head.ts';
import type { RequestBody } from './client/request-body.ts';
import type { OriginError } from './origin/origin-error.ts';

export interface ResponseSource {
  /** The source in messages and logs: an origin as `http://example.org:8080`. */
  readonly name: string;
  /** Whether the bytes come from neighbours, and are counted as such. */
  readonly isNeighbour?: boolean;
  /**
   * Whether the response is a copy, which another cache keeps. It is stored with the mark of
   * `policy/peer-copy.ts`. It is known when the head has come.
   */
  readonly copies?: boolean;
  /**
   * Begins to ask. `onNote`, `onSent`, `onInterim` and `onError` may be called before `ask`
   * returns, the other functions of the handler may not. A source ends the fetch itself if it takes
   * too long, because the request that waits first has no time limit of its own.
   */
  ask(request: SourceRequest, handler: SourceHandler): SourceFetch;
}

/** The question to a source. Where it is asked is the source's own matter. */
export interface SourceRequest {
  readonly method: string;
  /** End-to-end fields without Host and Content-Length. */
  readonly headers: readonly string[];
  /** A body can be sent once, so a request with a body has one source. */
  readonly body: RequestBody | null;
  /** Length of the body, if the client stated it. */
  readonly bodyLength?: number | undefined;
}

/**
 * Called in this order: note, sent and rooted (again for each question that a source puts),
 * interim…, head, data…, then exactly one of end and error. `onOrigin` may come once between pieces
 * of data, and an error at any point. There are no calls after `abort`.
 */
export interface SourceHandler {
  /** The source notes, for the access log, whom it asks and why. */
  onNote?(note: string): void;
  /** A neighbour has the response; this is its name or its address. The head follows. */
  onNeighbour?(name: string): void;
  onSent?(): void;
  /** A source that is not the origin waits for the origin now. */
  onRooted?(): void;
  onInterim?(status: number, statusText: string, headers: string[]): void;
  /** The bytes of a neighbour broke off, and the rest comes from the origin. */
  onOrigin?(): void;
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
  onEnd(trailers: string[]): void;
  onError(error: OriginError): void;
}

/** A question that is being answered. */
export interface SourceFetch {
  /** Ends the fetch without further calls to the handler. */
  abort(): void;
  /** Ends the fetch with an error for the handler. */
  fail(error: OriginError): void;
  /** Holds `onData` and `onEnd` back until `resume`. */
  pause(): void;
  resume(): void;
  /**
   * SHA-256 of the bytes that came so far, if the source computes it anyway (`digests/`). It is
   * known when the head has come.
   */
  readonly bodyDigest?: (() => Uint8Array) | null;
  /** The body that has just ended is not the one that its digest names. */
  distrust?(): void;
}
