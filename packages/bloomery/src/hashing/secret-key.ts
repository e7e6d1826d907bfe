/**
 * A secret key for keyed mode: 16 random bytes that never leave the program. With it a filter
 * hashes by SipHash-2-4, and an attacker without the key cannot choose keys that collide. It is a
 * class of its own, so that keys are not mistaken for data and do not appear in logs, and so that
 * programs without keyed mode do not carry its code.
 */

import { HashScheme, SIPHASH24 } from './hash-scheme.ts';
import { sipHash24Words } from './siphash.ts';

export class SecretKey {
  /** The hash scheme of filters with this key; also for `hashKey(key, secret.scheme)`. */
  readonly scheme: HashScheme;

  /** `bytes` are 16 bytes from a cryptographic source of randomness. */
  constructor(bytes: Uint8Array) {
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError(`Cannot make a key: expected a Uint8Array of 16 bytes, got ${typeof bytes}`);
    }
    if (bytes.length !== 16) {
      throw new RangeError(`Cannot make a key: expected 16 bytes, got ${bytes.length}`);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
    const words = Int32Array.from({ length: 4 }, (_, i) => view.getInt32(4 * i, true));
    this.scheme = new HashScheme(
      SIPHASH24,
      'siphash-2-4',
      checkValue(words),
      (message, length, _low, _high, out) => sipHash24Words(message, length, words, out),
      words,
    );
  }
}

/**
 * SipHash of the eight bytes 'keycheck' under the key. It is written into frames, so that a wrong
 * key is detected when a frame is opened; otherwise it would make every lookup a false negative. It
 * reveals nothing about a key of 128 random bits. A guessable key (a password) could be found by
 * trying, so keys must be random.
 */
function checkValue(words: Int32Array): bigint {
  const out = new Int32Array(2);
  sipHash24Words(Int32Array.of(0x6379656b, 0x6b636568), 8, words, out); // 'keyc' 'heck'
  return (BigInt(out[1] >>> 0) << 32n) | BigInt(out[0] >>> 0);
}
