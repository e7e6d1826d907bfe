/**
 * One request to an origin and its response: interim heads, the head, the body piece by piece, the
 * end or a failure. undici implements HTTP/1.1; this file adds what a proxy needs on top.
 *
 * - **Time.** Each fetch has one timer: until the request is on a connection, then until the head,
 *   then between pieces of the body. The timer stops while the receiver holds the body back, and
 *   restarts with each piece of a request body. A piece only notes the time, which takes 60 ns, as
 *   long as `refresh` of a Node timer. The timer looks at the note when it ends.
 * - **One retry**, if a connection that had served before was closed during a request that is
 *   idempotent and has no body (RFC 9112, 9.3.1). Never after a byte of a response, and never
 *   twice.
 * - **Complete means complete.** undici reports a body without a length as complete when the
 *   connection is reset, because some systems reset after the last byte. RFC 9112, 8: such a body
 *   is incomplete if the connection ended by an error. It is a failure here.
 * - **Heads that can be forwarded.** Field values with control characters are a failure, because
 *   Node would throw when they are sent.
 *
 * Refused: `Expect: 100-continue` towards the origin (undici does not support it over HTTP/1.1);
 * this node sends 100 itself and streams the body. A 100 that an origin sends unasked
 * (continue-filter.ts) counts as an interim response and goes no further: it is about the body that
 * this node sends, and the client was told to continue before. Where it breaks down: a body without
 * a length over TLS that ends without close_notify cannot be told from a complete one, because Node
 * does not report it.
 */

import type { Cancel, Clock } from '@bloomery/transport';
import type { Dispatcher } from 'undici';
import type { Limits } from '../../safety/limits.ts';
import { checkResponseHead } from '../../safety/response-guard.ts';
import type { SourceFetch, SourceHandler, SourceRequest } from '../response-source.ts';
import { OriginError, toOriginError } from './origin-error.ts';
import type { OriginPool, Slot } from './origin-pool.ts';

export interface OriginRequest extends SourceRequest {
  /** Scheme, host and port: `http://example.org:8080`. */
  readonly origin: string;
  /** Chosen by the operator, so its address is not checked. */
  readonly trusted: boolean;
  /** Path and query, at least `/`. */
  readonly path: string;
  /** The Host field. */
  readonly host: string;
  /** The most interim responses; 32 by default. */
  readonly mostInterims?: number;
}

/** The part of the clock that a fetch uses. */
export type FetchTimers = Pick<Clock, 'after' | 'monotonic'>;

type Phase = 'waiting' | 'sent' | 'responding' | 'body' | 'over';

export class OriginFetch implements SourceFetch {
  /** Bytes of the body received so far. */
  bytes = 0;
  readonly #request: OriginRequest;
  readonly #handler: SourceHandler;
  readonly #limits: Limits;
  readonly #done: () => void;
  #pool: OriginPool | null = null;
  #leaveLine: (() => void) | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  readonly #timers: FetchTimers;
  /** Ends the timer, or null while none runs. */
  #cancelTimer: Cancel | null = null;
  /** The longest silence of the origin in this phase, and the time when it began. */
  #limitMs = 0;
  #heardAt = 0;
  #phase: Phase = 'waiting';
  #reused = false;
  #interims = 0;
  #retried = false;
  /** The response has no body because of its status. */
  #bodiless = false;
  #paused = false;
  /** Events that arrived although the body is held back, because the connection ended. */
  #held: ({ readonly data: Buffer } | { readonly end: () => void })[] = [];
  /** The HTTP client has reported the end or an error. */
  #heardAll = false;

  constructor(
    request: OriginRequest,
    handler: SourceHandler,
    { limits, timers }: { readonly limits: Limits; readonly timers: FetchTimers },
    done: () => void,
  ) {
    this.#request = request;
    this.#handler = handler;
    this.#limits = limits;
    this.#timers = timers;
    this.#done = done;
  }

  start(pool: OriginPool): void {
    this.#pool = pool;
    this.#setTimer(this.#limits.originConnectTimeoutMs + this.#limits.originHeadTimeoutMs);
    const { body } = this.#request;
    if (body !== null) {
      // While the client sends, the origin need not answer. The server limits how long that may
      // take.
      body.progress = () => {
        if (this.#phase === 'waiting' || this.#phase === 'sent') this.#heard();
      };
    }
    this.#dispatch(pool);
  }

  abort(): void {
    if (this.#phase === 'over') return;
    this.#finish();
    this.#controller?.abort(NO_WAITER);
  }

  fail(error: OriginError): void {
    if (this.#phase === 'over') return;
    this.#finish();
    this.#controller?.abort(error);
    this.#handler.onError(error);
  }

  pause(): void {
    if (this.#paused || this.#phase === 'over') return;
    this.#paused = true;
    if (!this.#heardAll) this.#controller?.pause();
    this.#stopTimer();
  }

  resume(): void {
    if (!this.#paused || this.#phase === 'over') return;
    this.#paused = false;
    while (this.#held.length > 0) {
      const event = this.#held.shift()!;
      if ('end' in event) event.end();
      else this.#handler.onData(event.data);
      if (this.#isHeldOrOver()) return;
    }
    this.#setTimer(this.#limits.originIdleTimeoutMs);
    if (!this.#heardAll) this.#controller?.resume();
  }

  /**
   * Called when the connection ends. undici's parser must not be paused at that moment (an
   * assertion would end the process), so it is resumed, and its remaining data is held here. That
   * is at most one read of the socket.
   */
  readonly #drain = (): void => {
    if (this.#paused && !this.#heardAll) this.#controller?.resume();
  };

  /** The handler may just have paused or aborted the fetch. */
  #isHeldOrOver(): boolean {
    return this.#paused || this.#phase === 'over';
  }

  /** Runs now, or when the body is no longer held back. */
  #whenResumed(end: () => void): void {
    if (this.#paused) this.#held.push({ end });
    else end();
  }

  #dispatch(pool: OriginPool): void {
    const { method, path, headers, host, body, bodyLength } = this.#request;
    const fields = ['host', host, ...headers];
    if (bodyLength !== undefined) fields.push('content-length', String(bodyLength));
    this.#leaveLine = pool.acquire((slot) => {
      this.#leaveLine = null;
      slot.client.dispatch(
        // Not `idempotent` in undici's sense, which is about pipelining; retries are decided here.
        { method: method as Dispatcher.HttpMethod, path, headers: fields, body, idempotent: false },
        this.#listen(pool, slot),
      );
    });
  }

  #listen(pool: OriginPool, slot: Slot): Dispatcher.DispatchHandler & { onResponseStarted(): void } {
    return {
      onRequestStart: (controller) => {
        if (this.#phase === 'over') controller.abort(NO_WAITER);
        else this.#sent(controller, slot);
      },
      // The first byte of a response has arrived: from now on the request is not sent again.
      onResponseStarted: () => {
        if (this.#phase === 'sent') this.#phase = 'responding';
      },
      onResponseStart: (controller, status, _parsed, text) => {
        if (this.#phase === 'over') return;
        const given = slot.continues.takeContinue(status) ? 100 : status;
        this.#head(given, text ?? '', controller.rawHeaders as Buffer[]);
      },
      onResponseData: (_controller, chunk) => {
        if (this.#phase === 'over') return;
        this.bytes += chunk.length;
        if (this.#paused) {
          this.#held.push({ data: chunk });
          return;
        }
        this.#heard();
        this.#handler.onData(chunk);
      },
      onResponseEnd: (controller) => {
        // Read before the slot is passed to another request.
        const broken = slot.socketError;
        slot.ending = null;
        pool.release(slot);
        if (this.#phase === 'over') return;
        this.#heardAll = true;
        const trailers = (controller.rawTrailers ?? []) as Buffer[];
        this.#whenResumed(() => (broken !== null ? this.#failed(broken) : this.#end(trailers)));
      },
      onResponseError: (_controller, error) => {
        slot.ending = null;
        pool.release(slot);
        if (this.#phase === 'over') return;
        this.#heardAll = true;
        // RFC 9110, 8.6: a 304 may state the length of content that it does not carry. undici
        // reports that as a missing body.
        this.#whenResumed(() => (this.#bodiless ? this.#end([]) : this.#failed(error)));
      },
    };
  }

  #sent(controller: Dispatcher.DispatchController, slot: Slot): void {
    this.#controller = controller;
    this.#heardAll = false;
    slot.ending = this.#drain;
    this.#phase = 'sent';
    this.#reused = slot.sent > 0;
    slot.sent++;
    slot.continues.expectHead();
    this.#setTimer(this.#limits.originHeadTimeoutMs);
    this.#handler.onSent?.();
  }

  #head(status: number, text: string, raw: readonly Buffer[]): void {
    const { origin } = this.#request;
    const headers = fieldsOf(raw);
    if (headers === null) {
      const problem = `${origin}: a field of the response has a control character`;
      this.fail(new OriginError('http_protocol_error', problem));
      return;
    }
    const most = this.#limits.headerCount;
    if (headers.length > 2 * most) {
      const problem = `${origin}: expected at most ${most} fields in the response, got ${headers.length / 2}`;
      this.fail(new OriginError('http_response_header_section_size', problem));
      return;
    }
    const why = checkResponseHead({ status, headers, method: this.#request.method }, this.#limits);
    if (why !== null) {
      this.fail(new OriginError('http_protocol_error', `${origin}: ${why.message}`));
      return;
    }
    const statusText = sendable.test(text) ? text : '';
    if (status < 200) {
      // Each interim response shows that the origin is alive, but their number is limited.
      const { mostInterims = MOST_INTERIMS } = this.#request;
      if (++this.#interims > mostInterims) {
        const problem = `${origin}: expected a final response after at most ${mostInterims} interim ones`;
        this.fail(new OriginError('http_protocol_error', problem));
        return;
      }
      this.#heard();
      if (status !== 100) this.#handler.onInterim?.(status, statusText, headers);
      return;
    }
    this.#phase = 'body';
    this.#bodiless = status === 204 || status === 304;
    this.#setTimer(this.#limits.originIdleTimeoutMs);
    this.#handler.onHead({ status, statusText, headers });
  }

  #end(trailers: readonly Buffer[]): void {
    this.#finish();
    this.#handler.onEnd(fieldsOf(trailers) ?? []);
  }

  #failed(cause: unknown): void {
    if (this.#phase === 'sent' && this.#reused && !this.#retried && this.#repeatable() && isClosed(cause)) {
      this.#retried = true;
      this.#phase = 'waiting';
      this.#controller = null;
      this.#dispatch(this.#pool!);
      return;
    }
    const progress = this.#phase === 'body' ? 'head' : this.#phase === 'responding' ? 'some' : 'nothing';
    this.#finish();
    this.#handler.onError(toOriginError(cause, this.#request.origin, progress));
  }

  /**
   * RFC 9110, 9.2.2: idempotent methods may be repeated, but a body that was already streamed
   * cannot.
   */
  #repeatable(): boolean {
    return this.#request.body === null && idempotent.has(this.#request.method);
  }

  #finish(): void {
    this.#phase = 'over';
    this.#held = [];
    this.#stopTimer();
    this.#leaveLine?.();
    this.#leaveLine = null;
    this.#done();
  }

  #setTimer(ms: number): void {
    this.#cancelTimer?.();
    this.#limitMs = ms;
    this.#heard();
    this.#cancelTimer = this.#timers.after(ms, this.#timeUp);
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  /**
   * Notes that the origin's silence begins again. The timer compares this time when it ends, so a
   * piece needs no new timer.
   */
  #heard(): void {
    this.#heardAt = this.#timers.monotonic();
  }

  readonly #timeUp = (): void => {
    const leftMs = this.#heardAt + this.#limitMs - this.#timers.monotonic();
    if (leftMs > 0) this.#cancelTimer = this.#timers.after(leftMs, this.#timeUp);
    else this.#expired();
  };

  #expired(): void {
    const { origin } = this.#request;
    const { originConnectTimeoutMs, originHeadTimeoutMs, originIdleTimeoutMs } = this.#limits;
    if (this.#phase === 'waiting') {
      const ms = originConnectTimeoutMs + originHeadTimeoutMs;
      this.fail(new OriginError('connection_timeout', `${origin}: no connection within ${ms} ms`));
    } else if (this.#phase === 'body') {
      const problem = `${origin}: the body stopped for ${originIdleTimeoutMs} ms`;
      this.fail(new OriginError('connection_read_timeout', problem));
    } else {
      const problem = `${origin}: no response within ${originHeadTimeoutMs} ms`;
      this.fail(new OriginError('http_response_timeout', problem));
    }
  }
}

const NO_WAITER = new OriginError('proxy_internal_error', 'No request waits for this response any more');

const MOST_INTERIMS = 32;

const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);

/** Text that Node sends without an error (its own check of field values and reason phrases). */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;

function isClosed(cause: unknown): boolean {
  const code = (cause as { code?: string } | null)?.code;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}

/**
 * Field names and values as they came, byte by byte, or null if one of them cannot be forwarded.
 */
function fieldsOf(raw: readonly Buffer[]): string[] | null {
  const fields = new Array<string>(raw.length);
  for (let at = 0; at < raw.length; at++) {
    const text = raw[at]!.toString('latin1');
    if (!sendable.test(text)) return null;
    fields[at] = text;
  }
  return fields;
}
