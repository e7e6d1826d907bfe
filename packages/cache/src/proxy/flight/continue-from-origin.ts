/**
 * Sends the rest of a body, whose first bytes the client already has, from the origin instead of
 * the store. It is used if stored bytes turn out to be damaged in the middle of an answer.
 *
 * This is correct only if the origin's bytes are those of the stored representation, which only a
 * strong ETag proves (RFC 9110, 8.8.1). The request carries it in If-Range, so that an origin with
 * another version answers 200, which is of no use here. The answer must be a 206 for exactly the
 * requested bytes, with the same total length and the same tag. Any other answer cuts the
 * connection.
 */

import { isStrongTag } from '../../policy/conditions.ts';
import {
  fieldValue,
  parseContentRange,
  type ResponseHead,
  requestFieldsToForward,
  withoutFields,
} from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { safeguardFields } from '../../safety/unkeyed-fields.ts';
import { endAnswer, sendPiece } from '../client/body-sender.ts';
import type { Exchange } from '../client/exchange.ts';
import { OriginSource } from '../origin/origin-source.ts';
import type { ProxyContext } from './shared-response.ts';

/** Sends the bytes `from` to `end` (exclusive) of the whole representation. */
export function continueFromOrigin(
  context: ProxyContext,
  exchange: Exchange,
  response: StoredResponse,
  from: number,
  end: number,
): void {
  const { etag } = response;
  const { method, headers } = exchange.request;
  if (etag === null || !isStrongTag(etag) || from >= end) {
    exchange.cut();
    return;
  }
  const fields = safeguardFields(withoutFields(headers, REPLACED), method).headers;
  fields.push('Range', `bytes=${from}-${end - 1}`, 'If-Range', etag);
  const total = response.range?.total ?? response.bodyLength;
  let left = end - from;
  const fetch = new OriginSource(context.origins, exchange.route).ask(
    {
      method: 'GET',
      headers: withoutFields(requestFieldsToForward(fields, context.policy), FRAMING),
      body: null,
    },
    {
      onHead(head) {
        if (!isRest(head, etag, from, end, total)) stop();
      },
      onData(chunk) {
        left -= chunk.length;
        exchange.bytesFromOrigin += chunk.length;
        if (left < 0) stop();
        else sendPiece(exchange, fetch, chunk, context.limits.clientStallMs);
      },
      onEnd() {
        if (left === 0) endAnswer(exchange, context.limits.clientStallMs);
        else exchange.cut();
      },
      onError: () => exchange.cut(),
    },
  );
  const stop = (): void => {
    fetch.abort();
    exchange.cut();
  };
  exchange.onLeave(() => fetch.abort());
}

function isRest(head: ResponseHead, etag: string, from: number, end: number, total: number): boolean {
  if (head.status !== 206 || fieldValue(head.headers, 'etag') !== etag) return false;
  const range = parseContentRange(fieldValue(head.headers, 'content-range') ?? '');
  return range !== null && range.start === from && range.end === end && range.total === total;
}

const REPLACED: ReadonlySet<string> = new Set([
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'if-match',
  'if-unmodified-since',
]);

const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length']);
