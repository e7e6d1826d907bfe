/**
 * Reading and writing the fields of messages between nodes. Every read is checked against the bytes
 * at hand, and a declared count is checked before anything is allocated for it.
 */

import { RouteError } from './route-error.ts';

/** The first byte of every message. */
const MESSAGE_VERSION = 1;

/** The 64 bits of a key's hash. */
export interface HashBits {
  readonly high: number;
  readonly low: number;
}

const NAME_BYTES = 255;
const decoder = new TextDecoder('utf-8', { fatal: true });

export class MessageWriter {
  #bytes = new Uint8Array(64);
  #length = 0;

  constructor() {
    this.byte(MESSAGE_VERSION);
  }

  byte(value: number): this {
    this.#room(1)[0] = value;
    return this;
  }

  /** An integer of up to 48 bits. */
  whole(value: number): this {
    const room = this.#room(6);
    for (let i = 0; i < 6; i++) room[i] = value / 256 ** i;
    return this;
  }

  hash({ high, low }: HashBits): this {
    const room = this.#room(8);
    for (let i = 0; i < 4; i++) {
      room[i] = low >>> (8 * i);
      room[4 + i] = high >>> (8 * i);
    }
    return this;
  }

  hashes(all: readonly HashBits[]): this {
    this.whole(all.length);
    for (const each of all) this.hash(each);
    return this;
  }

  name(text: string): this {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > NAME_BYTES)
      throw new RangeError(`Cannot send a name: expected at most ${NAME_BYTES} bytes, got ${bytes.length}`);
    this.byte(bytes.length).#room(bytes.length).set(bytes);
    return this;
  }

  /** Bytes up to the end of the message. */
  rest(bytes: Uint8Array): this {
    this.#room(bytes.length).set(bytes);
    return this;
  }

  finish(): Uint8Array {
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

export class MessageReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    const version = this.byte();
    if (version !== MESSAGE_VERSION) this.fail(`version ${MESSAGE_VERSION}`, `version ${version}`);
  }

  byte(): number {
    return this.#take(1)[0];
  }

  /** A byte up to a limit. */
  choice(most: number): number {
    const value = this.byte();
    if (value > most) this.fail(`at most ${most}`, value);
    return value;
  }

  whole(): number {
    return this.#take(6).reduceRight((sum, byte) => sum * 256 + byte, 0);
  }

  hash(): HashBits {
    const bytes = this.#take(8);
    const word = (at: number) =>
      (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
    return { low: word(0), high: word(4) };
  }

  hashes(): HashBits[] {
    const count = this.whole();
    if (8 * count > this.#bytes.length - this.#at) this.fail(`${count} hashes`, 'fewer bytes');
    return Array.from({ length: count }, () => this.hash());
  }

  name(): string {
    const bytes = this.#take(this.byte());
    try {
      return decoder.decode(bytes);
    } catch {
      return this.fail('a name in UTF-8', 'other bytes');
    }
  }

  /** A copy of the bytes up to the end. */
  rest(): Uint8Array {
    return Uint8Array.from(this.#take(this.#bytes.length - this.#at));
  }

  end(): void {
    if (this.#at !== this.#bytes.length) this.fail('the end', `${this.#bytes.length - this.#at} bytes more`);
  }

  fail(expected: string, got: unknown): never {
    throw new RouteError(
      'message',
      `Cannot read a message: expected ${expected}, got ${String(got)} (byte ${this.#at})`,
    );
  }

  #take(count: number): Uint8Array {
    const end = this.#at + count;
    if (end > this.#bytes.length) this.fail(`${count} bytes`, this.#bytes.length - this.#at);
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}
