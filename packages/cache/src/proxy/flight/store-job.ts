/**
 * A response on its way into the store, for all who want it: its bytes are counted, perhaps joined with those of an old part, and committed at the end, unless
 * something better is stored by then.
 *
 * What is better: a response of the same variant that the origin gave later, though its body ended sooner (a reload that overtook a slow download), and the whole
 * of which this is a part. An invalidation of the key meanwhile (`flight.doomed`) is a reason as well. Those who read it get all of it in any case.
 *
 * An old part may be evicted at any time. So it is opened before the first new byte is let through, and what is open stays readable: if it is gone by then, nobody
 * has got anything yet, and all of it is asked for.
 */

import { withBody } from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { BodyReader } from '../../store/response-store.ts';
import { sameVariant } from '../../store/variants.ts';
import { OriginError } from '../origin/origin-error.ts';
import type { OriginFetch } from '../origin/origin-fetch.ts';
import type { Flight } from './flight.ts';
import { copyInto, FlightBody } from './flight-body.ts';
import type { ProxyContext, SharedResponse } from './shared-response.ts';

export interface StoreJobOptions {
  /** What will be stored, but for its length. */
  readonly final: StoredResponse;
  /** Bytes that there will be in the store, if that is known. */
  readonly length: number | undefined;
  /** Bytes that must come from the origin; null: its head does not say. */
  readonly expected: number | null;
  readonly flight: Flight<SharedResponse>;
  readonly fetch: OriginFetch;
  /** It is stored, or given up. */
  readonly over: () => void;
}

interface OldBytes {
  readonly stored: StoredResponse;
  readonly reader: BodyReader;
  /** What the reader gave first. */
  readonly first: Uint8Array | null;
}

export class StoreJob {
  readonly body: FlightBody;
  readonly #context: ProxyContext;
  readonly #options: StoreJobOptions;
  #came = 0;
  /** Bytes of an old part that follow the new ones. */
  #after: OldBytes | null = null;

  constructor(context: ProxyContext, options: StoreJobOptions) {
    const { limits, store } = context;
    const { fetch, over, final, length } = options;
    this.#context = context;
    this.#options = options;
    const abandoned = (): void => {
      fetch.abort();
      this.#letGo();
      over();
    };
    // A client that holds up others has less time than one that holds up none: of two minutes, ten seconds.
    const holdMs = Math.ceil(limits.clientStallMs / 12);
    const writer = store.create(final.key, length);
    this.body = new FlightBody(writer, limits.storedObjectBytes, abandoned, holdMs);
  }

  /** Bytes from the origin. */
  take(chunk: Buffer): void {
    const { expected, fetch } = this.#options;
    this.#came += chunk.length;
    // Content-Range may say how long it is where Content-Length does not, and nobody else counts.
    if (expected !== null && this.#came > expected) {
      const problem = `Expected ${expected} bytes by Content-Range, got more`;
      fetch.fail(new OriginError('http_protocol_error', problem));
      return;
    }
    const wait = this.body.write(chunk);
    if (wait === undefined) return;
    fetch.pause();
    wait.then(() => fetch.resume());
  }

  /** What came is not all, and no more will. */
  fail(error: Error): void {
    this.#letGo();
    this.body.fail(error);
  }

  #letGo(): void {
    this.#after?.reader.close();
    this.#after = null;
  }

  /** The origin has sent all. Gives what is wrong with that. */
  end(): OriginError | null {
    const { expected } = this.#options;
    if (expected !== null && this.#came < expected) {
      return new OriginError('http_response_incomplete', `Expected ${expected} bytes, got ${this.#came}`);
    }
    const after = this.#after;
    this.#after = null;
    if (after === null) this.#commit();
    else {
      this.#copy(after)
        .then(() => this.#commit())
        .catch((problem: unknown) => this.#oldBytesFailed(after.stored, problem));
    }
    return null;
  }

  /** Two parts make a larger one: the old one's bytes are copied before or after those that come. */
  combine(
    stored: StoredResponse,
    pieces: readonly { readonly from: 'old' | 'new'; readonly start: number; readonly end: number }[],
  ): void {
    const { fetch } = this.#options;
    const before = pieces[0]!.from === 'old' ? pieces[0]! : null;
    const after = pieces.length > 1 && pieces.at(-1)!.from === 'old' ? pieces.at(-1)! : null;
    fetch.pause();
    const opening = [before, after].map((piece) => (piece === null ? null : this.#open(stored, piece)));
    Promise.all(opening)
      .then(async ([head, tail]) => {
        this.#after = tail ?? null;
        if (head) await this.#copy(head);
        fetch.resume();
      })
      .catch((problem: unknown) => {
        for (const one of opening) one?.then(({ reader }) => reader.close()).catch(() => {});
        this.#oldBytesFailed(stored, problem);
      });
  }

  async #open(
    stored: StoredResponse,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<OldBytes> {
    const reader = this.#context.store.read(stored, start, end);
    return { stored, reader, first: await reader.next() };
  }

  async #copy({ reader, first }: OldBytes): Promise<void> {
    try {
      if (first !== null) await this.body.write(first);
      await copyInto(this.body, reader);
    } finally {
      reader.close();
    }
  }

  #oldBytesFailed(stored: StoredResponse, problem: unknown): void {
    const { store } = this.#context;
    this.#event('warn', 'stored-body-failed', problem);
    Promise.resolve(store.remove(stored)).catch((failure) => this.#event('error', 'store-failed', failure));
    this.#options.fetch.abort();
    this.fail(problem instanceof Error ? problem : new Error(String(problem)));
    this.#options.over();
  }

  #commit(): void {
    const final = withBody(this.#options.final, this.body.length);
    // The whole may have come while this part was on its way.
    const found = final.range === null ? [] : this.#context.store.find(final.key);
    if (!(found instanceof Promise)) this.#commitBeside(found, final);
    else found.catch(() => []).then((there) => this.#commitBeside(there, final));
  }

  #commitBeside(there: readonly StoredResponse[], final: StoredResponse): void {
    const { flight, over } = this.#options;
    const { body } = this;
    if (flight.doomed || there.some((stored) => isPartOf(final, stored))) body.discard();
    else this.#context.flights.doomWorse(flight, ({ response }) => isWorse(response, final));
    const failed = (problem: unknown): void => {
      this.#event('error', 'store-failed', problem);
      over();
    };
    try {
      const kept = body.end(final);
      if (typeof kept === 'boolean') over();
      else kept.then(over, failed);
    } catch (problem) {
      failed(problem);
    }
  }

  #event(level: 'warn' | 'error', name: string, problem: unknown): void {
    this.#context.observer.event(level, name, { key: this.#options.final.key, problem });
  }
}

/** Whether a response on its way must not take the place of one that is stored now. */
function isWorse(coming: StoredResponse, stored: StoredResponse): boolean {
  if (!sameVariant(coming, stored)) return false;
  return coming.responseTime < stored.responseTime || isPartOf(coming, stored);
}

function isPartOf(part: StoredResponse, whole: StoredResponse): boolean {
  return part.range !== null && whole.range === null && part.etag === whole.etag && sameVariant(part, whole);
}
