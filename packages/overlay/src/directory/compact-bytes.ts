/**
 * Reading and writing the fields of messages between peers that search. Counts are LEB128 (seven
 * bits per byte, the low ones first), because most of them are below 128 and a question goes to
 * many peers. Every read is checked against the bytes at hand, and a declared count is checked
 * before anything is allocated for it.
 */

import { SearchError } from './search-error.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

export class CompactWriter {
  #bytes = new Uint8Array(64);
  #length = 0;

  /** `version` is the first byte of the message. */
  constructor(version: number) {
    this.byte(version);
  }

  byte(value: number): this {
    this.#room(1)[0] = value;
    return this;
  }

  /** An integer from 0 to 2^53 - 1. */
  count(value: number): this {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new RangeError(`Cannot write a count: expected a whole number, got ${value}`);
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.byte((rest % 0x80) | 0x80);
    return this.byte(rest);
  }

  float(value: number): this {
    const room = this.#room(8);
    new DataView(room.buffer, room.byteOffset).setFloat64(0, value, true);
    return this;
  }

  text(value: string): this {
    return this.bytes(encoder.encode(value));
  }

  /** Bytes behind their number. */
  bytes(value: Uint8Array): this {
    this.count(value.length).#room(value.length).set(value);
    return this;
  }

  /** Bytes whose number the reader knows. */
  raw(value: Uint8Array): this {
    this.#room(value.length).set(value);
    return this;
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  #room(count: number): Uint8Array {
    const start = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    return this.#bytes.subarray(start, this.#length);
  }
}

export class CompactReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array, version: number) {
    this.#bytes = bytes;
    const got = this.byte();
    if (got !== version) this.fail(`version ${version}`, `version ${got}`);
  }

  byte(): number {
    return this.raw(1)[0];
  }

  /** A count up to a limit. */
  count(most = Number.MAX_SAFE_INTEGER): number {
    let value = 0;
    for (let place = 1, i = 0; ; place *= 0x80, i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * place;
      if (i === 7 && byte > 0x0f) this.fail('a count below 2^53', 'a larger one');
      if (byte < 0x80) {
        if (byte === 0 && i > 0) this.fail('the shortest form of a count', 'a longer one');
        break;
      }
      if (i === 7) this.fail('a count of at most 8 bytes', 'a longer one');
    }
    if (value > most) this.fail(`at most ${most}`, value);
    return value;
  }

  /** The number of entries that follow, each of at least so many bytes. */
  entries(most: number, leastBytes = 1): number {
    const count = this.count(most);
    if (count * leastBytes > this.#bytes.length - this.#at) this.fail(`${count} entries`, 'fewer bytes');
    return count;
  }

  float(): number {
    const bytes = this.raw(8);
    const value = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
    if (Number.isNaN(value)) this.fail('a number', 'none');
    return value;
  }

  text(mostBytes: number): string {
    const bytes = this.bytes(mostBytes);
    try {
      return decoder.decode(bytes);
    } catch {
      return this.fail('a text in UTF-8', 'other bytes');
    }
  }

  /** A view of bytes that stand behind their number. */
  bytes(most: number): Uint8Array {
    return this.raw(this.count(most));
  }

  raw(count: number): Uint8Array {
    const end = this.#at + count;
    if (end > this.#bytes.length) this.fail(`${count} bytes`, this.#bytes.length - this.#at);
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  end(): void {
    if (this.#at !== this.#bytes.length) this.fail('the end', `${this.#bytes.length - this.#at} bytes more`);
  }

  fail(expected: string, got: unknown): never {
    throw new SearchError(
      'answer',
      `Cannot read a message: expected ${expected}, got ${String(got)} (byte ${this.#at})`,
    );
  }
}
