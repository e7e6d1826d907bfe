/**
 * The bins of a flow, under one hash function. Two shapes: `levels` is one bin of each of L levels
 * of N bins, and `filter` is k counters of one filter. Two of the k may coincide, as in any Bloom
 * filter; the flow then has one bin fewer.
 *
 * The hash is SipHash under a secret key, because a sender chooses its addresses and ports: with a
 * public hash an attacker could choose flows that share all bins with a victim's.
 */

import { type HashScheme, hashKey, hashScheme, type Key, type SecretKey } from 'bloomery';

export type BinShape =
  | { readonly kind: 'levels'; readonly levels: number; readonly bins: number }
  | { readonly kind: 'filter'; readonly counters: number; readonly hashes: number };

export class FlowPlaces {
  readonly #count: number;
  readonly #range: number;
  /** The distance between the bins of two levels; 0 in a filter. */
  readonly #step: number;
  readonly #scheme: HashScheme;

  constructor(shape: BinShape, key: SecretKey) {
    const isLevels = shape.kind === 'levels';
    this.#count = isLevels ? shape.levels : shape.hashes;
    this.#range = isLevels ? shape.bins : shape.counters;
    this.#step = isLevels ? shape.bins : 0;
    this.#scheme = hashScheme({ key });
  }

  /** The number of bins in all. */
  get cells(): number {
    return this.#step === 0 ? this.#range : this.#count * this.#range;
  }

  /** The bins of a flow, each once. With levels, bin i is one of level i. */
  of(flow: Key): Uint32Array {
    const { low, high } = hashKey(flow, this.#scheme);
    const places = new Uint32Array(this.#count);
    let used = 0;
    let state = low | 0;
    for (let i = 0; i < this.#count; i++) {
      // A Weyl sequence of the two halves, mixed: as many draws as there are bins.
      state = (state + (high | 1)) | 0;
      const place = Math.floor((mix(state) / 2 ** 32) * this.#range) + i * this.#step;
      if (this.#step > 0 || !isAmong(places, used, place)) places[used++] = place;
    }
    return used === this.#count ? places : places.slice(0, used);
  }
}

function isAmong(places: Uint32Array, used: number, place: number): boolean {
  for (let i = 0; i < used; i++) if (places[i] === place) return true;
  return false;
}

/** A permutation of the 32-bit numbers that spreads each bit of the argument over the result. */
function mix(value: number): number {
  let z = value ^ (value >>> 16);
  z = Math.imul(z, 0x21f0aaad);
  z ^= z >>> 15;
  z = Math.imul(z, 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}
