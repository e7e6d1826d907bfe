/**
 * Checks of frames as bytes, for callers that move, check or show frames and look up no keys. They
 * need neither the class of a filter nor a secret key.
 *
 * `checkFrame` finds every accident: bytes that were cut off, added or changed, in the frame and in
 * the frames inside it. It does not prove that a filter wrote them: `decodeFilter` also refuses
 * contents that contradict each other, such as counters that do not add up to their total.
 */

import { type CandidateRecord, candidateRecords, exactCountBits, TOTAL_BYTES } from './counter-kinds.ts';
import { CHECKSUM, checkChecksum, checkLength, decoding, FrameError, refuse } from './envelope.ts';
import { checkPlain, readHead } from './frame.ts';
import { type FrameHead, kindOfFrame, readFrameHead, type StructureName } from './frame-head.ts';
import { type NestingKind, splitFrames } from './nested-kinds.ts';

/** Throws unless a frame, plain or coded, is complete and unchanged. Returns its head. */
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
  /** Offsets of its beginning and its end in the outer frame. */
  readonly start: number;
  readonly end: number;
  /** The number that the structure stores with it, such as how many keys went in. */
  readonly note: number;
}

/**
 * The frames inside a plain frame: the stages of a ScalableBloomFilter, the generations of a
 * RotatingBloomFilter, the levels of an AttenuatedBloomFilter. Empty for the other structures.
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

/** The payload of a plain frame, as a view. */
export function payloadOf(bytes: Uint8Array): Uint8Array {
  const { start, end, plainLength } = readFrameHead(bytes);
  if (end === undefined) refuse('payload', start, 'a plain payload', CODED_PAYLOAD);
  checkLength(bytes.length, plainLength);
  return bytes.subarray(start, end);
}

/**
 * The counters of a CountMinSketch, a HeavyHitters, a RangeSketch or a SpectralBloomFilter, which
 * follow the total, as a view. A RangeSketch without a sketch has none.
 */
export function countersOf(bytes: Uint8Array): Uint8Array {
  const { structure, parameters } = readFrameHead(bytes);
  const payload = payloadOf(bytes);
  switch (structure) {
    case 'HeavyHitters':
      return payload.subarray(TOTAL_BYTES, payload.length - parameters.candidateBytes);
    case 'RangeSketch':
      return payload.subarray(exactCountBits(parameters.exactBits) / 8).subarray(TOTAL_BYTES);
    case 'CountMinSketch':
    case 'SpectralBloomFilter':
      return payload.subarray(TOTAL_BYTES);
    default:
      throw new FrameError('structure', 5, `expected a structure of counters, got ${structure}`);
  }
}

/** The candidates of a HeavyHitters as written in its frame. Empty for the other structures. */
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

/** The description of a coded payload in error messages. */
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
