/**
 * A source whose bodies are compared with the digest that they must have. It stands between a fetch
 * (`flight/fetch-job.ts`) and each of its sources: the neighbours and the origin alike.
 *
 * ```
 *   asking ──head──► plain       no digest is known: everything passes as it comes
 *     │        ├───► holding     up to 1 MB: head and body wait for the end of the body
 *     │        │        │ right: both are passed on      │ wrong: an error before the head,
 *     │        │        ▼                                ▼ so the fetch asks its next source
 *     │        └───► streaming   longer: passed on while it arrives, all but the newest piece
 *     │                 │ right: that piece and the end  │ wrong: an error, the last piece is
 *     │                 ▼                                ▼ dropped and the answers are cut
 *     └─ error       over                              over
 * ```
 *
 * So a client never gets a complete body with a wrong digest: a short one is replaced by that of
 * the next source before the first byte, a long one ends without its last bytes, and the client's
 * retry asks other sources. A wrong body is not stored, because its end never comes.
 *
 * Only a 200 to a GET is checked. A part (206) has no digest of its own, so it passes as it is, and
 * so does a HEAD. Parts come from the origin alone, and so does a whole that is combined from
 * parts.
 *
 * A digest in the URL is that of the content without a coding. If the origin sends a content
 * coding, its response passes unchecked; with a `Repr-Digest`, which covers the coding, it is
 * checked by that. From a neighbour, only a 200 without a coding is accepted for a key with a
 * digest, because otherwise a forger had only to add the field. `Repr-Digest` counts only if the
 * origin sent it to this node: a neighbour that forges a body forges the field as well.
 *
 * We refused to compare in the store alone, before the commit: a response that is not stored would
 * pass unchecked, and a short one could not be replaced.
 */

import { fieldValue, fieldValues } from '../../policy/fields.ts';
import type { ResponseHead } from '../../policy/message-head.ts';
import { type NamedDigest, reprDigests } from '../../policy/named-digest.ts';
import { expectedBodyLength } from '../../policy/storing.ts';
import { OriginError } from '../origin/origin-error.ts';
import type { ResponseSource, SourceFetch, SourceHandler, SourceRequest } from '../response-source.ts';
import { BodyCheck, type WrongDigestError } from './body-check.ts';
import type { DigestBook } from './digest-book.ts';
import type { MetadataReader } from './metadata-reader.ts';

/** Called for a wrong body. `source` is the name of the source that sent it. */
export type WrongBody = (source: string, error: WrongDigestError) => void;

export class VerifiedSource implements ResponseSource {
  readonly name: string;
  readonly isNeighbour: boolean;
  readonly #source: ResponseSource;
  readonly #key: string;
  readonly #book: DigestBook;
  readonly #wrong: WrongBody;

  constructor(source: ResponseSource, key: string, book: DigestBook, wrong: WrongBody) {
    this.name = source.name;
    this.isNeighbour = source.isNeighbour ?? false;
    this.#source = source;
    this.#key = key;
    this.#book = book;
    this.#wrong = wrong;
  }

  /**
   * This is read from the source each time, because a source may decide it with the head of a
   * response.
   */
  get copies(): boolean {
    return this.#source.copies ?? false;
  }

  ask(request: SourceRequest, handler: SourceHandler): SourceFetch {
    const source = this.#source;
    if (request.method !== 'GET' || fieldValue(request.headers, 'range') !== undefined)
      return source.ask(request, handler);
    const expected = this.#book.expected(this.#key);
    // A digest that only a neighbour states proves nothing.
    if (this.isNeighbour && expected === null) return source.ask(request, handler);
    const { isNeighbour } = this;
    const options = { key: this.#key, isNeighbour, expected, book: this.#book, handler };
    const fetch = new VerifiedFetch(options, (error) => this.#wrong(this.name, error));
    fetch.source = source.ask(request, fetch);
    return fetch;
  }
}

interface VerifiedFetchOptions {
  readonly key: string;
  readonly isNeighbour: boolean;
  /** The digest that is known before the head, or null. */
  readonly expected: NamedDigest | null;
  readonly book: DigestBook;
  readonly handler: SourceHandler;
}

class VerifiedFetch implements SourceFetch, SourceHandler {
  source!: SourceFetch;
  readonly #options: VerifiedFetchOptions;
  readonly #handler: SourceHandler;
  readonly #wrong: (error: WrongDigestError) => void;
  #state: 'asking' | 'plain' | 'holding' | 'streaming' | 'over' = 'asking';
  #head: ResponseHead | null = null;
  #check: BodyCheck | null = null;
  /** Reads the body as well, if it is metadata. */
  #reader: MetadataReader | null = null;
  /** Bytes that have not been passed on. */
  #queue: Buffer[] = [];
  /** Bytes that are counted as held. */
  #held = 0;
  /** The trailers of a body that has ended and is right. */
  #ended: string[] | null = null;
  #paused = false;

  constructor(options: VerifiedFetchOptions, wrong: (error: WrongDigestError) => void) {
    this.#options = options;
    this.#handler = options.handler;
    this.#wrong = wrong;
  }

  get bodyDigest(): (() => Uint8Array) | null {
    const check = this.#check;
    return check?.hasSha256 ? () => check.sha256() : null;
  }

  abort(): void {
    this.#over();
    this.source.abort();
  }

  fail(error: OriginError): void {
    if (this.#state === 'over') return;
    this.abort();
    this.#handler.onError(error);
  }

  pause(): void {
    if (this.#state === 'over' || this.#paused) return;
    this.#paused = true;
    if (this.#ended === null) this.source.pause();
  }

  resume(): void {
    if (this.#state === 'over' || !this.#paused) return;
    this.#paused = false;
    this.#passOn();
    if (!this.#isHeldOrOver() && this.#ended === null) this.source.resume();
  }

  onNote(note: string): void {
    this.#handler.onNote?.(note);
  }

  onNeighbour(name: string): void {
    this.#handler.onNeighbour?.(name);
  }

  onSent(): void {
    this.#handler.onSent?.();
  }

  onRooted(): void {
    this.#handler.onRooted?.();
  }

  onInterim(status: number, statusText: string, headers: string[]): void {
    this.#handler.onInterim?.(status, statusText, headers);
  }

  onOrigin(): void {
    this.#handler.onOrigin?.();
  }

  onHead(head: ResponseHead): void {
    const { key, isNeighbour, expected, book } = this.#options;
    const isPlain = head.status === 200 && !isCoded(head);
    if (isNeighbour && !isPlain) {
      const text = `No neighbour has the response as its digest names it (got a ${head.status})`;
      this.fail(new OriginError('destination_unavailable', text));
      return;
    }
    const digests = expected !== null && isPlain ? [expected] : [];
    if (!isNeighbour && head.status === 200) digests.push(...reprDigests(head.headers));
    if (!isNeighbour) this.#reader = book.metadataReader(key, head);
    if (digests.length === 0) {
      this.#state = 'plain';
      this.#handler.onHead(head);
      return;
    }
    this.#check = new BodyCheck(digests);
    // A length that is unknown, or contradicts itself, is counted as it comes.
    if (book.mayHold(Math.max(0, expectedBodyLength(head) ?? 0))) {
      this.#state = 'holding';
      this.#head = head;
    } else {
      this.#state = 'streaming';
      this.#handler.onHead(head);
    }
  }

  onData(chunk: Buffer): void {
    this.#reader?.add(chunk);
    if (this.#state === 'plain') {
      this.#handler.onData(chunk);
      return;
    }
    if (this.#state === 'over' || chunk.length === 0) return;
    const { book } = this.#options;
    this.#check!.add(chunk);
    this.#queue.push(chunk);
    if (this.#state === 'holding') {
      this.#held += chunk.length;
      book.hold(chunk.length);
      if (book.mayHold(this.#held, this.#held)) return;
      this.#release();
    }
    this.#passOn();
  }

  onEnd(trailers: string[]): void {
    if (this.#state === 'plain') {
      this.#reader?.end();
      this.#reader = null;
      this.#handler.onEnd(trailers);
      return;
    }
    if (this.#state === 'over') return;
    const { book, isNeighbour, key } = this.#options;
    const problem = this.#check!.problem();
    book.count(problem === null, isNeighbour);
    if (problem !== null) {
      this.#over();
      this.source.distrust?.();
      if (!isNeighbour) book.forget(key);
      this.#wrong(problem);
      this.#handler.onError(problem);
      return;
    }
    this.#reader?.end();
    this.#reader = null;
    this.#ended = trailers;
    if (this.#state === 'holding') this.#release();
    this.#passOn();
  }

  onError(error: OriginError): void {
    if (this.#state === 'over') return;
    this.#over();
    this.#handler.onError(error);
  }

  /** Passes on the head of a body that was held back. */
  #release(): void {
    this.#unhold();
    this.#state = 'streaming';
    this.#handler.onHead(this.#head!);
  }

  /** Passes on all pieces but the newest, and everything once the body is known to be right. */
  #passOn(): void {
    const kept = this.#ended === null ? 1 : 0;
    while (this.#queue.length > kept && !this.#isHeldOrOver()) this.#handler.onData(this.#queue.shift()!);
    if (this.#ended === null || this.#isHeldOrOver()) return;
    const trailers = this.#ended;
    this.#over();
    this.#handler.onEnd(trailers);
  }

  /** The handler may just have paused or aborted the fetch. */
  #isHeldOrOver(): boolean {
    return this.#paused || this.#state === 'over';
  }

  #unhold(): void {
    this.#options.book.hold(-this.#held);
    this.#held = 0;
  }

  #over(): void {
    this.#state = 'over';
    this.#queue = [];
    this.#unhold();
    // The reader goes on with a document that has ended. This one has not ended, so it is dropped.
    this.#reader?.drop();
    this.#reader = null;
  }
}

/** Whether a response has a content coding, so that its bytes are not those that a URL names. */
function isCoded({ headers }: ResponseHead): boolean {
  return fieldValues(headers, 'content-encoding').some(
    (value) => value.trim() !== '' && value.trim().toLowerCase() !== 'identity',
  );
}
