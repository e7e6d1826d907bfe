/**
 * Frames in frames: ScalableBloomFilter, RotatingBloomFilter and AttenuatedBloomFilter consist of
 * Bloom filters. The payload holds these filters, each with a number.
 *
 *     for each filter:
 *       6  note: a number stored with the filter, such as how many keys went in; 0 if none
 *       6  length of its frame
 *       …  its frame, as `BloomFilter.encode` writes it, with its checksum
 *
 * The filters repeat parts of the outer frame (hash, seed). That costs about forty bytes per
 * filter, and allows each of them to be cut out and read on its own. Lengths are compared with the
 * available bytes before a frame is read.
 */

import { checkScalablePlan, type ScalablePlan } from '../math/scalable.ts';
import { doublesOf } from './counter-kinds.ts';
import { FrameError } from './envelope.ts';
import { checkParameters, type FrameKind } from './frame.ts';

export const ROTATIONS = ['by-hand', 'by-time', 'when-full'] as const;
export const MAX_GENERATIONS = 32;

/** A frame whose payload consists of frames. */
export interface NestingKind extends FrameKind {
  /** The number of frames. */
  count(parameters: readonly number[]): number;
}

/**
 * Parameters: rate, growth and tightening (as halves of doubles), initial capacity, stages, bytes
 * of the payload. The variant is the layout: classic, partitioned.
 */
export const SCALABLE_FRAME: NestingKind = {
  code: 9,
  name: 'ScalableBloomFilter',
  widths: [4, 4, 4, 4, 4, 4, 6, 1, 6],
  count: (parameters) => parameters[7],
  payloadBits: (variant, parameters) => {
    const plan = scalablePlanOf(parameters);
    const [stages, length] = parameters.slice(7);
    let sound = variant < 2 && stages > 0;
    try {
      checkScalablePlan(plan);
    } catch {
      sound = false;
    }
    const { falsePositiveRate, initialCapacity, growth, tightening } = plan;
    checkParameters(
      sound,
      `layout ${variant}, rate ${falsePositiveRate}, ${initialCapacity} keys, growth ${growth}, tightening ${tightening} and ${stages} stages`,
    );
    return 8 * length;
  },
};

/**
 * Parameters: generations, ttl (0 if there is none), clock, bytes of the payload. The variant is
 * the rotation.
 */
export const ROTATING_FRAME: NestingKind = {
  code: 10,
  name: 'RotatingBloomFilter',
  widths: [1, 6, 6, 6],
  count: (parameters) => parameters[0],
  payloadBits: (variant, [generations, ttlMs, , length]) => {
    const sound =
      variant < ROTATIONS.length &&
      generations >= 2 &&
      generations <= MAX_GENERATIONS &&
      ttlMs > 0 === (ROTATIONS[variant] === 'by-time');
    checkParameters(sound, `rotation ${variant}, ${generations} generations and a ttl of ${ttlMs} ms`);
    return 8 * length;
  },
};

/** Parameters: levels, bytes of the payload. */
export const ATTENUATED_FRAME: NestingKind = {
  code: 11,
  name: 'AttenuatedBloomFilter',
  widths: [1, 6],
  count: (parameters) => parameters[0],
  payloadBits: (variant, [levels, length]) => {
    checkParameters(variant === 0 && levels > 0, `variant ${variant} and ${levels} levels`);
    return 8 * length;
  },
};

/** The plan of a scalable filter, from the parameters of its frame. */
export function scalablePlanOf(parameters: readonly number[]): ScalablePlan {
  const [falsePositiveRate, growth, tightening] = doublesOf(parameters.slice(0, 6));
  return { falsePositiveRate, growth, tightening, initialCapacity: parameters[6] };
}

export interface FrameWithNote {
  readonly frame: Uint8Array;
  /** An integer from 0 to 2^48 - 1. */
  readonly note: number;
}

/** Writes the payload of a structure that consists of filters. */
export function joinFrames(parts: readonly FrameWithNote[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { frame }) => sum + NOTE_BYTES + frame.length, 0));
  let at = 0;
  for (const { frame, note } of parts) {
    write48(bytes, at, note);
    write48(bytes, at + 6, frame.length);
    bytes.set(frame, at + NOTE_BYTES);
    at += NOTE_BYTES + frame.length;
  }
  return bytes;
}

/** A frame in a payload: its offsets there, and its note. */
export interface PartOfPayload {
  readonly start: number;
  readonly end: number;
  readonly note: number;
}

/**
 * The `count` frames that fill a payload. `base` is where the payload begins in the outer frame,
 * for the offsets in errors.
 */
export function splitFrames(payload: Uint8Array, base: number, count: number): PartOfPayload[] {
  const parts: PartOfPayload[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const start = at + NOTE_BYTES;
    const end = start > payload.length ? Number.POSITIVE_INFINITY : start + read48(payload, at + 6);
    if (end > payload.length) {
      throw new FrameError('payload', base + at, `filter ${i + 1} of ${count} goes beyond the payload`);
    }
    parts.push({ start, end, note: read48(payload, at) });
    at = end;
  }
  if (at !== payload.length) {
    const message = `${payload.length - at} bytes after the last of ${count} filters`;
    throw new FrameError('payload', base + at, message);
  }
  return parts;
}

/** The number of bytes of a note and a length. */
export const NOTE_BYTES = 12;

function write48(bytes: Uint8Array, at: number, value: number): void {
  for (let i = 0; i < 6; i++) bytes[at + i] = value / 256 ** i;
}

function read48(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = 5; i >= 0; i--) value = value * 256 + bytes[at + i];
  return value;
}
