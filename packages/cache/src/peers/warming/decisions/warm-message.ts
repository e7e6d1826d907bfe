/**
 * The bytes of requests on the topic `warm`, and of their answers (docs/spec/peer-warm.md). They
 * come from another node, so every count is checked against the bytes at hand before anything is
 * allocated, and a message that cannot be read gives null.
 */

/** An object that a node offers for a warm-up. */
export interface WarmObject {
  readonly key: string;
  /** The secondary key of the response (`policy/vary.ts`). */
  readonly varied: readonly (readonly [name: string, value: string | null])[];
  /** Bytes of the body. */
  readonly bytes: number;
  /** Freshness that is left, in milliseconds. */
  readonly freshMs: number;
}

/** Bytes of a running comparison for one bucket. An asker that has nothing in it sends none. */
export interface BucketBytes {
  readonly bucket: number;
  readonly bytes: Uint8Array;
}

export type WarmRequest =
  | { readonly kind: 'open'; readonly keyId: number; readonly objects: number }
  | {
      readonly kind: 'compare';
      readonly session: string;
      readonly turn: number;
      readonly buckets: readonly BucketBytes[];
    }
  | { readonly kind: 'list'; readonly session: string; readonly from: number };

export interface OpenAnswer {
  readonly session: string;
  readonly objects: number;
  /** Two 32-bit sums for each of 2^n buckets. */
  readonly sums: Uint32Array;
}

export interface ListAnswer {
  /** Objects in the whole list. */
  readonly total: number;
  readonly objects: readonly WarmObject[];
}

const VERSION = 1;
const OPEN = 1;
const COMPARE = 2;
const LIST = 3;
/** The answer to a request for a session that the node does not have. */
export const GONE: Uint8Array = Uint8Array.of(VERSION, 0);
/** The answer of a node that is in as many sessions as it accepts. */
export const BUSY: Uint8Array = Uint8Array.of(VERSION, 4);

const SESSION_BYTES = 8;
export const MOST_BUCKETS = 4096;
const LONGEST_KEY = 65_536;

export function encodeWarmRequest(request: WarmRequest): Uint8Array {
  const out: number[] = [VERSION];
  if (request.kind === 'open') {
    out.push(OPEN);
    pushVarint(out, request.keyId);
    pushVarint(out, request.objects);
    return Uint8Array.from(out);
  }
  if (request.kind === 'list') {
    out.push(LIST, ...sessionBytes(request.session));
    pushVarint(out, request.from);
    return Uint8Array.from(out);
  }
  out.push(COMPARE, ...sessionBytes(request.session));
  pushVarint(out, request.turn);
  return joined([Uint8Array.from(out), ...encodedBuckets(request.buckets)]);
}

export function decodeWarmRequest(bytes: Uint8Array): WarmRequest | null {
  return decoded(bytes, (reader) => {
    if (reader.byte() !== VERSION) return null;
    const kind = reader.byte();
    if (kind === OPEN)
      return reader.ended({ kind: 'open', keyId: reader.varint(), objects: reader.varint() });
    if (kind !== COMPARE && kind !== LIST) return null;
    const session = reader.session();
    if (kind === LIST) return reader.ended({ kind: 'list', session, from: reader.varint() });
    return { kind: 'compare', session, turn: reader.varint(), buckets: reader.buckets() };
  });
}

export function encodeOpenAnswer({ session, objects, sums }: OpenAnswer): Uint8Array {
  const out: number[] = [VERSION, OPEN, ...sessionBytes(session)];
  pushVarint(out, objects);
  out.push(Math.log2(sums.length / 2));
  const words = new Uint8Array(4 * sums.length);
  const view = new DataView(words.buffer);
  for (const [at, sum] of sums.entries()) view.setUint32(4 * at, sum, true);
  return joined([Uint8Array.from(out), words]);
}

export function decodeOpenAnswer(bytes: Uint8Array): OpenAnswer | null {
  return decoded(bytes, (reader) => {
    if (reader.byte() !== VERSION || reader.byte() !== OPEN) return null;
    const session = reader.session();
    const objects = reader.varint();
    const size = 2 ** reader.byte();
    if (size > MOST_BUCKETS) return null;
    const words = reader.take(8 * size);
    const view = new DataView(words.buffer, words.byteOffset, words.length);
    const sums = Uint32Array.from({ length: 2 * size }, (_, at) => view.getUint32(4 * at, true));
    return reader.ended({ session, objects, sums });
  });
}

export function encodeCompareAnswer(buckets: readonly BucketBytes[]): Uint8Array {
  return joined([Uint8Array.of(VERSION, COMPARE), ...encodedBuckets(buckets)]);
}

export function decodeCompareAnswer(bytes: Uint8Array): readonly BucketBytes[] | null {
  return decoded(bytes, (reader) =>
    reader.byte() === VERSION && reader.byte() === COMPARE ? reader.buckets() : null,
  );
}

export function encodeListAnswer({ total, objects }: ListAnswer): Uint8Array {
  const out: number[] = [VERSION, LIST];
  pushVarint(out, total);
  const rows = objects.map(({ key, varied, bytes, freshMs }) => [key, varied, bytes, freshMs]);
  return joined([Uint8Array.from(out), new TextEncoder().encode(JSON.stringify(rows))]);
}

export function decodeListAnswer(bytes: Uint8Array): ListAnswer | null {
  return decoded(bytes, (reader) => {
    if (reader.byte() !== VERSION || reader.byte() !== LIST) return null;
    const total = reader.varint();
    const text = new TextDecoder('utf-8', { fatal: true }).decode(reader.rest());
    const rows: unknown = JSON.parse(text);
    if (!Array.isArray(rows)) return null;
    const objects = rows.map(warmObject);
    return objects.every((object) => object !== null) ? { total, objects } : null;
  });
}

function warmObject(row: unknown): WarmObject | null {
  if (!Array.isArray(row)) return null;
  const [key, varied, bytes, freshMs] = row as unknown[];
  if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY) return null;
  if (!Number.isSafeInteger(bytes) || (bytes as number) < 0) return null;
  if (typeof freshMs !== 'number' || !(freshMs >= 0)) return null;
  if (!Array.isArray(varied) || !varied.every(isSelection)) return null;
  return { key, varied, bytes: bytes as number, freshMs };
}

function isSelection(value: unknown): value is readonly [string, string | null] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [name, selected] = value as unknown[];
  // The value becomes a field of a question, where a line break would begin another field.
  const isField = selected === null || (typeof selected === 'string' && /^[\t\x20-\x7e]*$/.test(selected));
  return typeof name === 'string' && isField;
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.take(1)[0]!;
  }

  take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) throw new RangeError(CUT_OFF);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.#at);
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 42; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new RangeError(CUT_OFF);
  }

  session(): string {
    return Array.from(this.take(SESSION_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  buckets(): BucketBytes[] {
    const buckets: BucketBytes[] = [];
    while (this.#at < this.#bytes.length && buckets.length <= MOST_BUCKETS) {
      const bucket = this.varint();
      buckets.push({ bucket, bytes: this.take(this.varint()) });
    }
    return buckets;
  }

  ended<T>(value: T): T | null {
    return this.#at === this.#bytes.length ? value : null;
  }
}

const CUT_OFF = 'Cannot read a message: expected more bytes, got the end';

/** The value that was read, or null if the bytes are not a message. */
function decoded<T>(bytes: Uint8Array, read: (reader: Reader) => T | null): T | null {
  try {
    return read(new Reader(bytes));
  } catch {
    return null;
  }
}

function encodedBuckets(buckets: readonly BucketBytes[]): Uint8Array[] {
  return buckets.flatMap(({ bucket, bytes }) => {
    const head: number[] = [];
    pushVarint(head, bucket);
    pushVarint(head, bytes.length);
    return [Uint8Array.from(head), bytes];
  });
}

function pushVarint(out: number[], value: number): void {
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) out.push((rest % 128) | 128);
  out.push(rest);
}

function sessionBytes(session: string): number[] {
  return Array.from({ length: SESSION_BYTES }, (_, at) =>
    Number.parseInt(session.slice(2 * at, 2 * at + 2), 16),
  );
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
