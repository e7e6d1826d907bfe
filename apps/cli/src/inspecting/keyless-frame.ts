/**
 * A keyed filter for those who have not its key. Bits, counters and sizes do not depend on the key; only which bits a key
 * has does. So what is in the frame can be shown: it is read as if its hash were one with a seed. Such a filter must never
 * be asked for a key: every answer would be wrong.
 */

import { hashKey } from 'bloomery';
import { nestedFrames } from './nested-frames.ts';

/** A copy of a whole plain keyed frame, and of the frames in it, that decodes without the key. */
export function keylessFrame(frame: Uint8Array): Uint8Array {
  const copy = frame[5] === HEAVY_HITTERS ? withoutCandidates(frame) : frame.slice();
  for (const { start, end } of nestedFrames(copy)) removeKey(copy.subarray(start, end));
  removeKey(copy);
  return copy;
}

/** Whether a frame, plain or coded, was made with a secret key. */
export function isKeyed(frame: Uint8Array): boolean {
  return frame[HASH] === SIPHASH;
}

/** The candidates of a tracker are compared with their counters, which needs the hash. heavyKeysIn reads them. */
function withoutCandidates(frame: Uint8Array): Uint8Array {
  const { start } = heavyCandidates(frame);
  const copy = new Uint8Array(start + CHECKSUM);
  copy.set(frame.subarray(0, start));
  copy.fill(0, CANDIDATE_BYTES, CANDIDATE_BYTES + 5);
  return copy;
}

/** How many keys of a plain frame of HeavyHitters have at least `least` additions by its counters. */
export function heavyKeysIn(frame: Uint8Array, least: number): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const { start, end } = heavyCandidates(frame);
  let heavy = 0;
  // Type (1), count (8), at least (8), length (4), the bytes of the key: docs/spec/frame.md, structure 12.
  for (let at = start; at < end; at += 21 + view.getUint32(at + 17, true)) {
    if (Number(view.getBigUint64(at + 1, true)) >= least) heavy++;
  }
  return heavy;
}

function heavyCandidates(frame: Uint8Array): { start: number; end: number } {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const end = frame.length - CHECKSUM;
  const length = view.getUint32(CANDIDATE_BYTES, true) + 2 ** 32 * frame[CANDIDATE_BYTES + 4];
  return { start: end - length, end };
}

function removeKey(frame: Uint8Array): void {
  frame[HASH] = FORGE64;
  frame.fill(0, SEED, SEED + 8);
  new DataView(frame.buffer, frame.byteOffset, frame.length).setUint32(
    frame.length - CHECKSUM,
    checksum(frame),
    true,
  );
}

/** As docs/spec/frame.md has it: pages of 4096 bytes, hashed with their number as seed, combined by XOR. */
function checksum(frame: Uint8Array): number {
  let sum = 0;
  for (let page = 0; page * PAGE < frame.length - CHECKSUM; page++) {
    const bytes = frame.subarray(page * PAGE, Math.min((page + 1) * PAGE, frame.length - CHECKSUM));
    sum ^= hashKey(bytes, { seed: page }).low;
  }
  return sum >>> 0;
}

const HEAVY_HITTERS = 12;
/** Where their frame has the length of the candidates. */
const CANDIDATE_BYTES = 31;
const HASH = 7;
const SEED = 8;
const FORGE64 = 1;
const SIPHASH = 2;
const CHECKSUM = 4;
const PAGE = 4096;
