/**
 * Compression of frames for sending (Mitzenmacher, Compressed Bloom Filters). A coded frame is a
 * frame (docs/spec/frame.md) whose variant has its highest bit set and whose payload is a bit code
 * (bit-code.ts) in place of the plain bits. Header, parameters and checksum are as before, 32 bytes
 * in all for a Bloom filter.
 *
 *     const message = compressFrame(filter.encode());               // here
 *     const filter = BloomFilter.decode(expandFrame(message));      // there
 *
 * A filter that is half full cannot be compressed. The gain comes from making it for transmission,
 * larger and with fewer hashes, which `plan()` of bloomery/math does (goal 'transmission').
 *
 * Counting filters (compressed V) are coded in planes: which counters are not 0; of those, which
 * are above 1; of those, which are above 2; and so on. Each plane is a bit array of independent
 * bits, so this loses nothing. Counters that are so high that planes do not pay (counter-planes.ts)
 * are left in their plain frame.
 *
 * Untrusted input. A few bytes can stand for a large array, so the size is compared with a limit
 * before anything is allocated. The default allows 128 MiB; a caller that expects more sets
 * `maxBytes`.
 */

import { checkOptions } from '../../filters/shared/options.ts';
import { CHECKSUM, checkChecksum, FrameError, refuse } from '../../frames/envelope.ts';
import {
  CODED,
  checkPlain,
  type FrameKind,
  kindAmong,
  type RawHead,
  readHead,
  withPayload,
} from '../../frames/frame.ts';
import { BLOCKED_FRAME, BLOOM_FRAME, COUNTING_FRAME } from '../../frames/frame-kinds.ts';
import { checkChoice, checkNumber } from '../../math/checks.ts';
import { CodedBits, type Coding, decodeBits } from './bit-code.ts';
import { wordsOf } from './byte-stream.ts';
import { decodeCounters, encodeCounters } from './counter-planes.ts';
import { type Effort, encodeBits } from './encode-bits.ts';

export interface CompressOptions {
  /**
   * 'small' (default) is about a byte above the entropy. 'fast' is within 0.8 % of it, and several
   * times as fast.
   */
  readonly effort?: Effort;
}

export interface ExpandOptions {
  /** Frames that would take more bytes of memory than this are refused. Default 128 MiB. */
  readonly maxBytes?: number;
}

/**
 * Codes a plain frame, which `encode` of a filter returns. A coded frame is returned unchanged, and
 * so is the plain frame of a counting filter that would not get smaller.
 */
export function compressFrame(frame: Uint8Array, options: CompressOptions = {}): Uint8Array {
  checkOptions('compressFrame', options, ['effort']);
  const effort = checkChoice('effort', options.effort ?? 'small', ['small', 'fast']);
  const kind = kindAmong(KINDS, frame);
  const head = readHead(kind, frame);
  if (isCoded(head)) return frame;
  const { units, unitBits } = unitsOf(kind, head);
  const words = wordsOf(checkPlain(kind, frame).payload);
  const code =
    unitBits === 1 ? encodeBits(words, units, effort) : encodeCounters(words, units, unitBits, effort);
  return code === null ? frame : withPayload(frame, head.variant | CODED, head.start, code);
}

/** Turns a coded frame into a plain one, for `decode`. A plain frame is returned unchanged. */
export function expandFrame(frame: Uint8Array, options: ExpandOptions = {}): Uint8Array {
  checkOptions('expandFrame', options, ['maxBytes']);
  const kind = kindAmong(KINDS, frame);
  const head = readHead(kind, frame);
  if (!isCoded(head)) return frame;
  const { code, units, unitBits, bytes } = openCoded(frame, kind, head, options);
  const words =
    unitBits === 1 ? decodeBits(code, units, head.start) : decodeCounters(code, units, unitBits, head.start);
  const payload = new Uint8Array(words.buffer, 0, bytes);
  return withPayload(frame, head.variant & ~CODED, head.start, payload);
}

/** The coding of the bits of a coded Bloom filter; 'plain' for a plain frame. */
export function codingOf(frame: Uint8Array): Coding {
  const kind = kindAmong(KINDS, frame);
  const head = readHead(kind, frame);
  if (!isCoded(head)) return 'plain';
  const { code, units, unitBits } = openCoded(frame, kind, head, { maxBytes: Number.POSITIVE_INFINITY });
  if (unitBits !== 1) throw new TypeError('A counting filter has a coding for each of its planes');
  return new CodedBits(code, units, head.start).coding;
}

/** @internal The code of a coded frame of bits, after its length and checksum were verified. */
export function openBits(frame: Uint8Array, kind: FrameKind, options: ExpandOptions): CodedBits {
  const head = readHead(kind, frame);
  if (!isCoded(head)) throw new FrameError('payload', 6, 'expected a coded frame, got a plain one');
  const { code, units } = openCoded(frame, kind, head, options);
  return new CodedBits(code, units, head.start);
}

const MAX_BYTES = 2 ** 27;
const KINDS = [BLOOM_FRAME, BLOCKED_FRAME, COUNTING_FRAME];

function isCoded(head: RawHead): boolean {
  return (head.variant & CODED) !== 0;
}

/**
 * The number of bits or counters in the payload, their width, and the bytes that they take. Checks
 * the parameters.
 */
function unitsOf(kind: FrameKind, { variant, parameters }: RawHead) {
  const bits = kind.payloadBits(variant & ~CODED, parameters);
  const unitBits = kind === COUNTING_FRAME ? parameters[2] : 1;
  return { bytes: Math.ceil(bits / 8), units: bits / unitBits, unitBits };
}

function openCoded(
  frame: Uint8Array,
  kind: FrameKind,
  head: RawHead,
  { maxBytes = MAX_BYTES }: ExpandOptions,
) {
  checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
  const { bytes, units, unitBits } = unitsOf(kind, head);
  if (frame.length < head.start + 1 + CHECKSUM) {
    refuse('truncated', frame.length, 'a code and a checksum', `${frame.length} bytes in all`);
  }
  checkChecksum(frame);
  if (bytes > maxBytes) {
    refuse('limit', head.start, `at most ${maxBytes} bytes unpacked (maxBytes)`, bytes);
  }
  return { bytes, units, unitBits, code: frame.subarray(head.start, -CHECKSUM) };
}
