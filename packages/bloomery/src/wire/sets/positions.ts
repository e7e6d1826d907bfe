/**
 * Positions: the numbers that a summary sends instead of bits if it is a set. The position of a key
 * is floor(hash · U / 2^64) in a universe of U, so a set of positions is a Bloom filter with one
 * hash function and U bits that is never held as an array (compressed II.B at its limit: table I,
 * third column). The share of keys that are wrongly in it is at most n/U.
 *
 * The sum identifies a set: the terms of its positions, added modulo 2^64. A change costs one
 * addition on each side, whatever the size of the set, where `frameSum` reads the whole frame. The
 * term of a position is the first output of SplitMix64 (Steele, Lea, Flood, 2014) from that state,
 * so two sets that differ by accident have the same sum once in 2^64. Sums do not stop a forger:
 * the transport must authenticate.
 *
 * Universe and key id have terms as well, of numbers that are no positions. Otherwise two empty
 * sets in different universes would have the same sum, and a subscriber would keep the wrong one.
 */

import { mulHigh } from '../../hashing/mul-high.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import { STEP, type Steps } from './steps.ts';

/** The largest universe. Products of its halves with 16 bits of hash are exact doubles. */
export const MAX_UNIVERSE = 2 ** 48;

/** The position of a hash in a universe: floor(hash · universe / 2^64), exactly. */
export function positionOf({ low, high }: Pick<KeyHash, 'low' | 'high'>, universe: number): number {
  // Four pieces of 16 bits, from the lowest: rest = floor((piece · universe + rest) / 2^16), with
  // universe and rest in two limbs of 24 bits.
  const upper = Math.floor(universe / LIMB);
  const lower = universe - upper * LIMB;
  let upperRest = 0;
  let lowerRest = 0;
  for (let i = 0; i < 4; i++) {
    const half = i < 2 ? low : high;
    const piece = i % 2 === 0 ? half & 0xffff : half >>> 16;
    const small = piece * lower + lowerRest;
    const carry = Math.floor(small / LIMB);
    const large = piece * upper + upperRest + carry;
    upperRest = Math.floor(large / 65536);
    lowerRest = ((small - carry * LIMB) >>> 16) + (large - upperRest * 65536) * 256;
  }
  return upperRest * LIMB + lowerRest;
}

/** Writes the 64-bit term of a position into `out`: [low, high] as int32. */
export function mixPosition(position: number, out: Int32Array): void {
  const upper = Math.floor(position / WORD);
  // z = position + 0x9e3779b97f4a7c15
  let low = (position - upper * WORD + 0x7f4a7c15) | 0;
  const carry = position - upper * WORD + 0x7f4a7c15 >= WORD ? 1 : 0;
  let high = (upper + 0x9e3779b9 + carry) | 0;
  // z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9
  let a = low ^ ((low >>> 30) | (high << 2));
  let b = high ^ (high >>> 30);
  high = (mulHigh(a, 0x1ce4e5b9) + Math.imul(a, 0xbf58476d) + Math.imul(b, 0x1ce4e5b9)) | 0;
  low = Math.imul(a, 0x1ce4e5b9);
  // z = (z ^ (z >>> 27)) * 0x94d049bb133111eb
  a = low ^ ((low >>> 27) | (high << 5));
  b = high ^ (high >>> 27);
  high = (mulHigh(a, 0x133111eb) + Math.imul(a, 0x94d049bb) + Math.imul(b, 0x133111eb)) | 0;
  low = Math.imul(a, 0x133111eb);
  // z ^ (z >>> 31)
  out[0] = low ^ ((low >>> 31) | (high << 1));
  out[1] = high ^ (high >>> 31);
}

/** Changes of a set. Both lists rise, and have nothing in common. */
export interface PositionChanges {
  readonly removed: Float64Array;
  readonly added: Float64Array;
}

/** The sum of a set, kept current change by change. */
export class PositionSum {
  #low = 0;
  #high = 0;

  /** The sum of the empty set in a universe, under a key id. */
  static ofEmpty(universe: number, keyId: number): PositionSum {
    const sum = new PositionSum();
    sum.add(universe); // the positions are below it
    sum.add(MAX_UNIVERSE + 1 + keyId);
    return sum;
  }

  get value(): bigint {
    return (BigInt(this.#high) << 32n) | BigInt(this.#low);
  }

  copy(): PositionSum {
    const sum = new PositionSum();
    sum.#low = this.#low;
    sum.#high = this.#high;
    return sum;
  }

  add(position: number): void {
    mixPosition(position, term);
    const low = this.#low + (term[0] >>> 0);
    this.#low = low >>> 0;
    this.#high = (this.#high + (term[1] >>> 0) + (low >= WORD ? 1 : 0)) % WORD;
  }

  subtract(position: number): void {
    mixPosition(position, term);
    const low = this.#low - (term[0] >>> 0);
    this.#low = low >>> 0;
    this.#high = (this.#high - (term[1] >>> 0) - (low < 0 ? 1 : 0) + WORD) % WORD;
  }

  /** Takes away and adds many positions. */
  *change({ removed, added }: PositionChanges): Steps<void> {
    for (let i = 0; i < removed.length; i++) {
      this.subtract(removed[i]);
      if (i % STEP === STEP - 1) yield;
    }
    for (let i = 0; i < added.length; i++) {
      this.add(added[i]);
      if (i % STEP === STEP - 1) yield;
    }
  }
}

const WORD = 2 ** 32;
const LIMB = 2 ** 24;
/** The term that was mixed last. */
const term = /* @__PURE__ */ new Int32Array(2);
