/**
 * A Bloom filter over hashes that are at hand, for one session. `BloomFilter` of the library would
 * hash the keys again, and bring frames, layouts and a second kernel into the bundle.
 *
 * The two filters of a session take the halves of a hash in different roles. So a key that passes
 * the first one by accident passes the second one independently.
 */

import type { ByteReader } from '../wire/byte-reader.ts';
import type { ByteWriter } from '../wire/byte-writer.ts';
import { MOST_HASHES } from '../wire/message-types.ts';
import { type HashedKeys, selected } from './hashed-keys.ts';

export class HashFilter {
  readonly hashes: number;
  readonly bits: number;
  readonly bytes: Uint8Array;
  readonly #swapped: boolean;

  /** `bytes` are the bits of a filter that came. */
  constructor(hashes: number, bits: number, swapped: boolean, bytes = new Uint8Array(Math.ceil(bits / 8))) {
    this.hashes = hashes;
    this.bits = bits;
    this.bytes = bytes;
    this.#swapped = swapped;
  }

  /** A filter of these keys. */
  static of(keys: HashedKeys, bitsPerKey: number, swapped: boolean): HashFilter {
    const bits = Math.max(1, Math.min(2 ** 32 - 1, Math.ceil(bitsPerKey * keys.size)));
    const hashes = Math.min(MOST_HASHES, Math.max(1, Math.round(bitsPerKey * Math.LN2)));
    const filter = new HashFilter(hashes, bits, swapped);
    for (let k = 0; k < keys.size; k++) filter.#probe(keys.words, k, true);
    return filter;
  }

  /** Reads a filter, or throws if its fields do not fit each other. */
  static from(reader: ByteReader, swapped: boolean): HashFilter {
    const hashes = reader.byte();
    const bits = reader.varint(2 ** 32 - 1);
    if (hashes < 1 || hashes > MOST_HASHES || bits < 1)
      reader.refuse('1 to 40 hashes', `${hashes} in ${bits} bits`);
    return new HashFilter(hashes, bits, swapped, reader.take(Math.ceil(bits / 8)).slice());
  }

  write(writer: ByteWriter): ByteWriter {
    return writer.byte(this.hashes).varint(this.bits).bytes(this.bytes);
  }

  /** The keys that pass. */
  passing(keys: HashedKeys): HashedKeys {
    return selected(keys, (k) => this.#probe(keys.words, k, false));
  }

  /** Sets the bits of hash k, or says whether all of them are set. */
  #probe(words: Int32Array, k: number, adds: boolean): boolean {
    const { bytes, bits, hashes } = this;
    const scale = bits / 2 ** 32;
    const second = 2 * k + (this.#swapped ? 1 : 0);
    let position = words[second ^ 1];
    const step = words[second] | 1;
    for (let j = 0; j < hashes; j++, position = (position + step) | 0) {
      const bit = Math.floor((position >>> 0) * scale);
      const one = 1 << (bit & 7);
      if (adds) bytes[bit >>> 3] |= one;
      else if ((bytes[bit >>> 3] & one) === 0) return false;
    }
    return true;
  }
}
