/**
 * The rest of a body from the origin, after a neighbour that sent its first bytes was lost.
 *
 * With a strong ETag the origin is asked for the missing bytes alone, under If-Range. Without one,
 * or if the origin answers with the whole all the same, the first bytes are compared by their
 * digest with those that clients already have, and only the rest is passed on. In both cases the
 * bytes together are those of one response of the origin (RFC 9110, 8.8.1 and 14.2).
 */

import { createHash, type Hash } from 'node:crypto';
import { isStrongTag } from '../policy/conditions.ts';
import { fieldValue } from '../policy/fields.ts';
import type { ResponseHead } from '../policy/message-head.ts';
import { parseContentRange } from '../policy/ranges.ts';
import { expectedBodyLength } from '../policy/storing.ts';
import type { ResponseSource, SourceFetch, SourceRequest } from '../proxy/response-source.ts';

export interface RestOptions {
  readonly origin: ResponseSource;
  /** The request as it would have gone to the origin in the first place. */
  readonly request: SourceRequest;
  /** The head that clients have. */
  readonly head: ResponseHead;
  /** Length of the whole body, or null if it is unknown. */
  readonly length: number | null;
  /** The first byte that is missing. */
  readonly from: number;
  /** SHA-256 of the bytes before it, or null if it is unknown. */
  readonly digest: Uint8Array | null;
  readonly data: (bytes: Buffer) => void;
  readonly end: () => void;
  /** The origin does not give the rest of this body. */
  readonly failed: () => void;
}

/** Fields that say the same in two responses with the same bytes. */
const SAME = ['etag', 'content-encoding', 'content-type'];

export class RestFromOrigin {
  readonly #options: RestOptions;
  #fetch: SourceFetch | null = null;
  #paused = false;
  #over = false;
  /** The bytes before the rest, which are compared and not passed on. */
  #prefix: { left: number; readonly hash: Hash } | null = null;
  /** Bytes of the rest that must come, or null if that is unknown. */
  #left: number | null = null;

  constructor(options: RestOptions) {
    this.#options = options;
  }

  start(): void {
    const { origin, request, head, from } = this.#options;
    const etag = fieldValue(head.headers, 'etag');
    const range =
      etag !== undefined && isStrongTag(etag) ? ['Range', `bytes=${from}-`, 'If-Range', etag] : [];
    this.#fetch = origin.ask(
      { ...request, headers: [...request.headers, ...range] },
      {
        onHead: (answer) => this.#head(answer),
        onData: (chunk) => this.#data(chunk),
        onEnd: () => this.#end(),
        onError: () => this.#fail(),
      },
    );
    if (this.#over) this.#fetch.abort();
    else if (this.#paused) this.#fetch.pause();
  }

  abort(): void {
    this.#over = true;
    this.#fetch?.abort();
  }

  pause(): void {
    this.#paused = true;
    this.#fetch?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#fetch?.resume();
  }

  #head(answer: ResponseHead): void {
    const { head, from, length, digest } = this.#options;
    if (answer.status === 206) {
      const etag = fieldValue(head.headers, 'etag') ?? null;
      if (!isRestOf(answer, etag, from, length)) this.#fail();
      else this.#left = expectedBodyLength(answer);
      return;
    }
    const total = expectedBodyLength(answer);
    const same =
      answer.status === head.status &&
      digest !== null &&
      SAME.every((name) => fieldValue(answer.headers, name) === fieldValue(head.headers, name)) &&
      (length === null || total === null || total === length);
    if (!same) {
      this.#fail();
      return;
    }
    this.#prefix = { left: from, hash: createHash('sha256') };
    const whole = length ?? total;
    this.#left = whole === null ? null : whole - from;
  }

  #data(chunk: Buffer): void {
    if (this.#over) return;
    let bytes = chunk;
    if (this.#prefix !== null && this.#prefix.left > 0) {
      const known = chunk.subarray(0, this.#prefix.left);
      this.#prefix.hash.update(known);
      this.#prefix.left -= known.length;
      bytes = chunk.subarray(known.length);
      if (this.#prefix.left === 0 && !this.#isSamePrefix()) {
        this.#fail();
        return;
      }
    }
    if (bytes.length === 0) return;
    if (this.#left !== null) this.#left -= bytes.length;
    if (this.#left !== null && this.#left < 0) this.#fail();
    else this.#options.data(bytes);
  }

  #isSamePrefix(): boolean {
    return this.#prefix!.hash.digest().equals(this.#options.digest!);
  }

  #end(): void {
    if (this.#over) return;
    const isWhole = (this.#left ?? 0) === 0 && (this.#prefix?.left ?? 0) === 0;
    if (!isWhole) this.#fail();
    else {
      this.#over = true;
      this.#options.end();
    }
  }

  #fail(): void {
    if (this.#over) return;
    this.abort();
    this.#options.failed();
  }
}

/**
 * Whether a head announces exactly the bytes of a representation from `from` on: a 206 with the
 * same strong tag, up to the end, and with the same total if that is known.
 */
export function isRestOf(
  { status, headers }: ResponseHead,
  etag: string | null,
  from: number,
  total: number | null,
): boolean {
  if (status !== 206 || etag === null || fieldValue(headers, 'etag') !== etag) return false;
  const range = parseContentRange(fieldValue(headers, 'content-range') ?? '');
  if (range === null || range.start !== from || range.end !== range.total) return false;
  return total === null || range.total === total;
}
