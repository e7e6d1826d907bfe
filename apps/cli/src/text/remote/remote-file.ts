/**
 * A file on a server as it was when it was first asked for. Every later answer must come from the
 * same state: its size, ETag and Last-Modified are compared, and a state that differs is an error.
 */

import type { ByteRange, RangeSource } from '@bloomery/stores/text';
import { type Answer, type HttpClient, shown } from './http-client.ts';
import { joinRanges } from './join-ranges.ts';
import { RemoteError } from './remote-error.ts';

/** The state of a file. */
export interface RemoteState {
  /** Bytes of the file, or infinity if the server does not say it. */
  readonly size: number;
  readonly etag: string | null;
  /** The field `Last-Modified`. */
  readonly modified: string | null;
}

/** Bytes that one answer may have. */
export const LONGEST_RANGE = 4 << 20;
/** Ranges of an index are larger only if a server lies. */
const MOST_INDEX_RANGE = 64 << 20;

export class RemoteFile {
  readonly url: URL;
  readonly state: RemoteState;
  readonly #client: HttpClient;

  constructor(client: HttpClient, url: URL, state: RemoteState) {
    this.#client = client;
    this.url = url;
    this.state = state;
  }

  static async open(client: HttpClient, url: URL): Promise<RemoteFile> {
    const state = await client.ask({ url, method: 'HEAD' }, (answer) => {
      if (answer.status === 200) {
        const length = answer.header('content-length');
        return length === null ? null : stateOf(answer, Number(length));
      }
      if ([403, 405, 501].includes(answer.status)) return null;
      throw statusError(url, answer.status);
    });
    return new RemoteFile(client, url, state ?? (await stateByGet(client, url)));
  }

  /** Reads bytes that lie within the file. */
  async range(offset: number, length: number): Promise<Uint8Array> {
    const question = { url: this.url, method: 'GET', headers: this.#conditions(offset, length) } as const;
    return this.#client.ask(question, async (answer) => {
      this.#compare(answer, offset, length);
      return bodyOf(answer, this.url, length);
    });
  }

  /** The body from a place on, in parts, and where it begins: a server without ranges sends all. */
  async stream(from: number): Promise<{ readonly answer: Answer; readonly from: number }> {
    const { size } = this.state;
    const headers = from === 0 ? {} : this.#conditions(from, size - from);
    const answer = await this.#client.open({ url: this.url, method: 'GET', headers });
    try {
      if (answer.status === 200) {
        this.#compareState(answer, numberOf(answer.header('content-length')));
        return { answer, from: 0 };
      }
      this.#compare(answer, from, size - from);
      return { answer, from };
    } catch (error) {
      answer.close();
      throw error;
    }
  }

  /**
   * The file as a port of ranges, for an index. Ranges that lie near each other share a request.
   */
  asRangeSource(): RangeSource {
    return {
      size: this.state.size,
      read: async (ranges) => {
        const tooLong = ranges.find(({ length }) => length > MOST_INDEX_RANGE);
        if (tooLong !== undefined)
          throw new RemoteError(
            'limit',
            `Cannot read ${shown(this.url)}: expected ranges of at most ${MOST_INDEX_RANGE} bytes, got ${tooLong.length}`,
          );
        const joined = joinRanges(ranges, MOST_INDEX_RANGE);
        const bytes = await Promise.all(joined.map(({ offset, length }) => this.range(offset, length)));
        return ranges.map((range) => pick(range, joined, bytes));
      },
    };
  }

  #conditions(offset: number, length: number): Record<string, string> {
    const { etag, modified } = this.state;
    // "A client MUST NOT generate an If-Range header field containing an entity tag that is marked
    // as weak" (RFC 9110, 13.1.5).
    const validator = etag !== null && !etag.startsWith('W/') ? etag : modified;
    const last = Number.isFinite(length) ? offset + length - 1 : '';
    return { range: `bytes=${offset}-${last}`, ...(validator === null ? {} : { 'if-range': validator }) };
  }

  /** Checks that an answer is the range that was asked for, from the same state of the file. */
  #compare(answer: Answer, offset: number, length: number): void {
    const { status } = answer;
    if (status === 200) {
      this.#compareState(answer, numberOf(answer.header('content-length')));
      if (offset === 0 && length === this.state.size) return;
      throw new RemoteError(
        'no-ranges',
        `Cannot read ${shown(this.url)}: expected a part of it, got the whole file`,
      );
    }
    if (status === 412 || status === 416 || status === 404 || status === 410) throw changed(this.url);
    if (status !== 206) throw statusError(this.url, status);
    const field = answer.header('content-range') ?? '';
    const found = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(field);
    const end = Number.isFinite(length) ? offset + length - 1 : Number(found?.[2]);
    if (found === null || Number(found[1]) !== offset || Number(found[2]) !== end)
      throw new RemoteError(
        'protocol',
        `Cannot read ${shown(this.url)}: expected bytes ${offset} to ${end}, got Content-Range ${JSON.stringify(field)}`,
      );
    this.#compareState(answer, found[3] === '*' ? null : Number(found[3]));
  }

  #compareState(answer: Answer, size: number | null): void {
    const now = stateOf(answer, size ?? this.state.size);
    const { etag, modified } = this.state;
    const isOther = (before: string | null, after: string | null) =>
      before !== null && after !== null && before !== after;
    if (
      (Number.isFinite(this.state.size) && now.size !== this.state.size) ||
      isOther(etag, now.etag) ||
      isOther(modified, now.modified)
    )
      throw changed(this.url);
  }
}

/** Reads a body of at most, or with `exactly` of just, this many bytes. */
export async function bodyOf(
  answer: Answer,
  url: URL,
  length: number,
  { exactly = true } = {},
): Promise<Uint8Array> {
  const declared = numberOf(answer.header('content-length'));
  const refuse = (got: number | string) =>
    new RemoteError(
      exactly ? 'protocol' : 'limit',
      `Cannot read ${shown(url)}: expected ${exactly ? '' : 'at most '}${length} bytes, got ${got}`,
    );
  if (declared !== null && (exactly ? declared !== length : declared > length)) throw refuse(declared);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body) {
    size += part.length;
    if (size > length) throw refuse('more');
    parts.push(part);
  }
  if (exactly && size !== length) throw refuse(size);
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

/** The state by the first byte, for servers that do not answer HEAD. */
async function stateByGet(client: HttpClient, url: URL): Promise<RemoteState> {
  return client.ask({ url, method: 'GET', headers: { range: 'bytes=0-0' } }, (answer) => {
    const total = /\/(\d+)$/.exec(answer.header('content-range') ?? '')?.[1];
    if (answer.status === 206 || answer.status === 416)
      return stateOf(answer, total === undefined ? Number.POSITIVE_INFINITY : Number(total));
    if (answer.status !== 200) throw statusError(url, answer.status);
    return stateOf(answer, numberOf(answer.header('content-length')) ?? Number.POSITIVE_INFINITY);
  });
}

function stateOf(answer: Answer, size: number): RemoteState {
  return { size, etag: answer.header('etag'), modified: answer.header('last-modified') };
}

export function statusError(url: URL, status: number): RemoteError {
  const isMissing = status === 404 || status === 403 || status === 401 || status === 410;
  return new RemoteError(
    isMissing ? 'missing' : 'status',
    `Cannot read ${shown(url)}: the server answered with status ${status}`,
  );
}

function changed(url: URL): RemoteError {
  return new RemoteError(
    'changed',
    `Cannot search all of ${shown(url)}: it was changed while it was read; search again`,
  );
}

function numberOf(field: string | null): number | null {
  return field === null || !/^\d+$/.test(field) ? null : Number(field);
}

function pick(
  { offset, length }: ByteRange,
  joined: readonly ByteRange[],
  bytes: readonly Uint8Array[],
): Uint8Array {
  if (length === 0) return new Uint8Array(0);
  const i = joined.findIndex((one) => offset >= one.offset && offset + length <= one.offset + one.length);
  return bytes[i].subarray(offset - joined[i].offset, offset - joined[i].offset + length);
}
