/**
 * The answer to a client that is not served: a status, a code for programs and a sentence for
 * people. It is always plain text, never HTML. Input from the client is quoted as JSON and
 * truncated, so that it cannot be mistaken for text of this node.
 */

import type { ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';

export interface Refusal {
  readonly status: number;
  /** Stable, in kebab-case: for logs and metrics. */
  readonly code: string;
  readonly message: string;
}

export function refusal(status: number, code: string, message: string): Refusal {
  return { status, code, message };
}

/** Quotes a piece of the input, safe for use in a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text).replace(
    // JSON leaves DEL and above as they are; the message is sent as ASCII.
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Answers and closes the connection: after a request that was not understood, it is unknown where
 * the next one begins.
 */
export function sendRefusal(res: ServerResponse, why: Refusal): void {
  const body = `${why.message}\n`;
  res.writeHead(why.status, [
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'Proxy-Status',
    `bloomery; error=http_request_error; details="${why.code}"`,
    'Connection',
    'close',
  ]);
  res.end(body);
}

/** The same answer as bytes, for sockets without a response object: parser errors and CONNECT. */
export function refusalBytes(why: Refusal): Buffer {
  const body = `${why.message}\n`;
  const head = [
    `HTTP/1.1 ${why.status} ${STATUS_CODES[why.status] ?? 'Refused'}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `Proxy-Status: bloomery; error=http_request_error; details="${why.code}"`,
    'Connection: close',
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
