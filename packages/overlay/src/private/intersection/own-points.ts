/**
 * The keys of this side as blinded points: each is hashed to the group, multiplied by the session's
 * scalar, and sent in a random order, among dummies if the size is padded. A dummy is a random
 * element. It is multiplied like a key, so that it takes the same time.
 */

import { ELEMENT_BYTES, elementOfKey, type PrimeOrderGroup } from './prime-order-group.ts';
import { type RandomSource, shuffle } from './shuffle.ts';

export interface OwnPointsOptions {
  readonly group: PrimeOrderGroup;
  readonly random: RandomSource;
  readonly scalar: Uint8Array;
  readonly context: Uint8Array;
  /** The number of points, at least that of the keys. */
  readonly count: number;
}

export class OwnPoints {
  readonly #keys: readonly Uint8Array[];
  readonly #options: OwnPointsOptions;
  /** The number of the key at each place, or that of a dummy: `keys.length` and above. */
  readonly #order: readonly number[];
  #next = 0;

  constructor(keys: readonly Uint8Array[], options: OwnPointsOptions) {
    this.#keys = keys;
    this.#options = options;
    this.#order = shuffle(
      Array.from({ length: options.count }, (_, i) => i),
      options.random,
    );
  }

  /** The next points, at most `most` of them, or null after the last. */
  take(most: number): Uint8Array | null {
    const end = Math.min(this.#order.length, this.#next + most);
    if (this.#next === end) return null;
    const bytes = new Uint8Array((end - this.#next) * ELEMENT_BYTES);
    for (let at = 0; this.#next < end; at += ELEMENT_BYTES) {
      bytes.set(this.#blinded(this.#order[this.#next++]), at);
    }
    return bytes;
  }

  /** The number of the key at a place, or null if a dummy is there. */
  keyAt(place: number): number | null {
    const key = this.#order[place];
    return key < this.#keys.length ? key : null;
  }

  #blinded(number: number): Uint8Array {
    const { group, random, scalar, context } = this.#options;
    const isKey = number < this.#keys.length;
    const element = isKey ? elementOfKey(group, this.#keys[number], context) : group.elementFrom(random(64));
    const point = group.multiply(element, scalar);
    // A hash is the identity with a probability of 2^-252.
    if (point === null)
      throw new Error('Cannot blind a key: expected an element of the group, got the identity');
    return point;
  }
}
