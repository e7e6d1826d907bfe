/**
 * A fountain code over the blocks of a piece of content: LT code (Luby 2002) with the degrees of
 * `robustSoliton`. A symbol has an id of 32 bits and the size of a block. The ids below the number
 * of blocks are the blocks themselves, so holders of plain blocks and of coded symbols speak one
 * language. All others are the XOR of some blocks, which follow from the id and the key.
 *
 * The key comes from the digest of the content, and from a salt if the receiver wants one. The
 * degree and the blocks of an id are drawn by SipHash under that key. A sender who may choose ids
 * can compute them as well, so it can choose useless ones. It gains what a sender of garbage gains,
 * because a degree is at most the spike of the distribution, and equal ids count once. A receiver
 * that asks for ids of its own choice does not even leave this.
 *
 * Why not RaptorQ (RFC 6330): it needs 0 to 2 more symbols where this needs 1 to 2 %, but its
 * intermediate symbols, tables and two constraint matrices are some thousand lines, and patents on
 * it are pledged for the RFC as it stands only.
 */

import { hashKey, SecretKey } from 'bloomery';
import { DeliveryError } from '../delivery-error.ts';
import { type DegreeDistribution, robustSoliton } from '../math/robust-soliton.ts';

/** The most blocks of one code. Larger content is cut into segments (`planSegments`). */
export const MOST_BLOCKS = 8192;
const MOST_BLOCK_BYTES = 2 ** 20;
/** Ids end here. */
const ID_END = 2 ** 32;

export interface CodeShape {
  /** Bytes of the content. */
  readonly bytes: number;
  /** Bytes of a block, a multiple of 16 up to 2^20. The last block is padded with zeros. */
  readonly blockBytes: number;
  /** 16 bytes, from `codeKey`. */
  readonly key: Uint8Array;
}

/** The key of the code of a segment: from the digest of the file, and a salt if there is one. */
export function codeKey(
  digest: Uint8Array,
  segment = 0,
  salt: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  if (!(digest instanceof Uint8Array) || digest.length < 16)
    throw new TypeError('Cannot derive a key: expected a digest of at least 16 bytes, got another value');
  const message = new Uint8Array(5 + digest.length + salt.length);
  const view = new DataView(message.buffer);
  view.setUint32(1, segment, true);
  message.set(digest, 5);
  message.set(salt, 5 + digest.length);
  const { scheme } = new SecretKey(digest.slice(0, 16));
  const key = new DataView(new ArrayBuffer(16));
  for (let half = 0; half < 2; half++) {
    message[0] = half;
    const { low, high } = hashKey(message, scheme);
    key.setUint32(8 * half, low, true);
    key.setUint32(8 * half + 4, high, true);
  }
  return new Uint8Array(key.buffer);
}

export class SymbolCode {
  readonly bytes: number;
  readonly blockBytes: number;
  readonly blocks: number;
  readonly #scheme: SecretKey['scheme'];
  readonly #degrees: DegreeDistribution;
  /** The degree is the first whose threshold is above 32 random bits. */
  readonly #thresholds: Float64Array;
  readonly #seenIn: Uint32Array;
  readonly #idBytes = new Uint8Array(4);
  #turn = 0;

  constructor({ bytes, blockBytes, key }: CodeShape) {
    if (!(Number.isInteger(blockBytes / 16) && blockBytes >= 16 && blockBytes <= MOST_BLOCK_BYTES))
      throw new RangeError(
        `Cannot make a code: expected blocks of a multiple of 16 up to ${MOST_BLOCK_BYTES} bytes, got ${blockBytes}`,
      );
    if (!(Number.isSafeInteger(bytes) && bytes > 0))
      throw new RangeError(`Cannot make a code: expected a number of bytes above 0, got ${bytes}`);
    const blocks = Math.ceil(bytes / blockBytes);
    if (blocks > MOST_BLOCKS)
      throw new DeliveryError(
        'limit',
        'make a code',
        `expected at most ${MOST_BLOCKS} blocks, got ${blocks}`,
      );
    this.bytes = bytes;
    this.blockBytes = blockBytes;
    this.blocks = blocks;
    this.#scheme = new SecretKey(key).scheme;
    this.#degrees = robustSoliton(blocks);
    let sum = 0;
    this.#thresholds = this.#degrees.probabilities.map((share) => {
      sum += share;
      return Math.round(sum * 2 ** 32);
    });
    this.#seenIn = new Uint32Array(blocks);
  }

  /** Mean degree of coded symbols. */
  get meanDegree(): number {
    return this.#degrees.meanDegree;
  }

  /** The greatest degree of a coded symbol. */
  get mostDegree(): number {
    return this.#degrees.spike;
  }

  /** The blocks whose XOR a symbol is, in the order in which they are drawn. */
  blocksOf(id: number): number[] {
    if (!(Number.isInteger(id) && id >= 0 && id < ID_END))
      throw new RangeError(`Cannot use a symbol: expected an id below 2^32, got ${id}`);
    const { blocks } = this;
    if (id < blocks) return [id];
    for (let i = 0; i < 4; i++) this.#idBytes[i] = id >>> (8 * i);
    const { low, high } = hashKey(this.#idBytes, this.#scheme);
    const draw = drawsOf(low, high);
    const degree = this.#degreeAt(draw());
    this.#turn = (this.#turn + 1) >>> 0;
    if (this.#turn === 0) {
      this.#seenIn.fill(0);
      this.#turn = 1;
    }
    const drawn: number[] = [];
    while (drawn.length < degree) {
      const block = Math.floor((draw() / 2 ** 32) * blocks);
      if (this.#seenIn[block] === this.#turn) continue;
      this.#seenIn[block] = this.#turn;
      drawn.push(block);
    }
    return drawn;
  }

  #degreeAt(random: number): number {
    const thresholds = this.#thresholds;
    let low = 1;
    let high = thresholds.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (thresholds[middle] <= random) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** 32 bits at a time from 64 (sfc32 of PractRand). */
function drawsOf(low: number, high: number): () => number {
  let a = low | 0;
  let b = high | 0;
  let c = 0x5bd1e995;
  let counter = 1;
  const next = () => {
    const drawn = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + drawn) | 0;
    return drawn >>> 0;
  };
  for (let i = 0; i < 8; i++) next();
  return next;
}
