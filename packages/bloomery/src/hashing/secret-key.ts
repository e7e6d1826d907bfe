/**
 * A secret key for keyed mode: 16 random bytes that never leave the program. With it a filter hashes by
 * SipHash-2-4, and nobody without the key can choose keys that collide. A class of its own, so that keys are not
 * mistaken for data, are not shown by a log, and so that programs without keyed mode do not carry its code.
 */

import { HashScheme, SIPHASH24 } from './hash-scheme.ts';
import { sipHash24Words } from './siphash.ts';

export class SecretKey {
  /** How filters with this key hash; also for `hashKey(key, secret.scheme)`. */
  readonly scheme: HashScheme;

  /** `bytes`: 16 of them, from a cryptographic source of randomness. */
  constructor(bytes: Uint8Array) {
    if (!(bytes instanceof Uint8Array))
      throw new TypeError('A secret key is made of a Uint8Array of 16 bytes');
    if (bytes.length !== 16) throw new RangeError(`A secret key has 16 bytes, got ${bytes.length}`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
    const words = Int32Array.from({ length: 4 }, (_, i) => view.getInt32(4 * i, true));
    this.scheme = new HashScheme(
      SIPHASH24,
      'siphash-2-4',
      checkValue(words),
      (message, length, out) => sipHash24Words(message, length, words, out),
      words,
    );
  }
}

/**
 * SipHash of the eight bytes 'keycheck' under the key. It is written into frames, to tell a wrong key when one is
 * opened, which would otherwise make every lookup a false negative. It says nothing about a key of 128 random
 * bits; a guessable key (a password) could be guessed by it, so keys must be random.
 */
function checkValue(words: Int32Array): bigint {
  const out = new Int32Array(2);
  sipHash24Words(Int32Array.of(0x6379656b, 0x6b636568), 8, words, out); // 'keyc' 'heck'
  return (BigInt(out[1] >>> 0) << 32n) | BigInt(out[0] >>> 0);
}
