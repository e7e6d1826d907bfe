/**
 * The requests of neighbours: reads a body within the limits, lets the service answer, and signs
 * the answer. The signature of a request was accepted before, so bytes of outsiders are never read.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Services } from '../link/services.ts';
import { MAX_MESSAGE_BYTES } from '../transport.ts';
import type { TransportErrorCode } from '../transport-error.ts';
import { ANSWER_FIELD, answerMac } from './answer-mac.ts';
import type { HttpLimits } from './http-limits.ts';
import { refuse } from './refusal.ts';
import { type AcceptedRequest, bodyDigest } from './signature.ts';

export class RequestServer {
  readonly #services: Services;
  readonly #limits: HttpLimits;
  /** Bytes of requests that have arrived and are not answered. */
  #held = 0;

  constructor(services: Services, limits: HttpLimits) {
    this.#services = services;
    this.#limits = limits;
  }

  /** Answers a request whose signature was accepted. */
  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    topic: string,
    accepted: AcceptedRequest,
  ): Promise<void> {
    if (!this.#services.has(topic)) return refuse(request, response, 'topic');
    const leave = this.#services.enter(accepted.node);
    if (leave === null) return refuse(request, response, 'busy');
    let held = 0;
    try {
      const read = await this.#read(request, (count) => {
        held += count;
        this.#held += count;
        return this.#held <= this.#limits.requestBytes;
      });
      if ('code' in read) return read.code === null ? undefined : refuse(request, response, read.code);
      if (bodyDigest(read.body) !== accepted.bodyDigest) return refuse(request, response, 'refused');
      const served = await this.#services.answer(topic, read.body, accepted.node);
      if ('refused' in served) return refuse(request, response, served.refused);
      if (served.body.length > MAX_MESSAGE_BYTES) return refuse(request, response, 'size');
      response.writeHead(200, {
        'content-type': 'application/octet-stream',
        'content-length': served.body.length,
        'cache-control': 'no-store',
        [ANSWER_FIELD]: answerMac(accepted.keys.response, accepted.nonce, 200, served.body),
      });
      response.end(served.body);
    } finally {
      this.#held -= held;
      leave();
    }
  }

  /**
   * Reads a body. `hold` counts bytes, and returns false if there are too many at once. The code is
   * null if the asker is gone.
   */
  async #read(
    request: IncomingMessage,
    hold: (count: number) => boolean,
  ): Promise<{ body: Uint8Array } | { code: TransportErrorCode | null }> {
    if (Number(request.headers['content-length'] ?? 0) > MAX_MESSAGE_BYTES) return { code: 'size' };
    return new Promise((resolve) => {
      const pieces: Buffer[] = [];
      let count = 0;
      const stop = (code: TransportErrorCode | null) => {
        request.removeAllListeners('data');
        resolve({ code });
      };
      request.on('data', (piece: Buffer) => {
        pieces.push(piece);
        count += piece.length;
        if (!hold(piece.length)) stop('busy');
        else if (count > MAX_MESSAGE_BYTES) stop('size');
      });
      request.on('end', () => resolve({ body: Buffer.concat(pieces) }));
      request.on('error', () => stop(null));
      request.on('close', () => stop(null));
    });
  }
}
