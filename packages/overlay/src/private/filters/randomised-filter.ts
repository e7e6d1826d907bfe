/**
 * A Bloom filter with noise in the sense of differential privacy: every bit was flipped with a
 * known probability (math/randomised-response.ts). `RandomisedPublisher` makes them.
 *
 * It is no `BloomFilter`, because it has false negatives: a member may be missing. So it does not
 * answer `has`. It says how likely its bits are if a key is in the set (`likelihoodRatio`), and it
 * estimates sizes and overlaps, for which the noise averages out.
 *
 * One release changes a reader's odds that a key is in the set by at most a factor e^ε, whatever
 * else the reader knows. That is little for small ε, and much for large ones: at ε = 4 a factor of
 * 55. The number of bits is public and must not depend on the exact size of the set.
 * docs/spec/randomised-filter.md has the bytes.
 */

import { type HashScheme, hashKeys } from 'bloomery';
import {
  bitLikelihoodRatio,
  epsilonOf,
  FLIP_STEPS,
  type OverlapEstimate,
  overlapFromOnes,
  sizeFromOnes,
  trueOnes,
} from '../math/randomised-response.ts';
import { SharingError } from '../sharing-error.ts';
import { deriveKeyBytes, secretKey } from './derived-key.ts';

/** Everything but the bits. Two filters with equal parameters have keys at the same positions. */
export interface RandomisedParameters {
  /** The number of bits, from 1 to 2^31. */
  readonly bits: number;
  /** The number of hashes, from 1 to 8. One or two are best. */
  readonly hashes: number;
  /** The number of random values, out of 2^32, that flip a bit: from 1 to 2^31. */
  readonly flips: number;
  /** 16 bytes that the positions depend on: public, or the secret of a pair or a group. */
  readonly salt: Uint8Array;
}

export class RandomisedFilter {
  readonly bits: number;
  readonly hashes: number;
  readonly flips: number;
  readonly #schemes: readonly HashScheme[];
  readonly #bytes: Uint8Array;
  readonly #ones: number;

  /** @internal `bytes` are the noisy bits, eight per byte, the lowest first. */
  constructor(parameters: RandomisedParameters, bytes: Uint8Array) {
    this.bits = parameters.bits;
    this.hashes = parameters.hashes;
    this.flips = parameters.flips;
    this.#schemes = positionSchemes(parameters);
    this.#bytes = bytes;
    this.#ones = countOnes(bytes);
  }

  /** The probability with which each bit was flipped. */
  get flipProbability(): number {
    return this.flips / FLIP_STEPS;
  }

  /** The privacy that one key loses by this release: its odds change by at most e^epsilon. */
  get epsilon(): number {
    return epsilonOf(this.flipProbability, this.hashes);
  }

  /** The number of ones, noise included. */
  onesCount(): number {
    return this.#ones;
  }

  /**
   * How much more likely the noisy bits of this key are if it is in the set than if it is not. The
   * odds before, times this, are the odds after; the guarantee is about this number.
   */
  likelihoodRatio(key: string): number {
    return this.likelihoodRatios([key])[0];
  }

  /** The same for many keys. */
  likelihoodRatios(keys: readonly string[]): Float64Array {
    const fill = this.#ones / this.bits;
    const [unset, set] = [false, true].map((bit) => bitLikelihoodRatio(bit, this.flipProbability, fill));
    const positions = this.#schemes.map((scheme) => positionsOf(keys, this.bits, scheme));
    const ratios = new Float64Array(keys.length).fill(1);
    for (let i = 0; i < keys.length; i++) {
      for (const [hash, bits] of positions.entries()) {
        // A position that two hashes share is one bit, and counts once.
        let seen = false;
        for (let before = 0; before < hash; before++) seen ||= positions[before][i] === bits[i];
        if (!seen) ratios[i] *= isSet(this.#bytes, bits[i]) ? set : unset;
      }
    }
    return ratios;
  }

  /** Estimates how many keys the set has. */
  estimatedSize(): number {
    return sizeFromOnes(trueOnes(this.#ones, this.bits, this.flipProbability), this.bits, this.hashes);
  }

  /** Estimates how many of the caller's keys are in the set behind this filter. */
  overlapWith(ownKeys: Iterable<string>): OverlapEstimate {
    const distinct = new Set(ownKeys);
    const own = trueBits(distinct, this.bits, this.#schemes);
    let ownOnes = 0;
    let noisyShared = 0;
    for (let bit = 0; bit < this.bits; bit++) {
      if (!isSet(own, bit)) continue;
      ownOnes++;
      if (isSet(this.#bytes, bit)) noisyShared++;
    }
    return overlapFromOnes({
      m: this.bits,
      k: this.hashes,
      p: this.flipProbability,
      ownSize: distinct.size,
      ownOnes,
      noisyOnes: this.#ones,
      noisyShared,
    });
  }

  /** The filter as bytes. The salt is not among them. */
  encode(): Uint8Array<ArrayBuffer> {
    const frame = new Uint8Array(HEAD + this.#bytes.length);
    const view = new DataView(frame.buffer);
    frame.set(MAGIC);
    view.setUint8(4, VERSION);
    view.setUint8(5, this.hashes);
    view.setUint32(6, this.bits, true);
    view.setUint32(10, this.flips, true);
    frame.set(this.#bytes, HEAD);
    return frame;
  }

  /**
   * Reads a filter. Throws a `SharingError` if the bytes are not such a filter, or if it has more
   * bits than `maxBits` (default 2^24), which is checked first.
   */
  static decode(
    frame: Uint8Array,
    { salt, maxBits = 2 ** 24 }: { readonly salt: Uint8Array; readonly maxBits?: number },
  ): RandomisedFilter {
    if (!(frame instanceof Uint8Array)) {
      throw new TypeError(`Cannot read a randomised filter: expected a Uint8Array, got ${typeof frame}`);
    }
    if (frame.length < HEAD) refuse(`at least ${HEAD} bytes`, frame.length, 'its head');
    if (MAGIC.some((byte, i) => frame[i] !== byte)) refuse('BLRF', 'other bytes', 'offset 0');
    const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
    const version = view.getUint8(4);
    if (version !== VERSION) {
      throw new SharingError(
        'version',
        `Cannot read a randomised filter: expected version ${VERSION}, got ${version} (offset 4)`,
      );
    }
    const hashes = view.getUint8(5);
    const bits = view.getUint32(6, true);
    const flips = view.getUint32(10, true);
    if (hashes < 1 || hashes > MAX_HASHES) refuse(`1 to ${MAX_HASHES} hashes`, hashes, 'offset 5');
    if (bits < 1 || bits > MAX_BITS) refuse('1 to 2^31 bits', bits, 'offset 6');
    if (bits > maxBits) {
      throw new SharingError(
        'limit',
        `Cannot read a randomised filter: expected at most ${maxBits} bits, got ${bits} (offset 6)`,
      );
    }
    // A filter without noise is not a randomised filter, and one that is all noise tells nothing.
    if (flips < 1 || flips >= FLIP_STEPS / 2) refuse('1 to 2^31 - 1 flips', flips, 'offset 10');
    const length = Math.ceil(bits / 8);
    if (frame.length !== HEAD + length) refuse(`${HEAD + length} bytes`, frame.length, 'its end');
    const unused = 8 * length - bits;
    if (unused > 0 && frame[frame.length - 1] >> (8 - unused) !== 0) {
      refuse('zeros after the last bit', frame[frame.length - 1], `offset ${frame.length - 1}`);
    }
    return new RandomisedFilter({ bits, hashes, flips, salt }, frame.slice(HEAD));
  }
}

/** @internal Sets the bits of all keys in a fresh array. */
export function trueBits(
  keys: Iterable<string>,
  bits: number,
  schemes: readonly HashScheme[],
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil(bits / 8));
  const list = [...keys];
  for (const scheme of schemes) {
    for (const bit of positionsOf(list, bits, scheme)) bytes[bit >>> 3] |= 1 << (bit & 7);
  }
  return bytes;
}

/** @internal One keyed hash for each of the k positions of a key. */
export function positionSchemes({
  hashes,
  salt,
}: Pick<RandomisedParameters, 'hashes' | 'salt'>): HashScheme[] {
  return Array.from(
    { length: hashes },
    (_, i) => secretKey(deriveKeyBytes(salt, `bloomery randomised filter 1 hash ${i}`)).scheme,
  );
}

/** The position of each key under one hash: the upper half of its hash, scaled to the bits. */
function positionsOf(keys: readonly string[], bits: number, scheme: HashScheme): Uint32Array {
  const { words } = hashKeys(keys, scheme);
  return Uint32Array.from(keys, (_, i) => Math.floor(((words[2 * i + 1] >>> 0) / 2 ** 32) * bits));
}

function countOnes(bytes: Uint8Array): number {
  let ones = 0;
  for (let byte of bytes) for (; byte !== 0; byte &= byte - 1) ones++;
  return ones;
}

function isSet(bytes: Uint8Array, bit: number): boolean {
  return ((bytes[bit >>> 3] >> (bit & 7)) & 1) === 1;
}

function refuse(expected: string, got: unknown, where: string): never {
  throw new SharingError(
    'malformed',
    `Cannot read a randomised filter: expected ${expected}, got ${got} (${where})`,
  );
}

const MAGIC = Uint8Array.of(0x42, 0x4c, 0x52, 0x46); // BLRF
const VERSION = 1;
const HEAD = 14;
/** @internal */ export const MAX_HASHES = 8;
/** @internal */ export const MAX_BITS = 2 ** 31;
