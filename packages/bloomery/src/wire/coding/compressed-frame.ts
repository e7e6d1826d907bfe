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
 * are left in their plain frame. The other structures are coded section by section
 * (payload-sections.ts, section-code.ts).
 *
 * Untrusted input. A few bytes can stand for a large array, so the size is compared with a limit
 * before anything is allocated. The default allows 128 MiB; a caller that expects more sets
 * `maxBytes`.
 */

import { FrameError } from '../../frames/envelope.ts';
import { CODED, checkPlain, type FrameKind, readHead, withPayload } from '../../frames/frame.ts';
import { kindOfFrame } from '../../frames/frame-head.ts';
import { BLOCKED_FRAME, BLOOM_FRAME, COUNTING_FRAME } from '../../frames/frame-kinds.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { checkChoice, checkNumber } from '../../math/checks.ts';
import { CodedBits, type Coding } from './bit-code.ts';
import { wordsOf } from './byte-stream.ts';
import { codeBitsFrame, expandBitsFrame, isCoded, openCoded } from './coded-bits-frame.ts';
import { decodeCounters, encodeCounters } from './counter-planes.ts';
import type { Effort } from './encode-bits.ts';
import { sectionsOf } from './payload-sections.ts';
import { codeSections, expandSections } from './section-code.ts';

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
 * so is a plain frame that would not get smaller, unless it is a BloomFilter or a
 * BlockedBloomFilter (they grow by one byte at most).
 */
export function compressFrame(frame: Uint8Array, options: CompressOptions = {}): Uint8Array {
  checkOptions('compressFrame', options, ['effort']);
  const effort = checkChoice('effort', options.effort ?? 'small', ['small', 'fast']);
  const kind = kindOfFrame(frame);
  const head = readHead(kind, frame);
  if (isCoded(head)) return frame;
  if (isBits(kind)) return codeBitsFrame(kind, frame, effort);
  const { payload, parameters } = checkPlain(kind, frame);
  const [counters, , counterBits] = parameters;
  const code =
    kind === COUNTING_FRAME
      ? encodeCounters(wordsOf(payload), counters, counterBits, effort)
      : codeSections(sectionsOf(kind, head), payload, effort);
  return code === null ? frame : withPayload(frame, head.variant | CODED, head.start, code);
}

/** Turns a coded frame into a plain one, for `decode`. A plain frame is returned unchanged. */
export function expandFrame(frame: Uint8Array, options: ExpandOptions = {}): Uint8Array {
  checkOptions('expandFrame', options, ['maxBytes']);
  const maxBytes = limitOf(options);
  const kind = kindOfFrame(frame);
  const head = readHead(kind, frame);
  if (!isCoded(head)) return frame;
  if (isBits(kind)) return expandBitsFrame(kind, frame, maxBytes);
  const { code, bytes } = openCoded(frame, kind, head, maxBytes);
  const [counters, , counterBits] = head.parameters;
  const payload =
    kind === COUNTING_FRAME
      ? new Uint8Array(decodeCounters(code, counters, counterBits, head.start).buffer, 0, bytes)
      : expandSections(sectionsOf(kind, head), code, head.start);
  return withPayload(frame, head.variant & ~CODED, head.start, payload);
}

/** The coding of the bits of a coded Bloom filter; 'plain' for a plain frame. */
export function codingOf(frame: Uint8Array): Coding {
  const kind = kindOfFrame(frame);
  const head = readHead(kind, frame);
  if (!isCoded(head)) return 'plain';
  if (kind === COUNTING_FRAME) {
    throw new TypeError(
      'Cannot name the coding of a frame: expected a filter with one coding, got a CountingBloomFilter, whose planes have one each',
    );
  }
  if (!isBits(kind)) {
    throw new TypeError(
      `Cannot name the coding of a frame: expected a BloomFilter or a BlockedBloomFilter, got a ${kind.name}`,
    );
  }
  return openBits(frame, kind, { maxBytes: Number.POSITIVE_INFINITY }).coding;
}

/** @internal The code of a coded frame of bits, after its length and checksum were verified. */
export function openBits(frame: Uint8Array, kind: FrameKind, options: ExpandOptions): CodedBits {
  const head = readHead(kind, frame);
  if (!isCoded(head)) throw new FrameError('payload', 6, 'expected a coded frame, got a plain one');
  const { code, bits } = openCoded(frame, kind, head, limitOf(options));
  return new CodedBits(code, bits, head.start);
}

const MAX_BYTES = 2 ** 27;

function limitOf({ maxBytes = MAX_BYTES }: ExpandOptions): number {
  return checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
}

/** Whether the payload is one array of bits. */
function isBits(kind: FrameKind): boolean {
  return kind === BLOOM_FRAME || kind === BLOCKED_FRAME;
}
