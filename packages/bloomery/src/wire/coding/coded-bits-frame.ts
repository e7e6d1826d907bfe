/**
 * Coded frames of a single bit array, which is the payload of BloomFilter and BlockedBloomFilter,
 * and of the filters inside scalable, rotating and attenuated ones.
 */

import { CHECKSUM, checkChecksum, refuse } from '../../frames/envelope.ts';
import {
  CODED,
  checkPlain,
  type FrameKind,
  type RawHead,
  readHead,
  withPayload,
} from '../../frames/frame.ts';
import { decodeBits } from './bit-code.ts';
import { wordsOf } from './byte-stream.ts';
import { type Effort, encodeBits } from './encode-bits.ts';

/** Codes the bits of a plain frame, which is checked. */
export function codeBitsFrame(kind: FrameKind, frame: Uint8Array, effort: Effort): Uint8Array {
  const { bits, payload, variant, start } = checkPlain(kind, frame);
  return withPayload(frame, variant | CODED, start, encodeBits(wordsOf(payload), bits, effort));
}

/** Makes a coded frame plain. Refuses bits that would take more than `maxBytes`. */
export function expandBitsFrame(kind: FrameKind, frame: Uint8Array, maxBytes: number): Uint8Array {
  const head = readHead(kind, frame);
  const { code, bits, bytes } = openCoded(frame, kind, head, maxBytes);
  const payload = new Uint8Array(decodeBits(code, bits, head.start).buffer, 0, bytes);
  return withPayload(frame, head.variant & ~CODED, head.start, payload);
}

interface OpenFrame {
  readonly code: Uint8Array;
  /** The number of bits and bytes of the plain payload. */
  readonly bits: number;
  readonly bytes: number;
}

/**
 * The code of a coded frame of any kind, after its parameters, its length and its checksum were
 * verified and the size of its plain payload was compared with the limit.
 */
export function openCoded(frame: Uint8Array, kind: FrameKind, head: RawHead, maxBytes: number): OpenFrame {
  const bits = kind.payloadBits(head.variant & ~CODED, head.parameters);
  const bytes = Math.ceil(bits / 8);
  if (frame.length < head.start + 1 + CHECKSUM) {
    refuse('truncated', frame.length, 'a code and a checksum', `${frame.length} bytes in all`);
  }
  checkChecksum(frame);
  if (bytes > maxBytes) {
    refuse('limit', head.start, `at most ${maxBytes} bytes unpacked (maxBytes)`, bytes);
  }
  return { bits, bytes, code: frame.subarray(head.start, -CHECKSUM) };
}

export function isCoded(head: RawHead): boolean {
  return (head.variant & CODED) !== 0;
}
