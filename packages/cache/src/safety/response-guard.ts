/**
 * Checks that the head of an origin's response is safe to store and to forward. The origin controls
 * the fields, or an attacker who found a way to write into them (response splitting), and a cache
 * would pass the damage on to all clients.
 *
 * By measurement (undici 7.30), undici refuses: several Content-Length fields, lists in it,
 * Content-Length with Transfer-Encoding, obs-fold, bare CR or LF, control bytes in values, bad
 * names, heads above `maxHeaderSize`, bodies shorter or longer than declared. It lets through, and
 * this refuses: `Transfer-Encoding: chunked, gzip` (undici returns its chunk sizes as content),
 * `gzip, chunked` and `gzip` (the content stays compressed, but the field that says so is
 * hop-by-hop and dropped), any number of fields, and status codes 600 to 999. undici also reads any
 * Transfer-Encoding of an HTTP/1.0 server (harmless, same bytes). A reason phrase of 100 KB or with
 * control bytes passes as well: `safeReason` drops it, because it has no meaning (RFC 9112, 4).
 *
 * All of this is checked again here, because the result is stored.
 */

import type { FieldList } from '../policy/stored-response.ts';
import { DEFAULT_LIMITS, type Limits } from './limits.ts';
import { quote, type Refusal, refusal } from './refusal.ts';

export type ResponseLimits = Pick<Limits, 'headerCount' | 'responseHeadBytes' | 'responseBodyBytes'>;

/**
 * The reason why the response is refused, as the 502 that the client gets, or null if the response
 * is fine.
 */
export function checkResponseHead(
  head: { readonly status: number; readonly headers: FieldList; readonly method?: string },
  limits: ResponseLimits = DEFAULT_LIMITS,
): Refusal | null {
  const { status, headers } = head;
  // RFC 9110, 15: a code outside 100 to 599 is invalid.
  if (!Number.isInteger(status) || status < 100 || status > 599) {
    return bad('response-status', `a status code that does not exist: ${quote(String(status))}`);
  }
  if (headers.length > limits.headerCount * 2) {
    return bad('response-headers', `more than ${limits.headerCount} header fields`);
  }
  if (headers.length % 2 !== 0) return bad('response-header', 'a header field without a value');
  let bytes = 0;
  let contentLength: string | undefined;
  let transferEncoding = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    bytes += name.length + value.length + 4;
    if (!token.test(name)) return bad('response-header', `a header field that is none: ${quote(name)}`);
    if (outsideValue.test(value)) {
      return bad('response-header', `a character that is not allowed in the field ${quote(name)}`);
    }
    if (name.length === 14 && name.toLowerCase() === 'content-length') {
      // RFC 9112, 6.3: a proxy that receives an invalid length, or several, answers 502.
      if (contentLength !== undefined || !/^\d{1,19}$/.test(value)) {
        return bad('response-length', 'a Content-Length that is wrong, or several');
      }
      contentLength = value;
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      if (transferEncoding || value.toLowerCase() !== 'chunked') {
        return bad('response-transfer-encoding', `a Transfer-Encoding other than "chunked": ${quote(value)}`);
      }
      transferEncoding = true;
    }
  }
  if (contentLength !== undefined && transferEncoding) {
    return bad('response-length', 'both Content-Length and Transfer-Encoding');
  }
  if (bytes > limits.responseHeadBytes) {
    return bad('response-head-too-large', `a head of more than ${limits.responseHeadBytes} bytes`);
  }
  // Answers to HEAD and 304 state the length of a body that is not sent.
  const noBody = head.method === 'HEAD' || status === 304;
  if (contentLength !== undefined && !noBody && Number(contentLength) > limits.responseBodyBytes) {
    return bad('response-body-too-large', `a body of more than ${limits.responseBodyBytes} bytes`);
  }
  return null;
}

/**
 * The reason phrase if it can be forwarded, otherwise an empty one: Node throws if it contains
 * control characters.
 */
export function safeReason(reason: string): string {
  return reason.length > 128 || outsideValue.test(reason) ? '' : reason;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const outsideValue = /[^\t\x20-\x7e\x80-\xff]/;

function bad(code: string, what: string): Refusal {
  return refusal(502, code, `The origin sent ${what}.`);
}
