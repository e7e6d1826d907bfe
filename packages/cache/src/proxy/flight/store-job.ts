/**
 * A response that is being stored, for all clients that want it. Its bytes are counted, possibly
 * combined with those of an old part, and committed at the end, unless a better response is stored
 * by then.
 *
 * A better response is one of the same variant that the origin gave later, although its body ended
 * sooner (a reload that overtook a slow download), or the complete response of which this is a
 * part. An invalidation of the key in the meantime (`flight.doomed`) also prevents the commit. The
 * readers get all of it in any case.
 *
 * An old part may be evicted at any time. It is therefore opened before the first new byte is
 * accepted, because an open body stays readable. If it is already gone, no client has received
 * anything yet, and the whole is requested.
 */

import { withBody } from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { BodyError, type BodyReader } from '../../store/response-store.ts';
import { sameVariant } from '../../store/variants.ts';
import { OriginError } from '../origin/origin-error.ts';
import type { SourceFetch } from '../response-source.ts';
import { copyInto, FlightBody } from './flight-body.ts';
import type { ProxyContext, ProxyFlight } from './shared-response.ts';

export interface StoreJobOptions {
  /** The response to store, except for its length. */
  readonly final: StoredResponse;
  /** Length of the stored body, if it is known. */
  readonly length: number | undefined;
  /** Bytes that must come from the origin, or null if its head does not say. */
  readonly expected: number | null;
  readonly flight: ProxyFlight;
  /** The source of the body. If it computes the digest of the bytes, the store need not. */
  readonly fetch: SourceFetch;
}

interface OldBytes {
  readonly stored: StoredResponse;
  readonly reader: BodyReader;
  /** The first piece that the reader returned. */
  readonly first: Uint8Array | null;
}

export class StoreJob {
  readonly body: FlightBody;
  readonly #context: ProxyContext;
  readonly #options: StoreJobOptions;
  #came = 0;
  /** No more bytes are taken: the body failed, or it was abandoned. */
  #over = false;
  /** Bytes of an old part that follow the new ones. */
  #after: OldBytes | null = null;

  constructor(context: ProxyContext, options: StoreJobOptions) {
    const { limits, store, timers } = context;
    const { fetch, final, length } = options;
    this.#context = context;
    this.#options = options;
    const abandoned = (): void => {
      fetch.abort();
      this.#letGo();
      this.#endFlight();
    };
    // A client that delays others has a twelfth of the time of one that delays none.
    const holdMs = Math.ceil(limits.clientStallMs / 12);
    const digest = fetch.bodyDigest ?? null;
    const writer = store.create(final.key, length, digest === null ? {} : { digest });
    this.body = new FlightBody(writer, limits.storedObjectBytes, abandoned, { holdMs, timers });
  }

  /** Takes bytes from the origin. */
  take(chunk: Buffer): void {
    const { expected, fetch } = this.#options;
    this.#came += chunk.length;
    // Content-Range may state the length where Content-Length does not, and only this code checks
    // it.
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

  /** The body is incomplete, and no more bytes will arrive. */
  fail(error: Error): void {
    this.#letGo();
    this.body.fail(error);
  }

  #letGo(): void {
    this.#over = true;
    this.#after?.reader.close();
    this.#after = null;
  }

  /** The origin has sent everything. Returns an error if the length is wrong. */
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

  /**
   * Combines two parts into a larger one: the old bytes are copied before or after the new ones.
   */
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
        if (this.#over) {
          for (const one of [head, tail]) one?.reader.close();
          return;
        }
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
    const { store, observer } = this.#context;
    // `gone` means that the old part was evicted before it could be opened, which is not an error.
    const code = problem instanceof BodyError ? problem.code : 'unknown';
    const { key } = stored;
    observer.event(code === 'gone' ? 'debug' : 'warn', 'stored-body-failed', { key, code, problem });
    Promise.resolve(store.remove(stored)).catch((failure) => this.#storeFailed(failure));
    this.#options.fetch.abort();
    this.fail(problem instanceof Error ? problem : new Error(String(problem)));
    this.#endFlight();
  }

  #commit(): void {
    const final = withBody(this.#options.final, this.body.length);
    // The complete response may have been stored while this part arrived.
    const found = final.range === null ? [] : this.#context.store.find(final.key);
    if (!(found instanceof Promise)) this.#commitBeside(found, final);
    else found.catch(() => []).then((there) => this.#commitBeside(there, final));
  }

  #commitBeside(there: readonly StoredResponse[], final: StoredResponse): void {
    const { flight } = this.#options;
    const { body } = this;
    if (flight.doomed || there.some((stored) => isPartOf(final, stored))) body.discard('overtaken');
    else this.#context.flights.doomWorse(flight, ({ response }) => isWorse(response, final));
    const failed = (problem: unknown): void => {
      this.#storeFailed(problem);
      this.#endFlight();
    };
    try {
      const kept = body.end(final);
      if (typeof kept === 'boolean') this.#endFlight();
      else kept.then(() => this.#endFlight(), failed);
    } catch (problem) {
      failed(problem);
    }
  }

  /** No request joins any more: the response is in the store, or it never will be. */
  #endFlight(): void {
    this.#context.flights.end(this.#options.flight);
  }

  #storeFailed(problem: unknown): void {
    this.#context.observer.event('error', 'store-failed', { key: this.#options.final.key, problem });
  }
}

/** Whether a response that is being fetched must not replace one that is stored now. */
function isWorse(coming: StoredResponse, stored: StoredResponse): boolean {
  if (!sameVariant(coming, stored)) return false;
  return coming.responseTime < stored.responseTime || isPartOf(coming, stored);
}

function isPartOf(part: StoredResponse, whole: StoredResponse): boolean {
  return part.range !== null && whole.range === null && part.etag === whole.etag && sameVariant(part, whole);
}
