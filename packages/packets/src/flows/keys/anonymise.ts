/**
 * Pseudonyms for addresses that keep prefixes: two addresses that share their first n bits get
 * pseudonyms that share exactly their first n bits (the scheme of Xu, Fan, Ammar and Moon, ICNP
 * 2002, known as Crypto-PAn). Subnets stay visible, and a list by /24 fits to one by address.
 *
 * Bit i of the pseudonym is bit i of the address, flipped by one bit of a keyed function of the
 * bits before it. The function is SipHash-2-4 under a key of 128 bits, where Crypto-PAn has AES:
 * SipHash is made as such a function (a PRF) and we have it here. So pseudonyms are not those of
 * Crypto-PAn.
 *
 * What it does not hide. Ports, protocols, sizes and times stay. An attacker who knows one address
 * and its pseudonym (by a flow of its own) knows how all addresses in the same prefixes begin. This
 * is a property of every scheme that keeps prefixes, not of this one.
 */

import { sipHashWords } from '../kernel/siphash.ts';

/** Returns a function that replaces the words of an address. `secret` has 16 bytes. */
export function createAnonymiser(secret: Uint8Array): (words: Int32Array) => Int32Array {
  if (secret.length !== 16) {
    throw new RangeError(`Cannot anonymise: expected a key of 16 bytes, got ${secret.length}`);
  }
  const key = new Int32Array(secret.slice().buffer);
  const out = new Int32Array(2);
  return (words) => {
    const renamed = words.slice();
    // The bits before bit i, the others 0, and then i and the length of the address.
    const input = new Int32Array(6);
    for (let bit = 0; bit < 32 * words.length; bit++) {
      const [word, shift] = [bit >> 5, 31 - (bit & 31)];
      input[4] = bit;
      input[5] = words.length;
      sipHashWords(input, 0, 3, key, out, [2, 4]);
      renamed[word] ^= (out[0] & 1) << shift;
      input[word] |= words[word] & (1 << shift);
    }
    return renamed;
  };
}
