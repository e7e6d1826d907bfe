/**
 * Refusals on the peer port: a status and a word in the field `Bloomery-Refused`, which the asker
 * turns into the code of its error. Nothing else is told, and there is no body.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isErrorCode } from '../link/pending-request.ts';
import type { TransportErrorCode } from '../transport-error.ts';
import type { SignatureRefusal } from './signature.ts';

const REFUSED_FIELD = 'bloomery-refused';

/** Codes that a node tells another. */
const STATUSES: Partial<Record<TransportErrorCode, number>> = {
  refused: 403,
  certificate: 403,
  clock: 403,
  replayed: 403,
  peer: 421,
  topic: 404,
  size: 413,
  version: 400,
  busy: 503,
  closed: 503,
  failed: 500,
};

/** A longer body of a refused request is not read: the connection is closed. */
const READ_BYTES = 64 * 1024;

/** Refuses a request. */
export function refuse(request: IncomingMessage, response: ServerResponse, code: TransportErrorCode): void {
  const length = Number(request.headers['content-length'] ?? Number.NaN);
  const isShort = request.method === 'GET' || request.complete || length <= READ_BYTES;
  if (isShort) request.resume();
  else response.once('finish', () => request.destroy());
  response.writeHead(STATUSES[code] ?? 500, {
    [REFUSED_FIELD]: code,
    'content-length': 0,
    'cache-control': 'no-store',
    ...(isShort ? {} : { connection: 'close' }),
  });
  response.end();
}

/** The code for a signature that was not accepted. */
export function signatureCode(refused: SignatureRefusal): TransportErrorCode {
  if (refused === 'receiver') return 'peer';
  return refused === 'clock' || refused === 'replayed' || refused === 'certificate' ? refused : 'refused';
}

/** The code of an answer that is no success. A proxy between the nodes sends none. */
export function refusalIn(response: IncomingMessage): TransportErrorCode {
  const word = response.headers[REFUSED_FIELD];
  return typeof word === 'string' && isErrorCode(word) ? word : 'unreachable';
}
