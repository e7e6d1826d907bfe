/**
 * The way from one snapshot to another of the same structure, as bytes: the body of a delta, and of
 * a delta message of the sync session.
 *
 *     BloomFilter, BlockedBloomFilter   a bit code of the XOR of the payloads
 *     other structures                  00, or 01 and the parameters of the new frame if they
 *                                       differ; then each section (section-changes.ts)
 *
 * Structure, variant, hash and seed are the same on both sides, and so are the parameters, except
 * for those that follow from the contents: the number of positions or stages, the length of a
 * payload, the time of a rotation, the shape of a table.
 *
 * Untrusted input. The size of the new payload is compared with a limit before it is allocated. The
 * result is not checked here: its sum tells whether it is the announced snapshot.
 */

import { HEAVY_FRAME } from '../../frames/counter-kinds.ts';
import { CHECKSUM, refuse, writeChecksum } from '../../frames/envelope.ts';
import { type FrameKind, HEADER, readHead } from '../../frames/frame.ts';
import { BLOCKED_FRAME, BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { ATTENUATED_FRAME, ROTATING_FRAME, SCALABLE_FRAME } from '../../frames/nested-kinds.ts';
import { BLOOMIER_FRAME, HASH_LIST_FRAME, STATIC_FRAME } from '../../frames/table-kinds.ts';
import { decodeBits } from './bit-code.ts';
import { ByteReader, ByteWriter, wordsOf } from './byte-stream.ts';
import { type Effort, encodeBits } from './encode-bits.ts';
import { sectionsOf } from './payload-sections.ts';
import { readChanges, type SectionBytes, writeChanges } from './section-changes.ts';
import { Snapshot } from './snapshot.ts';

/** Whether there is a way between two snapshots: the same structure, hash and settings. */
export function isRelated(from: Snapshot, to: Snapshot): boolean {
  if (from.kind !== to.kind) return false;
  for (let i = 0; i < HEADER; i++) if (from.frame[i] !== to.frame[i]) return false;
  const free = freeParameters(from.kind);
  return from.head.parameters.every((value, i) => free.includes(i) || value === to.head.parameters[i]);
}

/** Codes the way between two related snapshots. */
export function encodeChanges(from: Snapshot, to: Snapshot, effort: Effort): Uint8Array {
  if (isBits(from.kind)) {
    const changed = wordsOf(from.payload);
    const target = wordsOf(to.payload);
    for (let i = 0; i < changed.length; i++) changed[i] ^= target[i];
    return encodeBits(changed, from.bits, effort);
  }
  const writer = new ByteWriter();
  const parameters = to.frame.subarray(HEADER, to.head.start);
  const same = parameters.every((byte, i) => byte === from.frame[HEADER + i]);
  writer.byte(same ? 0 : 1);
  if (!same) writer.bytes(parameters);
  const before = partsOf(from.kind, from.head, from.payload);
  for (const [i, now] of partsOf(to.kind, to.head, to.payload).entries()) {
    if (now.bytes.length > 0) writeChanges(writer, now, before[i], effort);
  }
  return writer.finish();
}

/**
 * Follows the way from a snapshot. `base` is where the code begins in its message, for the offsets
 * in errors.
 */
export function followChanges(from: Snapshot, code: Uint8Array, base: number, maxBytes: number): Snapshot {
  if (isBits(from.kind)) return from.xor(decodeBits(code, from.bits, base));
  const { kind } = from;
  const { start } = from.head;
  const reader = new ByteReader(code, base);
  const head = Uint8Array.from(from.frame.subarray(0, start));
  const flag = reader.byte('whether the parameters are the same');
  if (flag > 1) reader.fail('payload', `expected 0 or 1 for the parameters, got ${flag}`);
  if (flag === 1) head.set(reader.bytes(start - HEADER, 'parameters'), HEADER);
  const raw = readHead(kind, head);
  const bytes = Math.ceil(kind.payloadBits(raw.variant, raw.parameters) / 8);
  if (bytes > Math.max(maxBytes, from.payload.length)) {
    refuse('limit', base, `at most ${maxBytes} bytes (maxBytes)`, bytes);
  }
  const frame = new Uint8Array(start + bytes + CHECKSUM);
  frame.set(head);
  const before = partsOf(kind, from.head, from.payload);
  for (const [i, now] of partsOf(kind, raw, frame.subarray(start, start + bytes)).entries()) {
    if (now.bytes.length > 0) readChanges(reader, now, before[i]);
  }
  reader.end();
  writeChecksum(frame);
  return new Snapshot(frame);
}

function isBits(kind: FrameKind): boolean {
  return kind === BLOOM_FRAME || kind === BLOCKED_FRAME;
}

function partsOf(kind: FrameKind, head: Snapshot['head'], payload: Uint8Array): SectionBytes[] {
  return sectionsOf(kind, head).map((section) => ({
    section,
    bytes: payload.subarray(section.start, section.end),
  }));
}

/** The parameters of a kind that follow from its contents, by their places. */
function freeParameters(kind: FrameKind): readonly number[] {
  switch (kind) {
    case HASH_LIST_FRAME: // number of positions
      return [3];
    case HEAVY_FRAME: // bytes of the candidates
      return [5];
    case SCALABLE_FRAME: // stages, bytes of the payload
      return [7, 8];
    case ROTATING_FRAME: // clock, bytes of the payload
      return [2, 3];
    case ATTENUATED_FRAME: // bytes of the payload
      return [1];
    case BLOOMIER_FRAME: // size, attempt, segments and their length
      return [0, 3, 4, 5];
    case STATIC_FRAME:
      return [0, 2, 3, 4];
    default:
      return [];
  }
}
