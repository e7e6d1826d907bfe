/**
 * Frames made small for sending (Mitzenmacher, Compressed Bloom Filters). A coded frame is a frame (docs/spec/frame.md) whose
 * variant has its highest bit set and whose payload is a bit code (bit-code.ts) in place of the plain bits; header,
 * parameters and checksum are as before, 32 bytes in all for a Bloom filter.
 *
 *     const message = compressFrame(filter.encode());               // here
 *     const filter = BloomFilter.decode(expandFrame(message));      // there
 *
 * A filter that is half full has nothing to compress: the gain comes from making it for the wire, larger and with
 * fewer hashes, which `plan()` of bloomery/math does (goal 'transmission').
 *
 * Counting filters (compressed V) are coded in planes: which counters are not 0; of those, which are above 1; of those,
 * which are above 2; and so on. Each plane is a bit array of independent bits, so this loses nothing. Counters that are so
 * high that planes do not pay (counter-planes.ts) are left in their plain frame.
 *
 * Bytes from strangers: a few bytes can stand for a large array, so the size is compared with a limit before anything is
 * allocated. The default allows 128 MiB; whoever expects more says so.
 */

import { checkOptions } from '../../filters/shared/options.ts';
import {
  CHECKSUM,
  checkChecksum,
  FrameError,
  type FrameHead,
  type FrameKind,
  readFrameHead,
  writeChecksum,
} from '../../frames/frame.ts';
import { BLOCKED_FRAME, BLOOM_FRAME, COUNTING_FRAME } from '../../frames/frame-kinds.ts';
import { checkChoice, checkNumber } from '../../math/checks.ts';
import { CodedBits, type Coding, decodeBits } from './bit-code.ts';
import { wordsOf } from './byte-stream.ts';
import { decodeCounters, encodeCounters } from './counter-planes.ts';
import { type Effort, encodeBits } from './encode-bits.ts';

export interface CompressOptions {
  /** 'small' (default): a byte or so above the entropy. 'fast': within 0.8 % of it, and several times as fast. */
  readonly effort?: Effort;
}

export interface ExpandOptions {
  /** Refuses what would take more memory than this. Default 128 MiB. */
  readonly maxBytes?: number;
}

/**
 * The coded frame of a plain one, which `encode` of a filter gives. A coded frame is left as it is, and so is the plain one
 * of a counting filter that would not get smaller.
 */
export function compressFrame(frame: Uint8Array, options: CompressOptions = {}): Uint8Array {
  checkOptions('compressFrame', options, ['effort']);
  const effort = checkChoice('effort', options.effort ?? 'small', ['small', 'fast']);
  const kind = kindOf(frame);
  const head = readFrameHead(kind, frame);
  if (isCoded(head)) return frame;
  const { units, unitBits } = unitsOf(kind, head);
  checkPlain(frame, head.start, units * unitBits);
  const words = wordsOf(frame.subarray(head.start, -CHECKSUM));
  const code =
    unitBits === 1 ? encodeBits(words, units, effort) : encodeCounters(words, units, unitBits, effort);
  return code === null ? frame : assemble(frame, head, head.variant | CODED, code);
}

/** The plain frame of a coded one, for `decode`. A plain frame is left as it is. */
export function expandFrame(frame: Uint8Array, options: ExpandOptions = {}): Uint8Array {
  checkOptions('expandFrame', options, ['maxBytes']);
  const kind = kindOf(frame);
  const head = readFrameHead(kind, frame);
  if (!isCoded(head)) return frame;
  const { code, units, unitBits, bytes } = openCoded(frame, kind, head, options);
  const words =
    unitBits === 1 ? decodeBits(code, units, head.start) : decodeCounters(code, units, unitBits, head.start);
  const payload = new Uint8Array(words.buffer, 0, bytes);
  return assemble(frame, head, head.variant & ~CODED, payload);
}

/** How the bits of a coded Bloom filter are coded; 'plain' for a plain frame. */
export function codingOf(frame: Uint8Array): Coding {
  const kind = kindOf(frame);
  const head = readFrameHead(kind, frame);
  if (!isCoded(head)) return 'plain';
  const { code, units, unitBits } = openCoded(frame, kind, head, { maxBytes: Number.POSITIVE_INFINITY });
  if (unitBits !== 1) throw new TypeError('A counting filter has a coding for each of its planes');
  return new CodedBits(code, units, head.start).coding;
}

/** @internal The code of a coded frame of bits, its length and checksum verified. */
export function openBits(frame: Uint8Array, kind: FrameKind, options: ExpandOptions): CodedBits {
  const head = readFrameHead(kind, frame);
  if (!isCoded(head)) throw new FrameError('payload', 6, 'expected a coded frame, got a plain one');
  const { code, units } = openCoded(frame, kind, head, options);
  return new CodedBits(code, units, head.start);
}

/** @internal Refuses a plain frame that is not whole, was changed, or has ones beyond its last bit. */
export function checkPlain(frame: Uint8Array, start: number, bits: number): void {
  const size = start + Math.ceil(bits / 8) + CHECKSUM;
  if (frame.length !== size) {
    const code = frame.length < size ? 'truncated' : 'trailing';
    throw new FrameError(code, Math.min(size, frame.length), `expected ${size} bytes, got ${frame.length}`);
  }
  checkChecksum(frame);
  const last = size - CHECKSUM - 1;
  if (bits % 8 !== 0 && frame[last] >>> (bits % 8) !== 0) {
    throw new FrameError(
      'payload',
      last,
      `expected zeros beyond the last of ${bits} bits, got ${frame[last]}`,
    );
  }
}

/** What the variant of a coded frame has beside that of the plain one. */
export const CODED = 128;
const MAX_BYTES = 2 ** 27;
const KINDS = [BLOOM_FRAME, BLOCKED_FRAME, COUNTING_FRAME];

function isCoded(head: FrameHead): boolean {
  return (head.variant & CODED) !== 0;
}

function kindOf(frame: Uint8Array): FrameKind {
  const kind = KINDS.find(({ code }) => code === frame?.[5]);
  // An unknown one is read as a Bloom filter, and the error says what is wrong with it.
  if (kind === undefined) readFrameHead(BLOOM_FRAME, frame);
  return kind ?? BLOOM_FRAME;
}

/** How many bits or counters the payload holds, how wide they are, and the bytes that they take; parameters are checked. */
function unitsOf(kind: FrameKind, { variant, parameters }: FrameHead) {
  const bytes = kind.payloadLength(variant & ~CODED, parameters);
  if (kind === COUNTING_FRAME) return { bytes, units: parameters[0], unitBits: parameters[2] };
  return { bytes, units: kind === BLOOM_FRAME ? parameters[0] : 8 * bytes, unitBits: 1 };
}

function openCoded(
  frame: Uint8Array,
  kind: FrameKind,
  head: FrameHead,
  { maxBytes = MAX_BYTES }: ExpandOptions,
) {
  checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
  const { bytes, units, unitBits } = unitsOf(kind, head);
  if (frame.length < head.start + 1 + CHECKSUM) {
    throw new FrameError(
      'truncated',
      frame.length,
      `expected a code and a checksum, got ${frame.length} bytes in all`,
    );
  }
  checkChecksum(frame);
  if (bytes > maxBytes) {
    throw new FrameError(
      'limit',
      head.start,
      `expected at most ${maxBytes} bytes unpacked (maxBytes), got ${bytes}`,
    );
  }
  return { bytes, units, unitBits, code: frame.subarray(head.start, -CHECKSUM) };
}

function assemble(frame: Uint8Array, head: FrameHead, variant: number, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(head.start + payload.length + CHECKSUM);
  bytes.set(frame.subarray(0, head.start));
  bytes[6] = variant;
  bytes.set(payload, head.start);
  writeChecksum(bytes);
  return bytes;
}
