/**
 * Answers a request from a stored response, or from one that is being stored.
 *
 * The plain case, a whole body in memory, is written at once: `writeHead` with a flat list, `end`
 * with the bytes. All other cases go through a reader.
 *
 * If the store's bytes fail:
 * - before the first byte is sent, the stored response is removed and the request starts again, as
 *   if nothing had been stored;
 * - in the middle, the rest is taken from the origin if it returns the same strong ETag for a range
 *   from exactly that byte (`continue-from-origin.ts`); otherwise the connection is cut. The client
 *   never gets wrong bytes, nor a regular end too early.
 */

import { type Answer, answerFrom, isOnlyIfCached } from '../../policy/index.ts';
import { BodyError, type BodyReader } from '../../store/response-store.ts';
import { continueFromOrigin } from '../flight/continue-from-origin.ts';
import type { ProxyContext, SharedResponse } from '../flight/shared-response.ts';
import { OriginError } from '../origin/origin-error.ts';
import type { AnswerOutcome } from '../proxy-observer.ts';
import { mapFields } from '../route.ts';
import { sendStored } from './body-sender.ts';
import type { Exchange } from './exchange.ts';
import { PartsReader } from './parts-reader.ts';

export interface AnswerHow {
  readonly outcome: AnswerOutcome;
  readonly reason: string;
  readonly stale: boolean;
  /** The member of Cache-Status, as of the moment at which it is called. */
  readonly status: () => string;
  /**
   * The origin's own fields, for the request that caused the fetch; used if it gets the whole
   * response.
   */
  readonly fields?: string[] | undefined;
  /** Starts the request again, without the response that failed. */
  readonly again: (exchange: Exchange) => void;
}

/**
 * Returns false if the response cannot answer this request (a part that lacks the bytes); then
 * nothing was sent.
 */
export function answerFromStore(
  context: ProxyContext,
  exchange: Exchange,
  shared: Pick<SharedResponse, 'response' | 'source' | 'body'>,
  now: number,
  how: AnswerHow,
): boolean {
  const { policy, store } = context;
  const { response } = shared;
  const status = how.status();
  const answer = answerFrom(exchange.request, response, now, { stale: how.stale, status }, policy);
  if (answer === null) return false;
  // A sibling cache would pass a 416 on; it can ask the origin for the range.
  if (answer.status === 416 && isOnlyIfCached(exchange.request.headers)) return false;
  const { res, route } = exchange;
  exchange.outcome = how.outcome;
  exchange.reason = how.reason;
  exchange.cacheStatus = status;
  let { headers } = answer;
  if (how.fields !== undefined && answer.status === response.status && response.range === null) {
    headers = how.fields;
    headers.push('Cache-Status', status);
  }
  headers = mapFields(headers, route);
  const { body } = answer;
  if (body.kind === 'none') {
    res.writeHead(answer.status, answer.statusText, headers);
    res.end();
    exchange.recordNow(false);
    return true;
  }
  if (shared.body === null && body.kind !== 'parts') {
    const bytes = store.bodyInMemory(shared.source);
    if (bytes !== undefined) {
      const part = body.kind === 'all' ? bytes : bytes.subarray(body.start, body.end);
      exchange.bytesOut = part.length;
      res.writeHead(answer.status, answer.statusText, headers);
      res.end(part);
      exchange.recordNow(false);
      return true;
    }
  }
  sendThrough(context, exchange, shared, answer, headers, how);

  return true;
}

function sendThrough(
  context: ProxyContext,
  exchange: Exchange,
  shared: Pick<SharedResponse, 'response' | 'source' | 'body'>,
  answer: Answer,
  headers: string[],
  how: AnswerHow,
): void {
  const { body } = answer;
  exchange.follow();
  const open = (start?: number, end?: number): BodyReader =>
    shared.body === null ? context.store.read(shared.source, start, end) : shared.body.read(start, end);
  const reader =
    body.kind === 'parts'
      ? new PartsReader(body, open)
      : body.kind === 'part'
        ? open(body.start, body.end)
        : open();
  let begun = false;
  sendStored(exchange, reader, {
    stallMs: context.limits.clientStallMs,
    begin: () => {
      begun = true;
      const status = how.status();
      exchange.cacheStatus = status;
      updateStatus(headers, status);
      exchange.res.writeHead(answer.status, answer.statusText, headers);
    },
    broke: (problem) =>
      context.observer.event('error', 'answer-failed', { key: shared.response.key, problem }),
    failed: (error, sent) => {
      if (shared.body !== null) failedOnTheWay(exchange, error, begun, how);
      else failedInStore(context, exchange, shared, body, error, begun, sent, how);
    },
  });
}

/** Replaces this node's member of Cache-Status, which is the last line of that name. */
function updateStatus(headers: string[], status: string): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (headers[at] !== 'Cache-Status') continue;
    headers[at + 1] = status;
    return;
  }
}

/**
 * The origin broke off, or the store dropped a body that was too long for it before this reader
 * began.
 */
function failedOnTheWay(exchange: Exchange, error: unknown, begun: boolean, how: AnswerHow): void {
  if (begun) {
    exchange.reason = codeOf(error);
    exchange.cut();
    return;
  }
  const cause = error instanceof BodyError ? error.cause : error;
  if (cause instanceof OriginError) {
    exchange.outcome = 'error';
    exchange.sendText(cause.status, cause.code, cause.message);
  } else {
    how.again(exchange);
  }
}

function failedInStore(
  context: ProxyContext,
  exchange: Exchange,
  { response, source }: Pick<SharedResponse, 'response' | 'source'>,
  body: Answer['body'],
  error: unknown,
  begun: boolean,
  sent: number,
  how: AnswerHow,
): void {
  const { store, observer } = context;
  const code = codeOf(error);
  // `gone` means that the response was evicted between being found and being read, which is not an
  // error.
  observer.event(code === 'gone' ? 'debug' : 'warn', 'stored-body-failed', { key: response.key, code, sent });
  const removed = Promise.resolve(store.remove(source)).catch((problem: unknown) =>
    observer.event('error', 'store-failed', { key: response.key, problem }),
  );
  if (!begun) {
    // Before it is removed, the next look-up would find it again.
    removed
      .then(() => how.again(exchange))
      .catch((problem: unknown) => {
        observer.event('error', 'answer-failed', { key: response.key, problem });
        exchange.cut();
      });
    return;
  }
  const start = (response.range?.start ?? 0) + (body.kind === 'part' ? body.start : 0);
  const end = body.kind === 'part' ? (response.range?.start ?? 0) + body.end : start + response.bodyLength;
  if (body.kind === 'parts' || body.kind === 'none') exchange.cut();
  else continueFromOrigin(context, exchange, response, start + sent, end);
}

function codeOf(error: unknown): string {
  return (error as { code?: string } | null)?.code ?? 'unknown';
}
