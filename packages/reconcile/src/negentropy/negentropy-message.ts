/**
 * The messages of negentropy, version 1 (the protocol of NIP-77), written from its specification,
 * docs/negentropy-protocol-v1.md of github.com/hoytech/negentropy.
 *
 * A message is a version byte and ranges in rising order. "Each Range is specified by an inclusive
 * lower bound and an exclusive upper bound", and only the upper one is written. A range is
 * skipped, or has the fingerprint of the sender's items in it, or their ids.
 *
 * Bytes come from a peer. Ranges are read one by one and ids as views, so a message never takes
 * more memory than it has bytes. We refuse what the specification rules out and other readers
 * accept: numbers with leading zeros, bounds that fall, ranges behind the last one.
 */

import { ReconcileError, refuse } from '../reconcile-error.ts';

/** "The current protocol version is 1, represented by the byte 0x61." */
export const VERSION = 0x61;
export const ID_BYTES = 32;
export const FINGERPRINT_BYTES = 16;
/** The timestamp above all others, which no item has. */
export const INFINITE = 2n ** 64n - 1n;

/** A place in the order of items. The id is a prefix; bytes that are left out are zeros. */
export interface NegentropyBound {
  readonly timestamp: bigint;
  readonly prefix: Uint8Array;
}

export type NegentropyRange =
  | { readonly mode: 'skip'; readonly upper: NegentropyBound }
  | { readonly mode: 'fingerprint'; readonly upper: NegentropyBound; readonly fingerprint: Uint8Array }
  /** `ids` holds ids of 32 bytes end to end. */
  | { readonly mode: 'ids'; readonly upper: NegentropyBound; readonly ids: Uint8Array };

export const END: NegentropyBound = { timestamp: INFINITE, prefix: new Uint8Array(0) };

const WHERE = 'negentropy message';

/** Reads the ranges of a message, whose version byte must be that of version 1. */
export function* decodeNegentropy(message: Uint8Array): Generator<NegentropyRange, void, undefined> {
  if (message.length === 0) refuse('a version', 'no bytes', WHERE);
  if (message[0] !== VERSION)
    throw new ReconcileError('version', `expected 0x61, got 0x${message[0].toString(16)} (${WHERE})`);
  const reader = new RangeReader(message);
  while (reader.left > 0) yield reader.range();
}

/** Writes a message of these ranges. */
export function encodeNegentropy(ranges: Iterable<NegentropyRange>): Uint8Array<ArrayBuffer> {
  const writer = new RangeWriter();
  for (const range of ranges) writer.range(range);
  return writer.finish();
}

class RangeReader {
  readonly #bytes: Uint8Array;
  #at = 1;
  #last: NegentropyBound = { timestamp: 0n, prefix: new Uint8Array(0) };

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  range(): NegentropyRange {
    const upper = this.#bound();
    const mode = this.#varint();
    if (mode === 0n) return { mode: 'skip', upper };
    if (mode === 1n) return { mode: 'fingerprint', upper, fingerprint: this.#take(FINGERPRINT_BYTES) };
    if (mode !== 2n) refuse('mode 0, 1 or 2', mode, WHERE);
    const count = this.#varint();
    if (count > BigInt(Math.floor(this.left / ID_BYTES))) refuse(`${count} ids`, `${this.left} bytes`, WHERE);
    return { mode: 'ids', upper, ids: this.#take(ID_BYTES * Number(count)) };
  }

  #bound(): NegentropyBound {
    if (this.#last.timestamp === INFINITE) refuse('no range after the last one', 'one more', WHERE);
    const encoded = this.#varint();
    // "The infinity timestamp is encoded as 0. All other values are encoded as 1 + offset."
    const timestamp = encoded === 0n ? INFINITE : this.#last.timestamp + encoded - 1n;
    if (encoded !== 0n && timestamp >= INFINITE) refuse('a timestamp below 2^64 - 1', timestamp, WHERE);
    const length = this.#varint();
    if (length > ID_BYTES) refuse(`at most ${ID_BYTES} bytes of an id`, length, WHERE);
    const bound = { timestamp, prefix: this.#take(Number(length)) };
    if (timestamp === this.#last.timestamp && comparePrefixes(bound.prefix, this.#last.prefix) < 0)
      refuse('a bound above the one before', 'one below it', WHERE);
    this.#last = bound;
    return bound;
  }

  /** "Base-128 digits, most significant digit first, with as few digits as possible." */
  #varint(): bigint {
    let value = 0;
    // Below 2^49, numbers are exact and faster.
    for (let digits = 0; digits < 7; digits++) {
      const digit = this.#digit(digits);
      value = value * 128 + (digit & 127);
      if (digit < 128) return BigInt(value);
    }
    let wide = BigInt(value);
    for (let digits = 7; digits < 10; digits++) {
      const digit = this.#digit(digits);
      wide = wide * 128n + BigInt(digit & 127);
      if (digit < 128 && wide < 2n ** 64n) return wide;
    }
    return refuse('a number below 2^64', 'more', WHERE);
  }

  #digit(before: number): number {
    const digit = this.#take(1)[0];
    if (before === 0 && digit === 128) refuse('a number without leading zeros', 'one with them', WHERE);
    return digit;
  }

  #take(length: number): Uint8Array {
    if (length > this.left) refuse(`${length} more bytes`, this.left, WHERE);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

/** A place in a message to which a writer can go back. */
export interface WriterMark {
  readonly length: number;
  readonly timestamp: bigint;
}

export class RangeWriter {
  #bytes = new Uint8Array(256);
  #length = 0;
  #timestamp = 0n;

  constructor() {
    this.#byte(VERSION);
  }

  get length(): number {
    return this.#length;
  }

  mark(): WriterMark {
    return { length: this.#length, timestamp: this.#timestamp };
  }

  /** Takes back all ranges that were written after the mark. */
  reset({ length, timestamp }: WriterMark): void {
    this.#length = length;
    this.#timestamp = timestamp;
  }

  range(range: NegentropyRange): void {
    const { timestamp, prefix } = range.upper;
    this.#varint(timestamp === INFINITE ? 0n : timestamp - this.#timestamp + 1n);
    this.#timestamp = timestamp;
    this.#byte(prefix.length);
    this.#push(prefix);
    if (range.mode === 'skip') this.#byte(0);
    else if (range.mode === 'fingerprint') {
      this.#byte(1);
      this.#push(range.fingerprint);
    } else {
      this.#byte(2);
      this.#varint(BigInt(range.ids.length / ID_BYTES));
      this.#push(range.ids);
    }
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #varint(value: bigint): void {
    this.#push(varintBytes(value));
  }

  #byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  #push(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + more));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** A number in base 128, most significant digit first. */
export function varintBytes(value: bigint): Uint8Array<ArrayBuffer> {
  const digits = [Number(value & 127n)];
  for (let rest = value >> 7n; rest > 0n; rest >>= 7n) digits.unshift(Number(rest & 127n) + 128);
  return Uint8Array.from(digits);
}

/** Compares two ids, or prefixes of ids with zeros behind them. */
export function comparePrefixes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length || i < b.length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
