/**
 * The HTTP side of a collector: questions in, answers out, everything limited
 * (docs/spec/traceback.md).
 *
 * Untrusted input. A client must know the token before its body is read. Bodies, headers,
 * connections, the time of a request and the number of questions have limits, and each refusal has
 * a code. The answers contain no digests and no key. The token goes over the network as it is, so a
 * collector that is asked from afar belongs behind TLS, SSH or a VPN.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Collector } from '../collector/collector.ts';
import { TracebackError } from '../traceback-error.ts';
import { parseSeenQuestion, parseSourceQuestion } from './question.ts';
import { type GateOptions, QuestionGate } from './question-gate.ts';

export interface DigestServiceOptions extends GateOptions {
  readonly collector: Collector;
  /** The shared secret of the clients that may ask, at least 16 characters. */
  readonly token: string;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
  /** Bytes of a question. Default 128 KiB: the largest packet in base64. */
  readonly mostBytes?: number;
  /** Milliseconds in which a question must have come in. Default 10,000; half of it for headers. */
  readonly requestMs?: number;
  /** Called with a sentence about an answer that failed; the client is told no reason. */
  readonly warn?: (message: string) => void;
}

/** A refusal: the status, a code for programs, and a sentence. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const REQUEST_MS = 10_000;
/** Node looks for connections that are late only this often; its default is 30 s. */
const MOST_LATE_MS = 1_000;
const MOST_CONNECTIONS = 128;
const LEAST_TOKEN = 16;

export class DigestService {
  readonly #options: DigestServiceOptions;
  readonly #server: Server;
  readonly #gate: QuestionGate;
  readonly #token: Buffer;

  private constructor(options: DigestServiceOptions) {
    if (options.token.length < LEAST_TOKEN) {
      throw new RangeError(
        `Cannot start the service: expected a token of at least ${LEAST_TOKEN} characters, got ${options.token.length}`,
      );
    }
    this.#options = options;
    this.#token = sha256(options.token);
    this.#gate = new QuestionGate(options, options.nowMs());
    const { requestMs = REQUEST_MS } = options;
    this.#server = createServer(
      {
        headersTimeout: requestMs / 2,
        requestTimeout: requestMs,
        connectionsCheckingInterval: Math.min(MOST_LATE_MS, requestMs),
        maxHeaderSize: 8192,
        keepAliveTimeout: 5_000,
      },
      (request, response) => void this.#handle(request, response),
    );
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** Listens. Rejects with the system's error if the port is taken. */
  static async start(options: DigestServiceOptions): Promise<DigestService> {
    const service = new DigestService(options);
    const { host, port } = options;
    await new Promise<void>((resolve, reject) => {
      service.#server.once('error', reject);
      service.#server.listen({ host, port }, resolve);
    });
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops taking questions, and waits for those that are being answered. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#answer(request);
      send(response, 200, answer, {});
    } catch (error) {
      if (error instanceof Refusal) this.#refuse(request, response, error);
      else if (error instanceof TracebackError) {
        send(response, 400, { error: { code: error.code, message: error.message } }, {});
      } else {
        // A client that left in the middle of its question fails as well.
        if (request.complete) this.#options.warn?.(`a question failed: ${(error as Error).message}`);
        send(response, 500, { error: { code: 'internal', message: 'The collector failed' } }, {});
      }
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse, { status, code, message }: Refusal): void {
    const headers: Record<string, string> = {};
    if (status === 401) headers['www-authenticate'] = 'Bearer';
    if (status === 429 || status === 503) headers['retry-after'] = String(this.#gate.retryAfterS);
    // The rest of a body is not read: the connection ends with the answer.
    if (!request.complete) headers.connection = 'close';
    send(response, status, { error: { code, message } }, headers);
    if (!request.complete) response.once('finish', () => request.destroy());
  }

  async #answer(request: IncomingMessage): Promise<unknown> {
    const { collector, nowMs } = this.#options;
    this.#checkToken(request);
    const path = (request.url ?? '').split('?')[0];
    const method = path === '/v1/status' ? 'GET' : 'POST';
    if (!['/v1/status', '/v1/seen', '/v1/source'].includes(path)) {
      throw new Refusal(404, 'path', 'Expected /v1/seen, /v1/source or /v1/status');
    }
    if (request.method !== method) throw new Refusal(405, 'method', `Expected ${method}`);
    const verdict = this.#gate.enter(nowMs());
    if (verdict === 'rate') throw new Refusal(429, 'rate', 'Too many questions per second');
    if (verdict === 'busy') throw new Refusal(503, 'busy', 'Too many questions at the same time');
    try {
      if (path === '/v1/status') return collector.status;
      const text = await this.#body(request);
      if (path === '/v1/source') {
        const { source, window } = parseSourceQuestion(text);
        return { ...(await collector.source(source, window)), coveredFromS: collector.status.coveredFromS };
      }
      const { packet, window } = parseSeenQuestion(text);
      const { changes, ...answer } = await collector.seen(packet, window);
      return {
        ...answer,
        coveredFromS: collector.status.coveredFromS,
        payloadBytes: collector.payloadBytes,
        changes: changes.map((form) => ({
          kind: form.kind,
          packet: Buffer.from(form.packet).toString('base64'),
        })),
      };
    } finally {
      this.#gate.leave();
    }
  }

  #checkToken({ headers: { authorization = '' } }: IncomingMessage): void {
    const given = /^Bearer (\S+)$/i.exec(authorization)?.[1] ?? '';
    // Hashes have the same length, so the comparison takes the same time for all tokens.
    if (timingSafeEqual(sha256(given), this.#token)) return;
    throw new Refusal(401, 'token', 'Expected the token of this collector');
  }

  async #body(request: IncomingMessage): Promise<string> {
    const { mostBytes = 128 * 1024 } = this.#options;
    const tooLong = new Refusal(413, 'body', `Expected at most ${mostBytes} bytes`);
    if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw tooLong;
    const parts: Buffer[] = [];
    let length = 0;
    for await (const part of request as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > mostBytes) throw tooLong;
      parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8');
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string>,
): void {
  const text = `${JSON.stringify(body)}\n`;
  if (response.destroyed) return;
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}
