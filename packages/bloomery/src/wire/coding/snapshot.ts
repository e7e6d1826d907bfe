/**
 * A closed state of a filter, as deltas and sync sessions see it: the plain frame, and the sum that
 * identifies it. A delta leads from one snapshot to another. The publisher holds the snapshot of
 * its last generation, and a subscriber checks every state that it takes against the announced sum.
 *
 * The sum is 64 bits of Forge64 with seed 0 over the whole frame, computed when it is first needed
 * (0.6 ms per MB). Two snapshots of one filter have the same sum if and only if they have the same
 * bytes, except once in 2^64. It guards against mistakes, not against forgers.
 *
 * Snapshots do not change. `xor` makes a new one: the copy costs less than a hundredth of the time
 * of coding the changes, and a caller may keep the old one.
 */

import { CHECKSUM, checkChecksum, checkLength, writeChecksum } from '../../frames/envelope.ts';
import { checkUnusedBits, type FrameKind, type RawHead, readHead } from '../../frames/frame.ts';
import { kindOfFrame } from '../../frames/frame-head.ts';
import { hashScheme } from '../../hashing/hash-scheme.ts';
import { hashBytesInto, hashOut } from '../../kernel/batches/hash-key.ts';

export class Snapshot {
  readonly frame: Uint8Array;
  readonly kind: FrameKind;
  readonly head: RawHead;
  /** The number of bits of the payload. */
  readonly bits: number;
  #sum: bigint | undefined;

  /**
   * Takes a plain frame, which must not be changed afterwards. Throws a `FrameError` if the head is
   * invalid or the length is another one. The checksum is not verified here: a damaged frame has
   * another sum (`check` verifies it).
   */
  constructor(frame: Uint8Array) {
    this.frame = frame;
    this.kind = kindOfFrame(frame);
    this.head = readHead(this.kind, frame);
    this.bits = this.kind.payloadBits(this.head.variant, this.head.parameters);
    checkLength(frame.length, this.head.start + Math.ceil(this.bits / 8) + CHECKSUM);
  }

  /** The 64-bit sum of the frame. */
  get sum(): bigint {
    return (this.#sum ??= frameSum(this.frame));
  }

  /** The payload, as a view. */
  get payload(): Uint8Array {
    return this.frame.subarray(this.head.start, -CHECKSUM);
  }

  /**
   * Throws a `FrameError` if the checksum is wrong or unused bits are set. Returns the snapshot.
   */
  check(): this {
    checkChecksum(this.frame);
    const last = this.frame.length - CHECKSUM - 1;
    checkUnusedBits(this.frame[last], this.bits, last);
    return this;
  }

  /** The snapshot whose payload differs in the bits that are set in `changed`. */
  xor(changed: Uint32Array): Snapshot {
    const { start } = this.head;
    const frame = this.frame.slice();
    const bytes = new Uint8Array(changed.buffer, changed.byteOffset, Math.ceil(this.bits / 8));
    const whole = start % 4 === 0 ? Math.floor(bytes.length / 4) : 0;
    const words = new Uint32Array(frame.buffer, 4 * Math.floor(start / 4), whole);
    for (let i = 0; i < whole; i++) words[i] ^= changed[i];
    for (let i = 4 * whole; i < bytes.length; i++) frame[start + i] ^= bytes[i];
    writeChecksum(frame);
    return new Snapshot(frame);
  }
}

/** The checksum that identifies a snapshot: 64 bits of Forge64, seed 0, of a whole plain frame. */
export function frameSum(frame: Uint8Array): bigint {
  hashBytesInto(frame, hashScheme());
  return (BigInt(hashOut[1] >>> 0) << 32n) | BigInt(hashOut[0] >>> 0);
}
