/**
 * The changes between two snapshots of a filter (Mitzenmacher, compressed IV): the XOR of their
 * bits, which is sparse and so codes far below either of them.
 *
 *     0   4  magic 'BLMD' (42 4C 4D 44)
 *     4   1  version: 1
 *     5   8  the checksum of the frame it starts from: 64 bits of Forge64, seed 0, of all its bytes
 *     13  8  the checksum of the frame it leads to
 *     21  …  the changed bits, as a bit code (bit-code.ts)
 *         4  checksum of the bytes before, as in a frame
 *
 * A delta can be applied only to the snapshot that it was made from: the first checksum is compared
 * before anything is done, the second after. With any other snapshot the caller gets an error,
 * never a filter that has lost keys. (The checksums guard against mistakes, not against forgers. If
 * an attacker can change messages, the transport must be authenticated.)
 *
 * Both functions work on plain frames (`filter.encode()`), so every filter whose payload is bits
 * can be updated with deltas.
 */

import { checkOptions } from '../../filters/shared/options.ts';
import {
  CHECKSUM,
  checkChecksum,
  checkEnvelope,
  DELTA_MAGIC,
  decoding,
  refuse,
  VERSION,
  writeChecksum,
} from '../../frames/envelope.ts';
import { readHead } from '../../frames/frame.ts';
import { BLOCKED_FRAME, BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { decodeBits } from './bit-code.ts';
import { wordsOf } from './byte-stream.ts';
import { type Effort, encodeBits } from './encode-bits.ts';
import { Snapshot } from './snapshot.ts';

/**
 * Thrown for a delta that does not start from the given snapshot. The caller should request the
 * whole state.
 */
export class OtherSnapshotError extends Error {
  override readonly name = 'OtherSnapshotError';
  readonly code = 'other-snapshot';
}

export interface DeltaOptions {
  readonly effort?: Effort;
}

/** Makes the delta that leads from one plain frame to another of the same parameters. */
export function makeDelta(from: Uint8Array, to: Uint8Array, options: DeltaOptions = {}): Uint8Array {
  checkOptions('makeDelta', options, ['effort']);
  const { effort = 'small' } = options;
  const [before, after] = [bitsSnapshot(from), bitsSnapshot(to)];
  if (from.length !== to.length || !sameBytes(from, to, before.head.start)) {
    throw new RangeError('A delta leads from a frame to another one with the same parameters, seed and size');
  }
  const changed = wordsOf(before.check().payload);
  const target = wordsOf(after.check().payload);
  for (let i = 0; i < changed.length; i++) changed[i] ^= target[i];
  return assemble(before.sum, after.sum, encodeBits(changed, before.bits, effort));
}

/** Returns the frame that a delta leads to. */
export function applyDelta(from: Uint8Array, delta: Uint8Array): Uint8Array {
  const before = bitsSnapshot(from);
  const { base, result, code } = readDelta(delta);
  if (before.sum !== base) {
    throw new OtherSnapshotError(
      `The delta starts from snapshot ${hex(base)}, this one is ${hex(before.sum)}`,
    );
  }
  return decoding('delta', () => {
    const after = before.xor(decodeBits(code, before.bits, CODE_START));
    if (after.sum !== result) {
      refuse('payload', CODE_START, `a way to snapshot ${hex(result)}`, `to ${hex(after.sum)}`);
    }
    return after.frame;
  });
}

/** The `frameSum` of the frames that a delta starts from and leads to. */
export function deltaEnds(delta: Uint8Array): { readonly base: bigint; readonly result: bigint } {
  const { base, result } = readDelta(delta);
  return { base, result };
}

const CODE_START = 21;
const KINDS = [BLOOM_FRAME, BLOCKED_FRAME];

function bitsSnapshot(frame: Uint8Array): Snapshot {
  const snapshot = new Snapshot(frame);
  if (!KINDS.includes(snapshot.kind)) readHead(KINDS[0], frame); // throws
  return snapshot;
}

function readDelta(delta: Uint8Array) {
  return decoding('delta', () => {
    checkEnvelope(DELTA_MAGIC, delta, CODE_START + 1 + CHECKSUM);
    checkChecksum(delta);
    const view = new DataView(delta.buffer, delta.byteOffset);
    return {
      base: view.getBigUint64(5, true),
      result: view.getBigUint64(13, true),
      code: delta.subarray(CODE_START, -CHECKSUM),
    };
  });
}

function assemble(base: bigint, result: bigint, code: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(CODE_START + code.length + CHECKSUM);
  const view = new DataView(bytes.buffer);
  bytes.set([...DELTA_MAGIC, VERSION]);
  view.setBigUint64(5, base, true);
  view.setBigUint64(13, result, true);
  bytes.set(code, CODE_START);
  writeChecksum(bytes);
  return bytes;
}

function sameBytes(a: Uint8Array, b: Uint8Array, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function hex(sum: bigint): string {
  return sum.toString(16).padStart(16, '0');
}
