/**
 * Sends the keys that the other side lacks, and takes those that we lack, after both sides agree.
 * The keys come from the other side, so they are compared with the result: as many as it says, each
 * once, and none that we hold.
 */

import { type Key, packKeys } from 'bloomery';
import { findIds, NOT_FOUND } from '../sets/find-ids.ts';
import { hashedKeys } from '../sets/hashed-keys.ts';
import { keySource } from '../sets/key-source.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import { type Message, readerOf } from '../wire/message.ts';
import { KEYS, PIECE_BYTES } from '../wire/message-types.ts';
import type { SaltedSet } from './salted-set.ts';

export class KeyExchange {
  readonly #keys: readonly Key[];
  readonly #expected: number;
  readonly #own: SaltedSet;
  readonly received: Uint8Array[] = [];
  #sent = 0;

  /**
   * `keys` are those that the other side lacks, and `expected` is the number of its keys that we
   * lack. Either is 0 if the sides have agreed not to send them.
   */
  constructor(keys: readonly Key[], expected: number, own: SaltedSet) {
    this.#keys = keys;
    this.#expected = expected;
    this.#own = own;
  }

  /** True if the other side has more keys to send. */
  get expects(): boolean {
    return this.received.length < this.#expected;
  }

  get done(): boolean {
    return this.#sent === this.#keys.length && !this.expects;
  }

  pull(): Message | null {
    if (this.#sent === this.#keys.length) return null;
    const writer = new ByteWriter();
    for (let bytes = 0; this.#sent < this.#keys.length && bytes < PIECE_BYTES; ) {
      const key = packKeys([this.#keys[this.#sent++]]).bytes;
      writer.varint(key.length).bytes(key);
      bytes += key.length + 1;
    }
    return { type: KEYS, body: writer.finish() };
  }

  receive(message: Message): void {
    const reader = readerOf(message);
    if (message.type !== KEYS || !this.expects) reader.unexpected();
    do this.received.push(reader.take(reader.varint()).slice());
    while (this.expects && reader.left > 0);
    reader.end();
    if (this.expects) return;
    const { scheme, hashed } = this.#own;
    const { words, size } = hashedKeys(keySource(this.received), scheme);
    // Ids are upper halves before lower ones, hashes the other way round.
    const ids = words.map((_, i) => words[i ^ 1]);
    if (size < this.#expected || findIds(hashed.words, ids, 64).some((k) => k !== NOT_FOUND))
      reader.refuse('keys that this side lacks', 'others');
  }
}
