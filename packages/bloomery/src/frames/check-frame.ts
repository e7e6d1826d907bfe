/**
 * Frames as bytes, for callers that move, check or show them and ask no keys: nothing here needs a class of filter or a
 * secret key.
 *
 * `checkFrame` finds every accident: bytes that were cut off, added or changed, in the frame and in the frames inside it. It
 * does not prove that a filter wrote them: `decodeFilter` also refuses contents that contradict each other, such as counters
 * that do not add up to their total.
 */

import { type CandidateRecord, candidateRecords, TOTAL_BYTES } from './counter-kinds.ts';
import { CHECKSUM, checkChecksum, checkLength, decoding, FrameError, refuse } from './envelope.ts';
import { checkPlain, readHead } from './frame.ts';
import { type FrameHead, kindOfFrame, readFrameHead, type StructureName } from './frame-head.ts';
import { type NestingKind, splitFrames } from './nested-kinds.ts';

/** Refuses a frame, plain or coded, that is not whole or was changed. Returns its head. */
export function checkFrame(bytes: Uint8Array): FrameHead {
  const head = readFrameHead(bytes);
  if (head.coded) {
    const least = head.start + 1 + CHECKSUM;
    if (bytes.length < least) refuse('truncated', bytes.length, `at least ${least} bytes`, bytes.length);
    checkChecksum(bytes);
    return head;
  }
  checkPlain(kindOfFrame(bytes), bytes);
  const parts = nestedFrames(bytes);
  for (const [i, { start, end }] of parts.entries()) {
    const part = `filter ${i + 1} of ${parts.length}: `;
    decoding('frame', () => checkNested(bytes.subarray(start, end)), part, start);
  }
  return head;
}

/** A frame inside a frame. */
export interface NestedFrame {
  /** Where it begins in the outer frame, and where it ends. */
  readonly start: number;
  readonly end: number;
  /** The number that the structure keeps beside it, such as how many keys went in. */
  readonly note: number;
}

/**
 * The frames inside a plain frame: the stages of a ScalableBloomFilter, the generations of a RotatingBloomFilter, the
 * levels of an AttenuatedBloomFilter; none for the other structures.
 */
export function nestedFrames(bytes: Uint8Array): NestedFrame[] {
  const { structure, start } = readFrameHead(bytes);
  if (!NESTING.includes(structure)) return [];
  const kind = kindOfFrame(bytes) as NestingKind;
  const { parameters } = readHead(kind, bytes);
  return splitFrames(payloadOf(bytes), start, kind.count(parameters)).map((part) => ({
    start: start + part.start,
    end: start + part.end,
    note: part.note,
  }));
}

/** The payload of a plain frame: a view. */
export function payloadOf(bytes: Uint8Array): Uint8Array {
  const { start, end, plainLength } = readFrameHead(bytes);
  if (end === undefined) refuse('payload', start, 'a plain payload', CODED_PAYLOAD);
  checkLength(bytes.length, plainLength);
  return bytes.subarray(start, end);
}

/** The counters of a CountMinSketch, a HeavyHitters or a SpectralBloomFilter, which stand after the total: a view. */
export function countersOf(bytes: Uint8Array): Uint8Array {
  const { structure, parameters } = readFrameHead(bytes);
  const payload = payloadOf(bytes);
  switch (structure) {
    case 'HeavyHitters':
      return payload.subarray(TOTAL_BYTES, payload.length - parameters.candidateBytes);
    case 'CountMinSketch':
    case 'SpectralBloomFilter':
      return payload.subarray(TOTAL_BYTES);
    default:
      throw new FrameError('structure', 5, `expected a structure of counters, got ${structure}`);
  }
}

/** The candidates of a HeavyHitters as they stand in its frame; none for the other structures. */
export function candidatesOf(bytes: Uint8Array): CandidateRecord[] {
  const { structure, parameters } = readFrameHead(bytes);
  if (structure !== 'HeavyHitters') return [];
  const payload = payloadOf(bytes);
  const from = payload.length - parameters.candidateBytes;
  return [
    ...candidateRecords(payload.subarray(from), (at, what) => {
      throw new FrameError('payload', from + at, `no tracker has ${what}`);
    }),
  ];
}

/** What errors say of a coded payload. */
export const CODED_PAYLOAD = 'a coded one, which expandFrame of bloomery/wire makes plain';

const NESTING: readonly StructureName[] = [
  'ScalableBloomFilter',
  'RotatingBloomFilter',
  'AttenuatedBloomFilter',
];

function checkNested(bytes: Uint8Array): void {
  const { structure, coded } = checkFrame(bytes);
  if (structure !== 'BloomFilter' || coded)
    refuse('structure', 5, 'a plain BloomFilter', `${coded ? 'coded ' : ''}${structure}`);
}
