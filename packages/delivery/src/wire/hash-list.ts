/**
 * A list of hashes: the SHA-256 of each block of a file, with its size. It is a claim until a file
 * that fits it has the digest that was asked for. docs/spec/delivery.md has the bytes.
 */

import { createHash } from 'node:crypto';
import { type FileShape, MOST_BLOCKS, shapeOf } from '../decisions/file-shape.ts';
import { DeliveryError } from '../delivery-error.ts';

export const HASH_BYTES = 32;
const HEAD_BYTES = 16;
const MAGIC = 0x4c4d_4c42; // BLML
const VERSION = 1;
/** The most bytes of a list: a file of 256 GiB. */
export const MOST_LIST_BYTES = HEAD_BYTES + MOST_BLOCKS * HASH_BYTES;

export class HashList {
  readonly bytes: Uint8Array;
  readonly shape: FileShape;
  /** The SHA-256 of the bytes, in hexadecimal digits: the name of the list. */
  readonly name: string;

  private constructor(bytes: Uint8Array, shape: FileShape) {
    this.bytes = bytes;
    this.shape = shape;
    this.name = sha256(bytes).toString('hex');
  }

  /** The list of a file whose hashes are known, one after the other. */
  static of(size: number, hashes: Uint8Array): HashList {
    const shape = shapeOf(size);
    if (hashes.length !== shape.blocks * HASH_BYTES)
      throw new RangeError(
        `Cannot make a list of hashes: expected ${shape.blocks} of ${HASH_BYTES} bytes, got ${hashes.length} bytes`,
      );
    const bytes = new Uint8Array(HEAD_BYTES + hashes.length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, MAGIC, true);
    bytes[4] = VERSION;
    view.setBigUint64(8, BigInt(size), true);
    bytes.set(hashes, HEAD_BYTES);
    return new HashList(bytes, shape);
  }

  /** Reads a list. Throws a DeliveryError if the bytes are none. */
  static decode(bytes: Uint8Array): HashList {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const refuse = (expected: string, got: unknown): never => {
      throw new DeliveryError('malformed', 'read a list of hashes', `expected ${expected}, got ${got}`);
    };
    if (bytes.length < HEAD_BYTES) refuse(`at least ${HEAD_BYTES} bytes`, bytes.length);
    if (bytes.length > MOST_LIST_BYTES) refuse(`at most ${MOST_LIST_BYTES} bytes`, bytes.length);
    if (view.getUint32(0, true) !== MAGIC) refuse('BLML at byte 0', 'other bytes');
    if (view.getUint32(4, true) !== VERSION) refuse(`version ${VERSION} at byte 4`, view.getUint32(4, true));
    const size = Number(view.getBigUint64(8, true));
    const blocks = (bytes.length - HEAD_BYTES) / HASH_BYTES;
    if (!Number.isSafeInteger(size) || size > MOST_BLOCKS * 2 ** 20)
      refuse('a size of at most 256 GiB', size);
    const shape = shapeOf(size);
    if (shape.blocks !== blocks) refuse(`${shape.blocks} hashes for ${size} bytes`, blocks);
    return new HashList(Uint8Array.from(bytes), shape);
  }

  hashOf(block: number): Uint8Array {
    const at = HEAD_BYTES + block * HASH_BYTES;
    return this.bytes.subarray(at, at + HASH_BYTES);
  }
}

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
