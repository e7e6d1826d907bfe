/**
 * The points of the peer, blinded a second time and shortened to tags. A point is used only after
 * it was checked: a canonical encoding, not the identity, and none that came before. A point that
 * comes twice would tell its sender nothing, but no correct peer sends it.
 */

import { refuse } from './intersection-error.ts';
import { ELEMENT_BYTES, type PrimeOrderGroup } from './prime-order-group.ts';

export class PeerPoints {
  readonly #group: PrimeOrderGroup;
  readonly #scalar: Uint8Array;
  readonly #tagBytes: number;
  readonly #seen = new Set<string>();
  /** The tags, in the order of the points. They grow with what has come, not with what was said. */
  readonly tags: Uint8Array[] = [];

  constructor(group: PrimeOrderGroup, scalar: Uint8Array, tagBytes: number) {
    this.#group = group;
    this.#scalar = scalar;
    this.#tagBytes = tagBytes;
  }

  receive(point: Uint8Array): void {
    const where = `point ${this.tags.length}`;
    const name = String.fromCharCode(...point);
    if (this.#seen.has(name)) refuse('different points', 'one that came before', where);
    const twice = this.#group.multiply(point, this.#scalar);
    if (twice === null) refuse('an element that is not the identity', 'other bytes', where);
    this.#seen.add(name);
    this.tags.push(tagOf(this.#group, twice).slice(0, this.#tagBytes));
  }
}

/**
 * The tag of an element that both sides blinded: a hash, because the bits of an encoding are not
 * uniform, and because the element itself would let the peer compute with it.
 */
function tagOf(group: PrimeOrderGroup, element: Uint8Array): Uint8Array {
  const message = new Uint8Array(TAG_DOMAIN.length + ELEMENT_BYTES);
  message.set(TAG_DOMAIN);
  message.set(element, TAG_DOMAIN.length);
  return group.sha512(message);
}

const TAG_DOMAIN = new TextEncoder().encode('BLOOMERY-PSI-V1-TAG');
