/**
 * The changes between two snapshots of a filter (Mitzenmacher, compressed IV). For Bloom filters
 * they are the XOR of the bits, which is sparse, so its code is far smaller than that of either
 * snapshot. For the other structures they are differences of counters, moved positions, and changed
 * or added nested filters (section-changes.ts).
 *
 *     0   4  magic 'BLMD' (42 4C 4D 44)
 *     4   1  version: 1
 *     5   8  the checksum of the frame it starts from: 64 bits of Forge64, seed 0, of all its bytes
 *     13  8  the checksum of the frame it leads to
 *     21  …  the changes (snapshot-changes.ts)
 *         4  checksum of the bytes before, as in a frame
 *
 * A delta can be applied only to the snapshot that it was made from: the first checksum is compared
 * before anything is done, the second after. With any other snapshot the caller gets an error,
 * never a filter that has lost keys. (The checksums guard against mistakes, not against forgers. If
 * an attacker can change messages, the transport must be authenticated.)
 *
 * Both functions work on plain frames (`filter.encode()`) of every structure.
 */

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
import { checkOptions } from '../../keys/check-options.ts';
import { checkNumber } from '../../math/checks.ts';
import type { Effort } from './encode-bits.ts';
import { Snapshot } from './snapshot.ts';
import { encodeChanges, followChanges, isRelated } from './snapshot-changes.ts';

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

export interface ApplyOptions {
  /**
   * Deltas that lead to a larger payload than this are refused, unless it is no larger than that of
   * the frame at hand. Default 128 MiB.
   */
  readonly maxBytes?: number;
}

/**
 * Makes the delta that leads from one plain frame to another of the same structure and settings.
 */
export function makeDelta(from: Uint8Array, to: Uint8Array, options: DeltaOptions = {}): Uint8Array {
  checkOptions('makeDelta', options, ['effort']);
  const { effort = 'small' } = options;
  const [before, after] = [new Snapshot(from), new Snapshot(to)];
  if (!isRelated(before, after)) {
    throw new RangeError(
      `Cannot make a delta: expected frames with the same parameters, seed and size, got two that differ (${before.kind.name}, ${after.kind.name})`,
    );
  }
  return assemble(before.sum, after.sum, encodeChanges(before.check(), after.check(), effort));
}

/** Returns the frame that a delta leads to. */
export function applyDelta(from: Uint8Array, delta: Uint8Array, options: ApplyOptions = {}): Uint8Array {
  checkOptions('applyDelta', options, ['maxBytes']);
  const { maxBytes = MAX_BYTES } = options;
  checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
  const before = new Snapshot(from);
  const { base, result, code } = readDelta(delta);
  if (before.sum !== base) {
    throw new OtherSnapshotError(
      `Cannot apply the delta: expected snapshot ${hex(base)}, got ${hex(before.sum)}`,
    );
  }
  return decoding('delta', () => {
    const after = followChanges(before, code, CODE_START, maxBytes);
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
const MAX_BYTES = 2 ** 27;

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

function hex(sum: bigint): string {
  return sum.toString(16).padStart(16, '0');
}
