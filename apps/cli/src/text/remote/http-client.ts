/**
 * Sends requests to servers of logs: with a bound on parallel ones, some attempts, redirects, and
 * credentials that go only to the origin that the user named.
 *
 * We use undici, which the cache has already. `fetch` would unpack a body with `Content-Encoding:
 * gzip`, and servers give that field to files that are gzip on their disk. undici gives the bytes
 * as they were sent, and knows the proxies of the environment.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import { RemoteError } from './remote-error.ts';

/** Sums over all requests. */
export interface Traffic {
  requests: number;
  /** Bytes of bodies that were received. */
  downloaded: number;
}

export interface ClientOptions {
  /** Fields for the origin that the user named, as `Authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The origin that gets them. */
  readonly origin: string;
  readonly traffic: Traffic;
}

export interface Question {
  readonly url: URL;
  readonly method: 'GET' | 'HEAD';
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  /** The value of a field, or null. */
  header(name: string): string | null;
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the answer. Bytes that did not come yet are not waited for. */
  close(): void;
}

/** Requests at a time, as browsers have them for one server. */
const MOST_PARALLEL = 6;
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;
/** A server that asks for more patience (`Retry-After`) gets this much. */
const MOST_PAUSE_MS = 5000;
const MOST_REDIRECTS = 5;
/** The time without any byte after which an attempt has failed. */
const IDLE_MS = 30_000;
/** Statuses that may be others a moment later. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);

export class HttpClient {
  readonly #options: ClientOptions;
  readonly #dispatcher: Dispatcher = new EnvHttpProxyAgent({
    connections: MOST_PARALLEL,
    connect: { timeout: 10_000 },
  });
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get traffic(): Traffic {
    return this.#options.traffic;
  }

  /**
   * Asks until there is an answer, and has `take` read it. A body that breaks off is asked for
   * again.
   */
  async ask<T>(question: Question, take: (answer: Answer) => Promise<T> | T): Promise<T> {
    return this.#patiently(question, async () => {
      const answer = await this.#answer(question);
      try {
        return await take(answer);
      } finally {
        answer.close();
      }
    });
  }

  /** Asks until there is an answer, which the caller reads and closes. */
  async open(question: Question): Promise<Answer> {
    return this.#patiently(question, () => this.#answer(question));
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #patiently<T>({ url }: Question, attempt: () => Promise<T>): Promise<T> {
    for (let i = 1; ; i++) {
      try {
        return await attempt();
      } catch (error) {
        const wait = waitAfter(error, i);
        if (wait === null) throw asRemoteError(error, url, i);
        await pause(wait);
      }
    }
  }

  async #answer(question: Question): Promise<Answer> {
    await this.#enter();
    let isLeft = false;
    const leave = () => {
      if (!isLeft) this.#leave();
      isLeft = true;
    };
    try {
      const response = await this.#follow(question);
      return this.#readable(response, question, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  #readable(response: Dispatcher.ResponseData, { url, method }: Question, leave: () => void): Answer {
    const { traffic } = this.#options;
    const header = (name: string) => fieldOf(response, name);
    const close = () => {
      drop(response, method);
      leave();
    };
    if (PASSING.has(response.statusCode)) {
      drop(response, 'HEAD');
      throw new PassingStatus(url, response.statusCode, header('retry-after'));
    }
    async function* body(): AsyncGenerator<Uint8Array> {
      for await (const bytes of response.body as AsyncIterable<Uint8Array>) {
        traffic.downloaded += bytes.length;
        yield bytes;
      }
    }
    return { status: response.statusCode, header, body: body(), close };
  }

  /** Follows redirects. Another origin gets no credentials, and encryption is not given up. */
  async #follow({ url, method, headers }: Question): Promise<Dispatcher.ResponseData> {
    const { origin, headers: ours, traffic } = this.#options;
    let at = url;
    for (let i = 0; i <= MOST_REDIRECTS; i++) {
      traffic.requests++;
      const response = await request(at.href, {
        method,
        dispatcher: this.#dispatcher,
        headers: {
          'user-agent': 'bloomery',
          'accept-encoding': 'identity',
          ...headers,
          ...(at.origin === origin ? ours : {}),
        },
        headersTimeout: IDLE_MS,
        bodyTimeout: IDLE_MS,
      });
      const location = fieldOf(response, 'location');
      if (![301, 302, 303, 307, 308].includes(response.statusCode) || location === null) return response;
      drop(response, 'HEAD');
      const next = URL.canParse(location, at.href) ? new URL(location, at.href) : null;
      if (next === null || !/^https?:$/.test(next.protocol) || next.username !== '')
        throw new RemoteError('protocol', `Cannot read ${shown(url)}: it redirects to no address`);
      if (at.protocol === 'https:' && next.protocol === 'http:')
        throw new RemoteError('protocol', `Cannot read ${shown(url)}: it redirects from https to http`);
      at = next;
    }
    throw new RemoteError(
      'protocol',
      `Cannot read ${shown(url)}: expected at most ${MOST_REDIRECTS} redirects, got more`,
    );
  }

  async #enter(): Promise<void> {
    if (this.#running >= MOST_PARALLEL) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
  }

  /** Gives the place to the next question, or frees it. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

/** An address without user, password and query, which may be credentials. */
export function shown(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

function fieldOf({ headers }: Dispatcher.ResponseData, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Ends an answer. A short one is read to its end, because that keeps the connection. */
function drop({ body }: Dispatcher.ResponseData, method: Question['method']): void {
  body.on('error', () => {});
  if (method === 'HEAD') body.dump({ limit: 1 << 16 }).catch(() => {});
  else body.destroy();
}

class PassingStatus extends RemoteError {
  readonly retryAfter: number;

  constructor(url: URL, status: number, retryAfter: string | null) {
    super('status', `Cannot read ${shown(url)}: the server answered with status ${status}`);
    this.retryAfter = 1000 * Number(retryAfter ?? 0) || 0;
  }
}

/** The pause before the next attempt, or null if there is none. */
function waitAfter(error: unknown, attempts: number): number | null {
  if (attempts >= ATTEMPTS) return null;
  const isPassing = error instanceof PassingStatus;
  if (error instanceof RemoteError && !isPassing) return null;
  const { code } = error as { code?: unknown };
  if (!isPassing && (typeof code !== 'string' || code === 'ENOTFOUND' || code.startsWith('ERR_')))
    return null;
  if (isCertificateCode(code)) return null;
  const least = FIRST_PAUSE_MS * 2 ** (attempts - 1) * (0.5 + Math.random());
  return Math.min(MOST_PAUSE_MS, Math.max(least, isPassing ? error.retryAfter : 0));
}

/** Codes of OpenSSL for a certificate that is refused; a later attempt gets the same one. */
function isCertificateCode(code: unknown): boolean {
  return typeof code === 'string' && /CERT|LEAF_SIGNATURE/.test(code);
}

/** Codes for a certificate that may be sound, from an authority that this machine does not know. */
const UNKNOWN_AUTHORITY = /SELF_SIGNED|LEAF_SIGNATURE|GET_ISSUER_CERT/;

function asRemoteError(error: unknown, url: URL, attempts: number): unknown {
  const { code, message } = error as { code?: unknown; message?: string };
  if (error instanceof RemoteError || typeof code !== 'string') return error;
  const tried = attempts === 1 ? '' : `, after ${attempts} attempts`;
  const advice = UNKNOWN_AUTHORITY.test(code) ? '; NODE_EXTRA_CA_CERTS=FILE names another authority' : '';
  return new RemoteError(
    'unreachable',
    `Cannot read ${shown(url)}: ${message ?? code} (${code}${tried})${advice}`,
    { cause: error },
  );
}
