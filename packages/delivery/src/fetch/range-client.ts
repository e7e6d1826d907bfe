/**
 * Ranges of a file over HTTP, from peers and from the origin. The answer must be exactly the range
 * that was asked for. More bytes than that end the connection, so a source costs at most one block
 * of memory per request.
 */

import { Agent, type Dispatcher, interceptors, request } from 'undici';
import { DeliveryError } from '../delivery-error.ts';
import type { TokenBucket } from '../serve/token-bucket.ts';

/** The reason why a range did not come. */
export class RangeProblem extends Error {
  override readonly name = 'RangeProblem';
  /**
   * `busy`: the source may be asked later; `lacks`: it does not have the range; `broken`: no
   * answer, or an incomplete one; `against`: an answer that the protocol does not allow.
   */
  readonly kind: 'busy' | 'lacks' | 'broken' | 'against';
  readonly busyMs: number;

  constructor(kind: RangeProblem['kind'], message: string, busyMs = 0, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.busyMs = busyMs;
  }
}

export interface RangeClientOptions {
  /** Time to connect, and time without any byte. */
  readonly connectMs: number;
  readonly stallMs: number;
  /** Time for one whole range. */
  readonly rangeMs: number;
  readonly connections: number;
  /** The limit of all downloads together. */
  readonly bucket: TokenBucket | null;
  /** Called with the number of bytes whenever some come, even if they are dropped later. */
  readonly came: (bytes: number) => void;
}

const LEAST_BUSY_MS = 100;
const MOST_BUSY_MS = 10_000;
const MOST_REDIRECTS = 5;
const MOST_REFUSAL_BYTES = 16 * 1024;

export class RangeClient {
  readonly #options: RangeClientOptions;
  readonly #agent: Agent;
  readonly #following: Dispatcher;

  constructor(options: RangeClientOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connections: options.connections,
      pipelining: 1,
      connect: { timeout: options.connectMs },
      headersTimeout: options.rangeMs,
      bodyTimeout: options.stallMs,
      maxHeaderSize: 16 * 1024,
    });
    this.#following = this.#agent.compose(interceptors.redirect({ maxRedirections: MOST_REDIRECTS }));
  }

  get agent(): Agent {
    return this.#agent;
  }

  /** Bytes `start` to `start + length` of the file at a URL. Throws a RangeProblem. */
  async range(url: string, start: number, length: number, signal: AbortSignal): Promise<Buffer> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#options.rangeMs)]);
    try {
      const answer = await this.#ask(url, start, length, limit);
      const { statusCode, headers, body } = answer;
      if (statusCode !== 206) {
        await body.dump({ limit: MOST_REFUSAL_BYTES, signal: limit }).catch(() => {});
        throw problemOf(url, statusCode, headers['retry-after']);
      }
      if (!String(headers['content-range']).startsWith(`bytes ${start}-${start + length - 1}/`)) {
        discard(body);
        throw new RangeProblem('against', `${url} sent the range ${headers['content-range']}`);
      }
      return await this.#read(url, body, length);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RangeProblem) throw error;
      throw new RangeProblem('broken', `${url}: ${(error as Error).message}`, 0, { cause: error });
    }
  }

  /** The size of the file at a URL, by a range of one byte. Throws a DeliveryError. */
  async sizeOf(url: string, signal: AbortSignal): Promise<number> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#options.rangeMs)]);
    const { statusCode, headers, body } = await this.#ask(url, 0, 1, limit);
    const [, total] = /^bytes (?:0-0|\*)\/(\d{1,15})$/.exec(String(headers['content-range'])) ?? [];
    const refuse = (reason: string) => new DeliveryError('origin', `fetch from ${url}`, reason);
    if (statusCode === 206 && total !== undefined) {
      await body.dump();
      return Number(total);
    }
    discard(body);
    if (statusCode === 416 && total === '0') return 0;
    if (statusCode === 200 && headers['content-length'] === '0') return 0;
    if (statusCode === 200) throw refuse('expected ranges, but the server sends only the whole file');
    throw refuse(`expected a range, got status ${statusCode}`);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #ask(url: string, start: number, length: number, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return request(url, {
      dispatcher: this.#following,
      headers: { Range: `bytes=${start}-${start + length - 1}`, 'Accept-Encoding': 'identity' },
      signal,
    });
  }

  async #read(url: string, body: AsyncIterable<Buffer>, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    let at = 0;
    for await (const piece of body) {
      this.#options.came(piece.length);
      if (at + piece.length > length) throw new RangeProblem('against', `${url} sent more than the range`);
      bytes.set(piece, at);
      at += piece.length;
      await this.#options.bucket?.take(piece.length);
    }
    if (at < length) throw new RangeProblem('broken', `${url} sent ${at} of ${length} bytes`);
    return bytes;
  }
}

function problemOf(url: string, status: number, retryAfter: unknown): RangeProblem {
  const text = `${url} answered ${status}`;
  if (status === 503 || status === 429) {
    const ms = 1000 * Number(retryAfter);
    return new RangeProblem('busy', text, Math.min(MOST_BUSY_MS, ms > LEAST_BUSY_MS ? ms : LEAST_BUSY_MS));
  }
  return new RangeProblem(status === 404 || status === 416 ? 'lacks' : 'broken', text);
}

/** Ends an answer whose bytes are not wanted, without an error that no caller waits for. */
export function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {});
  body.destroy();
}
