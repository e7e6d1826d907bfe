/**
 * Requests that end at this node although they are well-formed: OPTIONS and TRACE with
 * `Max-Forwards: 0` (RFC 9110, 7.6.2), and `OPTIONS *`, which asks about the server itself. For
 * requests that are forwarded, Max-Forwards is decremented here.
 */

import { fieldValue, isNamed, withoutFields } from '../../policy/index.ts';
import type { FieldList } from '../../policy/stored-response.ts';
import type { Exchange } from './exchange.ts';

/** The fields to forward, or null if the request was answered here. */
export function countForwards(exchange: Exchange): FieldList | null {
  const { method, headers } = exchange.request;
  if (method !== 'OPTIONS' && method !== 'TRACE') return headers;
  const left = fieldValue(headers, 'max-forwards');
  // 7.6.2: the field is ignored if it is not a number.
  if (left === undefined || !/^\d{1,9}$/.test(left)) return headers;
  if (Number(left) === 0) {
    if (method === 'TRACE') echo(exchange);
    else answerOptions(exchange);
    return null;
  }
  return headers.map((text, at) =>
    at % 2 === 1 && isNamed(headers[at - 1]!, 'max-forwards') ? String(Number(left) - 1) : text,
  );
}

/** Answers with the methods that this node itself supports. */
export function answerOptions(exchange: Exchange): void {
  exchange.outcome = 'bypass';
  exchange.reason = 'own';
  exchange.res.writeHead(204, ['Allow', 'GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE']);
  exchange.res.end();
}

/** 9.3.8: the request as it came, without secrets. */
function echo(exchange: Exchange): void {
  const { req, res } = exchange;
  const fields = withoutFields(req.rawHeaders, SECRET);
  let text = `TRACE ${req.url} HTTP/${req.httpVersion}\r\n`;
  for (let at = 0; at < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  const body = Buffer.from(`${text}\r\n`, 'latin1');
  exchange.outcome = 'bypass';
  exchange.reason = 'own';
  exchange.bytesOut = body.length;
  res.writeHead(200, ['Content-Type', 'message/http', 'Content-Length', String(body.length)]);
  res.end(body);
}

const SECRET: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'www-authenticate',
]);
