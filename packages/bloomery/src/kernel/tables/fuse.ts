/**
 * The table under `StaticFilter` and `BloomierFilter`: a binary fuse table (Graf, Lemire 2022:
 * Binary Fuse Filters, Fast and Smaller Than Xor Filters) with four positions per key. Twin:
 * assembly/tables/fuse.ts. fuse-build.ts solves a table, and math/fuse-size.ts computes its size.
 *
 * The table is a row of (segments + 3) segments of L slots; a slot is a field of `stride` bits. A
 * key has one slot in each of four neighbouring segments. Its answer is the XOR of the first
 * `width` bits of the four slots and of the key's own fingerprint. Solving means choosing the slots
 * so that each key of the set gets its wanted answer. For any other key the answer is `width`
 * random bits.
 *
 *     t = number of the attempt, 0 in nearly all tables;  h = hash of the key, H its upper half
 *     z = (h ^ (t + 1) * K0) * K1;  z ^= z >> 32;  z *= K2                     modulo 2^64
 *     u = (H + t * low half of z) mod 2^32
 *     segment = floor(u * segments / 2^32);  r = u * segments mod 2^32
 *     slot 0 = segment * L           + floor(r * L / 2^32)
 *     slot i = (segment + i) * L     + floor(z_i * L / 2^21)
 *              z_1, z_2, z_3: bits 43.., 22.., 1.. of z, 21 each
 *     fingerprint = upper `width` bits of mix(low half of z + 0x9E3779B1 * upper half of z)
 *
 * Why not as in the paper. There L is a power of two, hence the number of slots jumps with the
 * number of keys. Where L has just been rounded down, tables are too long for their width and
 * solving fails (other implementations show this near 11,500 keys). Here L is any number, and the
 * size and the probability of success are smooth in n. In the first attempt slot 0 is monotone in
 * the hash: keys in the order of their hashes fill the table from left to right, which keeps a
 * construction in the cache. The fingerprint is a second mix of all 64 bits and not a part of them,
 * because at a million keys the slots alone use 56 of the 64.
 *
 * All products stay under 2^53 (segments and L are at most 2^21), so they are exact in a double.
 */

import { halves } from '../../hashing/hash-scheme.ts';
import { mulHigh } from '../../hashing/mul-high.ts';

const imul = Math.imul;
const INVERSE_2_32 = 2 ** -32;
const INVERSE_2_21 = 2 ** -21;
const K1L = 0x1ce4e5b9;
const K1H = 0xbf58476d | 0;
const K2L = 0x133111eb;
const K2H = 0x94d049bb | 0;

/** Upper limit of both the number of segments and their length. */
export const MOST_SEGMENTS = 2 ** 21;
/** The most attempts at solving. */
export const MOST_ATTEMPTS = 64;
/** The largest number of keys of a table. `MOST_TABLE_BITS` is the largest number of bits. */
export const MOST_FUSE_KEYS = 2 ** 30;
const MOST_TABLE_BITS = 2 ** 36;

/** The size of a table. */
export interface FuseShape {
  /** L, the number of slots in a segment. */
  readonly segmentLength: number;
  /** The number of segments that slot 0 can be in; three more follow. 0 if the table is a band. */
  readonly segments: number;
}

/** The contents of a slot. */
export interface FuseFields {
  /** The number of bits of a slot, at most 64. */
  readonly stride: number;
  /** The number of its lowest bits that are XORed, at most 32. */
  readonly width: number;
}

/**
 * The parameters that locate a key's slots. With 0 segments they are those of a band (band.ts),
 * whose columns are the slots.
 */
export class FuseLayout implements FuseShape, FuseFields {
  readonly segmentLength: number;
  readonly segments: number;
  readonly attempt: number;
  readonly stride: number;
  readonly width: number;
  readonly slots: number;
  /**
   * Two more than the slots need, because both kernels read a field together with the words after
   * it. A band has none to spare: at ten keys they would be 40 % of it.
   */
  readonly wordCount: number;
  readonly seedLow: number;
  readonly seedHigh: number;

  constructor({ segmentLength, segments }: FuseShape, attempt: number, { stride, width }: FuseFields) {
    this.segmentLength = segmentLength;
    this.segments = segments;
    this.attempt = attempt;
    this.stride = stride;
    this.width = width;
    this.slots = segments > 0 ? (segments + 3) * segmentLength : segmentLength;
    this.wordCount = Math.ceil((this.slots * stride) / 32) + (segments > 0 ? 2 : 0);
    [this.seedLow, this.seedHigh] = halves(BigInt.asUintN(64, BigInt(attempt + 1) * 0x9e3779b97f4a7c15n));
  }
}

/** Whether a table like this can exist for `size` keys. Without keys it has no slots. */
export function isSoundTable(
  size: number,
  { segments, segmentLength }: FuseShape,
  attempt: number,
  stride: number,
): boolean {
  const slots = (segments + 3) * segmentLength;
  return (
    size <= MOST_FUSE_KEYS &&
    attempt < MOST_ATTEMPTS &&
    segments >= 1 &&
    segments <= MOST_SEGMENTS &&
    segmentLength <= MOST_SEGMENTS &&
    slots < 2 ** 31 &&
    slots * stride <= MOST_TABLE_BITS &&
    (size === 0 ? slots === 0 : slots >= size)
  );
}

/** The result of `locate`: the four slots and the fingerprint. Overwritten by the next call. */
export const located = /* @__PURE__ */ new Int32Array(5);

/** Finds the slots and the fingerprint of a hash, whose halves are int32. */
export function locate(layout: FuseLayout, low: number, high: number): void {
  const { segmentLength, attempt } = layout;
  let xL = low ^ layout.seedLow;
  let xH = high ^ layout.seedHigh;
  let zH = (mulHigh(xL, K1L) + imul(xH, K1L) + imul(xL, K1H)) | 0;
  xL = imul(xL, K1L) ^ zH;
  xH = zH;
  zH = (mulHigh(xL, K2L) + imul(xH, K2L) + imul(xL, K2H)) | 0;
  const zL = imul(xL, K2L);
  const product = ((high + imul(attempt, zL)) >>> 0) * layout.segments;
  const segment = (product * INVERSE_2_32) | 0;
  const first = imul(segment, segmentLength);
  located[0] = first + (((product - segment * 4294967296) * segmentLength * INVERSE_2_32) | 0);
  located[1] = first + segmentLength + (((zH >>> 11) * segmentLength * INVERSE_2_21) | 0);
  const middle = ((zH & 0x7ff) << 10) | (zL >>> 22);
  located[2] = first + 2 * segmentLength + ((middle * segmentLength * INVERSE_2_21) | 0);
  located[3] = first + 3 * segmentLength + ((((zL >>> 1) & 0x1fffff) * segmentLength * INVERSE_2_21) | 0);
  let y = (zL + imul(zH, 0x9e3779b1)) | 0;
  y = imul(y ^ (y >>> 16), 0x7feb352d);
  y = imul(y ^ (y >>> 15), 0x846ca68b);
  located[4] = y >>> (32 - layout.width);
}

/**
 * The answer for a hash: the XOR of its four slots and its fingerprint, `width` bits. Leaves the
 * slots in `located`.
 */
export function fuseAnswer(words: Uint32Array, layout: FuseLayout, low: number, high: number): number {
  const { stride, width } = layout;
  locate(layout, low, high);
  const slots =
    rawField(words, located[0], stride) ^
    rawField(words, located[1], stride) ^
    rawField(words, located[2], stride) ^
    rawField(words, located[3], stride);
  return ((slots ^ located[4]) << (32 - width)) >>> (32 - width);
}

/** Reads `width` bits of a slot, from bit `from` on. `from` + `width` is at most `stride`. */
export function readField(
  words: Uint32Array,
  slot: number,
  stride: number,
  from: number,
  width: number,
): number {
  const bit = imul(slot & 31, stride) + from;
  const at = imul(slot >>> 5, stride) + (bit >>> 5);
  const shift = bit & 31;
  const value = (words[at] >>> shift) | ((words[at + 1] << (31 - shift)) << 1);
  return (value << (32 - width)) >>> (32 - width);
}

/** Replaces `width` bits of a slot. */
export function writeField(
  words: Uint32Array,
  slot: number,
  stride: number,
  from: number,
  width: number,
  value: number,
): void {
  const bit = imul(slot & 31, stride) + from;
  const at = imul(slot >>> 5, stride) + (bit >>> 5);
  const shift = bit & 31;
  const mask = -1 >>> (32 - width);
  words[at] = (words[at] & ~(mask << shift)) | (value << shift);
  if (shift + width > 32) {
    words[at + 1] = (words[at + 1] & ~(mask >>> (32 - shift))) | (value >>> (32 - shift));
  }
}

/** Reads 32 bits from the beginning of a slot. The caller drops the bits beyond the field. */
function rawField(words: Uint32Array, slot: number, stride: number): number {
  // Computed in steps of 32 slots, which are `stride` words, so that no product exceeds 32 bits.
  const bit = imul(slot & 31, stride);
  const at = imul(slot >>> 5, stride) + (bit >>> 5);
  const shift = bit & 31;
  return (words[at] >>> shift) | ((words[at + 1] << (31 - shift)) << 1);
}
