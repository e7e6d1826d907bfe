/**
 * Checks that there is exactly one way to read a request. If two servers in a row can disagree
 * about where it ends or which host it is for, an attacker can make one of them take the attacker's
 * bytes for another client's request (smuggling), or store an answer under the wrong key. Such a
 * request is refused and never repaired, because a repair would mean guessing what the next server
 * does.
 *
 * `checkRequestHead` is pure, takes time linear in its input, and never throws. It sees what Node's
 * parser has let through (`rawHeaders`). These are the results of measurements (Node 20.20, llhttp
 * strict; the corpus in `test/safety/smuggling-corpus.ts` repeats them on each run):
 *
 * - Refused by the parser: several Content-Length fields, lists and signs in it, Content-Length
 *   with Transfer-Encoding, chunked twice or not last, obs-fold, bare CR or LF in a head and in
 *   chunk framing, space before the colon, control bytes in names, values and targets, bytes above
 *   0x7e in targets, versions other than 0.9, 1.0, 1.1, 2.0, methods it does not know.
 * - Passed by the parser, refused here: several Host fields, none, an invalid one; `gzip, chunked`,
 *   `identity`, an empty Transfer-Encoding (after which the parser reads the body as the next
 *   request); Transfer-Encoding in HTTP/1.0; versions 0.9 and 2.0; RTSP and ICE methods; `*` for
 *   GET; all forms of CONNECT; fragments, backslashes, user names, other schemes; Content-Length up
 *   to 2^64; `Expect: 100-continue, x`; `Content_Length`; Connection naming Host.
 *
 * Both lists are checked here as far as they are visible, because the parser is not ours and has
 * had bugs before.
 *
 * Decisions:
 * - Host may differ from the authority of an absolute target. RFC 9112, 3.2.2 says that the
 *   absolute target wins and the received Host is ignored; the proxy writes a new one. Each must be
 *   valid by itself.
 * - Unknown methods are forwarded (RFC 9110, 9.1), as far as the parser knows them.
 * - A body on GET is legal (9110, 9.3.1 gives it no meaning) and passes; `unkeyed-fields.ts` keeps
 *   its answer from being shared.
 */

import type { FieldList } from '../policy/stored-response.ts';
import { DEFAULT_LIMITS, type Limits } from './limits.ts';
import { quote, type Refusal, refusal } from './refusal.ts';
import { checkAuthority, checkRequestTarget } from './request-target.ts';
import { isUnkeyed } from './unkeyed-fields.ts';

export type { Refusal } from './refusal.ts';

export interface RawRequest {
  readonly method: string;
  readonly target: string;
  /** The version as Node reports it, for example `1.1`. */
  readonly httpVersion: string;
  readonly headers: FieldList;
}

export type RequestLimits = Pick<Limits, 'headBytes' | 'urlBytes' | 'headerCount' | 'requestBodyBytes'>;

/** The reason why the request is refused, or null if it may be handled. */
export function checkRequestHead(raw: RawRequest, limits: RequestLimits = DEFAULT_LIMITS): Refusal | null {
  const { method, target, httpVersion, headers } = raw;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return refusal(505, 'version', `HTTP/1.1 is spoken here, got version ${quote(httpVersion)}.`);
  }
  if (!token.test(method) || method.length > 64) {
    return refusal(400, 'method-invalid', `Not a method: ${quote(method)}.`);
  }
  if (foreignMethods.has(method)) {
    return refusal(400, 'method-foreign', `${method} belongs to another protocol, not to HTTP.`);
  }
  if (target.length > limits.urlBytes) {
    return refusal(
      414,
      'target-too-long',
      `The URL is too long: ${target.length} bytes, at most ${limits.urlBytes} are accepted.`,
    );
  }
  const badTarget = checkRequestTarget(method, target);
  if (badTarget !== null) return badTarget;
  if (headers.length > limits.headerCount * 2) {
    return refusal(
      431,
      'too-many-headers',
      `Too many header fields: at most ${limits.headerCount} are accepted.`,
    );
  }
  if (headers.length % 2 !== 0) return refusal(400, 'header-invalid', 'A header field has no value.');

  let bytes = method.length + target.length + 12;
  let host: string | undefined;
  let contentLength: string | undefined;
  let transferEncoding: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    bytes += name.length + value.length + 4;
    if (!token.test(name)) return refusal(400, 'header-name', `Not a header field name: ${quote(name)}.`);
    if (outsideValue.test(value)) {
      return refusal(400, 'header-value', `The field ${quote(name)} has a character that is not allowed.`);
    }
    // Only names of these lengths matter, so most fields are skipped without lower-casing them.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() !== 'host') break;
        // RFC 9112, 3.2: 400 for more than one Host, or an invalid one.
        if (host !== undefined) return refusal(400, 'host-repeated', 'The request has several Host fields.');
        host = value;
        break;
      case 6:
        if (name.toLowerCase() !== 'expect') break;
        // RFC 9110, 10.1.1: 417 for any other expectation.
        if (value.toLowerCase() === '100-continue') break;
        return refusal(417, 'expectation', `Only "100-continue" can be expected, got ${quote(value)}.`);
      case 10: {
        const bad = name.toLowerCase() === 'connection' ? checkConnection(value) : null;
        if (bad !== null) return bad;
        break;
      }
      case 14: {
        const lower = name.toLowerCase();
        if (lower === 'content_length') return lookalike(name, 'Content-Length');
        if (lower !== 'content-length') break;
        // RFC 9112, 6.3 also lets a recipient refuse repeated equal values, which no client sends
        // intentionally.
        if (contentLength !== undefined) {
          return refusal(400, 'content-length-repeated', 'The request has several Content-Length fields.');
        }
        contentLength = value;
        break;
      }
      case 17: {
        const lower = name.toLowerCase();
        if (lower === 'transfer_encoding') return lookalike(name, 'Transfer-Encoding');
        if (lower !== 'transfer-encoding') break;
        if (transferEncoding !== undefined) {
          return refusal(
            400,
            'transfer-encoding-repeated',
            'The request has several Transfer-Encoding fields.',
          );
        }
        transferEncoding = value;
        break;
      }
    }
  }
  if (bytes > limits.headBytes) {
    return refusal(
      431,
      'head-too-large',
      `The head is too large: at most ${limits.headBytes} bytes are accepted.`,
    );
  }
  return (
    checkHost(host, target, httpVersion) ??
    (contentLength === undefined && transferEncoding === undefined
      ? null
      : checkFraming(method, httpVersion, contentLength, transferEncoding, limits))
  );
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Any character except visible ASCII, space, tab and obs-text (RFC 9110, 5.5). */
const outsideValue = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Node's parser also reads RTSP and ICE, and reports version 1.0 for them; PRI opens HTTP/2 (RFC
 * 9113, 3.4).
 */
const foreignMethods: ReadonlySet<string> = new Set(
  (
    'DESCRIBE ANNOUNCE SETUP PLAY PAUSE TEARDOWN GET_PARAMETER SET_PARAMETER REDIRECT RECORD FLUSH ' +
    'SOURCE PRI'
  ).split(' '),
);

/**
 * Fields meant for all recipients. RFC 9110, 7.6.1: a sender must not name them in Connection. A
 * client that does wants the proxy to drop them: the Host, a length, the credentials that make the
 * answer private, or the address by which an origin decides. That address has many field names, so
 * all fields of `isUnkeyed` are refused as well.
 */
const endToEnd: ReadonlySet<string> = new Set(
  (
    'host content-length transfer-encoding content-type content-encoding content-range authorization cookie set-cookie ' +
    'cache-control pragma expires age date vary via forwarded x-forwarded-for x-forwarded-host x-forwarded-proto ' +
    'x-real-ip origin referer range if-range if-match if-none-match if-modified-since if-unmodified-since accept ' +
    'accept-encoding accept-language user-agent expect max-forwards location etag last-modified'
  ).split(' '),
);

function checkConnection(value: string): Refusal | null {
  // The values in nearly every request.
  if (value === 'keep-alive' || value === 'close') return null;
  for (const part of value.split(',')) {
    const option = part.trim();
    // RFC 9110, 5.6.1.2: empty list elements are parsed and ignored.
    if (option === '') continue;
    if (!token.test(option)) {
      return refusal(
        400,
        'connection-invalid',
        `Connection has something that is no option: ${quote(option)}.`,
      );
    }
    const name = option.toLowerCase();
    if (endToEnd.has(name) || isUnkeyed(name)) {
      return refusal(
        400,
        'connection-end-to-end',
        `Connection names ${quote(option)}, which is meant for everyone.`,
      );
    }
  }
  return null;
}

function checkHost(host: string | undefined, target: string, httpVersion: string): Refusal | null {
  if (host === undefined) {
    // RFC 9112, 3.2: a 1.1 request without Host is answered with 400.
    if (httpVersion === '1.0') return null;
    return refusal(400, 'host-missing', 'The request has no Host field.');
  }
  if (host === '') {
    // A client sends an empty Host for a target without an authority. Our URLs all have one (RFC
    // 9110, 4.2.1).
    if (target.charCodeAt(0) !== 0x2f) return null;
    return refusal(400, 'host-empty', 'The Host field is empty: expected the name of a host.');
  }
  const bad = checkAuthority(host, 'optional');
  return bad === null ? null : refusal(400, 'host-invalid', `The Host field is wrong. ${bad.message}`);
}

function checkFraming(
  method: string,
  httpVersion: string,
  contentLength: string | undefined,
  transferEncoding: string | undefined,
  limits: RequestLimits,
): Refusal | null {
  if (transferEncoding !== undefined) {
    // RFC 9112, 6.1: a message with both ought to be handled as an error.
    if (contentLength !== undefined) {
      return refusal(400, 'length-twice', 'The request has both Content-Length and Transfer-Encoding.');
    }
    // 6.1: in an HTTP/1.0 message, Transfer-Encoding makes the framing faulty.
    if (httpVersion === '1.0') {
      return refusal(400, 'transfer-encoding-1.0', 'Transfer-Encoding does not exist in HTTP/1.0.');
    }
    if (transferEncoding.toLowerCase() !== 'chunked') {
      // 6.1: 501 for a coding that is not understood. A malformed coding, or chunked in the wrong
      // place, is a bad request.
      const codings = transferEncoding.toLowerCase().split(',');
      const known =
        transferEncoding === transferEncoding.trim() && codings.every((coding) => token.test(coding.trim()));
      const early = codings.slice(0, -1).some((coding) => coding.trim() === 'chunked');
      return refusal(
        known && !early ? 501 : 400,
        'transfer-encoding',
        `Only "chunked" is accepted as Transfer-Encoding, got ${quote(transferEncoding)}.`,
      );
    }
    // RFC 9110, 9.3.6 and 9.3.8.
    if (method === 'CONNECT' || method === 'TRACE') {
      return refusal(400, 'body-not-allowed', `${method} has no body.`);
    }
    return null;
  }
  const value = contentLength!;
  if (!/^\d+$/.test(value)) {
    return refusal(400, 'content-length', `Content-Length must be a number, got ${quote(value)}.`);
  }
  const length = Number(value);
  if (length > 0 && (method === 'CONNECT' || method === 'TRACE')) {
    return refusal(400, 'body-not-allowed', `${method} has no body.`);
  }
  if (length > limits.requestBodyBytes) {
    return refusal(
      413,
      'body-too-large',
      `The body is too large: ${quote(value)} bytes, at most ${limits.requestBodyBytes} are accepted.`,
    );
  }
  return null;
}

/**
 * Gateways that put fields into environment variables (RFC 3875, 4.1.18) cannot tell `_` from `-`.
 */
function lookalike(name: string, real: string): Refusal {
  return refusal(400, 'header-lookalike', `The field ${quote(name)} could be taken for ${real}.`);
}
