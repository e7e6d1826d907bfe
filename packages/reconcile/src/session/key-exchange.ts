/**
 * Sends the keys that the other side lacks, and takes those that we lack, after both sides agree.
 * The keys come from the other side, so they are compared with the result: as many as it says, each
 * once, and none that we hold.
 */

import { type HashScheme, type Key, packKeys } from 'bloomery';
import { refuse } from '../reconcile-error.ts';
import { findIds, NOT_FOUND } from '../sets/find-ids.ts';
import { hashedKeys } from '../sets/hashed-keys.ts';
import { keySource } from '../sets/key-source.ts';
import { ByteReader } from '../wire/byte-reader.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import { KEYS, type Message } from '../wire/message.ts';
import { unexpected } from './role.ts';
import type { SaltedSet } from './salted-set.ts';

/** Keys of at least this many bytes make a message. */
const PIECE_BYTES = 32_768;

export class KeyExchange {
  readonly #keys: readonly Key[];
  readonly #expected: number;
  readonly #own: SaltedSet;
  readonly #received: Uint8Array[] = [];
  #sent = 0;
  #allSent = false;
  #allReceived = false;

  /**
   * `keys` are those that the other side lacks, and `expected` is the number of its keys that we
   * lack.
   */
  constructor(keys: readonly Key[], expected: number, own: SaltedSet) {
    this.#keys = keys;
    this.#expected = expected;
    this.#own = own;
  }

  get received(): readonly Uint8Array[] {
    return this.#received;
  }

  /** True if the other side has more keys to send. */
  get expects(): boolean {
    return !this.#allReceived;
  }

  get done(): boolean {
    return this.#allSent && this.#allReceived;
  }

  pull(): Message | null {
    if (this.#allSent) return null;
    const writer = new ByteWriter();
    for (let bytes = 0; this.#sent < this.#keys.length && bytes < PIECE_BYTES; ) {
      const key = packKeys([this.#keys[this.#sent++]]).bytes;
      writer.varint(key.length).bytes(key);
      bytes += key.length + 1;
    }
    this.#allSent = this.#sent === this.#keys.length;
    const body = new ByteWriter().byte(this.#allSent ? 1 : 0).bytes(writer.finish());
    return { type: KEYS, body: body.finish() };
  }

  receive(message: Message): void {
    if (message.type !== KEYS || this.#allReceived) unexpected(message);
    const reader = new ByteReader(message.body, 'keys');
    const last = reader.byte();
    while (reader.left > 0) {
      if (this.#received.length === this.#expected) refuse(`${this.#expected} keys`, 'more', 'keys');
      this.#received.push(reader.take(reader.varint()).slice());
    }
    if (last === 0) return;
    const count = this.#received.length;
    if (last > 1 || count < this.#expected) refuse(`${this.#expected} keys`, count, 'keys');
    this.#checkReceived(this.#own.scheme);
    this.#allReceived = true;
  }

  #checkReceived(scheme: HashScheme): void {
    const { words, size } = hashedKeys(keySource(this.#received), scheme);
    if (size < this.#received.length) refuse('each key once', 'a key twice', 'keys');
    // Ids are upper halves before lower ones, hashes the other way round.
    const ids = words.map((_, i) => words[i ^ 1]);
    if (findIds(this.#own.hashed.words, ids, 64).some((k) => k !== NOT_FOUND))
      refuse('keys that this side lacks', 'one that it holds', 'keys');
  }
}
