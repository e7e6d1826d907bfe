/**
 * The frame: the bytes of a filter. docs/spec/frame.md specifies it with a worked example.
 *
 *     0   4  magic 'BLMY' (42 4C 4D 59)
 *     4   1  version of this layout: 1
 *     5   1  structure: the code of its `FrameKind`
 *     6   1  variant of the structure, such as its layout
 *     7   1  hash: 1 Forge64, 2 SipHash-2-4 with a secret key, 3 XXH64
 *     8   8  seed of the hash; for a keyed hash, the check value of the key (never the key)
 *     16  …  the structure's parameters, each with its own width
 *         …  payload
 *         4  checksum of everything before: the XOR over its pages of 4096 bytes of the lower 32 bits
 *            of Forge64, with the number of the page as seed
 *
 * Integers are little-endian. A frame holds everything that lookups in the filter need, except a
 * secret key, and nothing else. So the same keys under the same parameters give the same bytes on
 * every platform. The checksum goes by pages so that a file can be changed in place: a program that
 * changes a page can update the sum without reading the others.
 *
 * Frames are untrusted input. The payload is compared with the parameters before anything is
 * allocated. An error is a `FrameError` with the offset where it was detected. No filter is
 * returned half loaded.
 */

import {
  type HashScheme,
  hashScheme,
  IMPORT_XXH64,
  SEEDED_SCHEMES,
  SIPHASH24,
} from '../hashing/hash-scheme.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import {
  CHECKSUM,
  checkChecksum,
  checkEnvelope,
  checkLength,
  FRAME_MAGIC,
  FrameError,
  refuse,
  VERSION,
  viewOf,
  writeChecksum,
} from './envelope.ts';

/** The part of the frame format that differs between structures. */
export interface FrameKind {
  /** Never reused and never changed; docs/spec/frame.md lists the codes. */
  readonly code: number;
  readonly name: string;
  /** The number of bytes of each parameter, at most 6. */
  readonly widths: readonly number[];
  /**
   * Checks variant and parameters (see `checkParameters`) and returns the number of bits of the
   * payload.
   */
  payloadBits(variant: number, parameters: readonly number[]): number;
}

/**
 * Bytes that are read in pieces: an array of bytes, or the store of a filter, which may be larger
 * than any such array.
 */
export type Payload = Pick<Uint8Array, 'subarray'>;

export interface FrameContent<P extends Payload = Payload> {
  readonly variant: number;
  readonly scheme: HashScheme;
  readonly parameters: readonly number[];
  /** Has the length that the kind computes from variant and parameters. */
  readonly payload: P;
}

/**
 * Writes a filter's contents, as one array of bytes (`encodeFrame`) or in pieces (frame-chunks.ts).
 */
export type FrameWriter<T> = (kind: FrameKind, content: FrameContent) => T;

export function encodeFrame(kind: FrameKind, content: FrameContent): Uint8Array<ArrayBuffer> {
  const length = Math.ceil(kind.payloadBits(content.variant, content.parameters) / 8);
  const bytes = encodeHead(kind, content, length + CHECKSUM);
  bytes.set(content.payload.subarray(0, length), bytes.length - length - CHECKSUM);
  writeChecksum(bytes);
  return bytes;
}

/** @internal The bytes before the payload, followed by `room` zeros. */
export function encodeHead(
  kind: FrameKind,
  { variant, scheme, parameters }: FrameContent,
  room = 0,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(headLength(kind) + room);
  bytes.set([...FRAME_MAGIC, VERSION, kind.code, variant, scheme.code]);
  viewOf(bytes).setBigUint64(8, scheme.seed, true);
  let at = HEADER;
  kind.widths.forEach((width, i) => {
    for (let rest = parameters[i]; width--; rest /= 256) bytes[at++] = rest;
  });
  return bytes;
}

/** The fields before the payload, as numbers. */
export interface RawHead {
  readonly variant: number;
  readonly parameters: readonly number[];
  /** Offset of the payload. */
  readonly start: number;
}

/**
 * Reads the fields before the payload of a frame of one kind. Checks none of the bytes that follow.
 */
export function readHead(kind: FrameKind, bytes: Uint8Array): RawHead {
  const start = headLength(kind);
  checkEnvelope(FRAME_MAGIC, bytes, start);
  if (bytes[5] !== kind.code) refuse('structure', 5, `${kind.code} (${kind.name})`, bytes[5]);
  let at = HEADER;
  const parameters = kind.widths.map((width) => {
    let value = 0;
    for (let byte = 0; byte < width; byte++) value += bytes[at++] * 256 ** byte;
    return value;
  });
  return { variant: bytes[6], parameters, start };
}

/** A complete plain frame: its parameters, length, checksum and unused bits are right. */
export interface PlainFrame extends RawHead {
  /** A view of the frame's bytes. */
  readonly payload: Uint8Array;
  /** Number of bits of the payload. The unused bits of its last byte are 0. */
  readonly bits: number;
}

/** Throws unless a frame is plain, complete and unchanged. */
export function checkPlain(kind: FrameKind, bytes: Uint8Array): PlainFrame {
  const { variant, parameters, start } = readHead(kind, bytes);
  const bits = kind.payloadBits(variant, parameters);
  const end = start + Math.ceil(bits / 8);
  checkLength(bytes.length, end + CHECKSUM);
  checkChecksum(bytes);
  checkUnusedBits(bytes[end - 1], bits, end - 1);
  return { variant, parameters, start, bits, payload: bytes.subarray(start, end) };
}

/**
 * @internal Throws if bits beyond the last of `bits` bits are set. `last` is the byte that holds
 * it, `at` its offset.
 */
export function checkUnusedBits(last: number, bits: number, at: number): void {
  if (bits % 8 && last >>> (bits % 8)) refuse('payload', at, `zeros beyond the last of ${bits} bits`, last);
}

/** Reads a frame. The payload is a view of `bytes`. */
export function decodeFrame(
  kind: FrameKind,
  bytes: Uint8Array,
  key: SecretKey | undefined,
): PlainFrame & FrameContent<Uint8Array> {
  // The property is added to the object, because a copy by spreading costs half a microsecond.
  const frame = checkPlain(kind, bytes) as PlainFrame & { scheme: HashScheme };
  frame.scheme = readScheme(bytes, key);
  return frame;
}

/** The hash scheme that the head names. */
export function readScheme(bytes: Uint8Array, key: SecretKey | undefined): HashScheme {
  const code = bytes[7];
  const seed = readSeed(bytes);
  const keyed = code === SIPHASH24;
  if (keyed !== (key !== undefined))
    refuse('key', 7, keyed ? 'a secret key' : 'no key', keyed ? 'none' : 'one');
  const scheme = keyed ? hashScheme({ key: key! }) : SEEDED_SCHEMES[code]?.(seed);
  if (scheme === undefined) refuse('hash', 7, `hash 1 or ${IMPORT_XXH64}`, code);
  if (scheme.seed !== seed) refuse('key', 8, scheme.id, seed.toString(16));
  return scheme;
}

/** @internal The seed of the hash, or the check value of the key. */
export function readSeed(bytes: Uint8Array): bigint {
  return viewOf(bytes).getBigUint64(8, true);
}

/** @internal A copy of a frame with another variant and payload. */
export function withPayload(
  frame: Uint8Array,
  variant: number,
  start: number,
  payload: Uint8Array,
): Uint8Array {
  const bytes = new Uint8Array(start + payload.length + CHECKSUM);
  bytes.set(frame.subarray(0, start));
  bytes[6] = variant;
  bytes.set(payload, start);
  writeChecksum(bytes);
  return bytes;
}

/**
 * @internal The one of these kinds that the frame claims to be, or the first if it is none of them;
 * reading it then throws.
 */
export function kindAmong(kinds: readonly FrameKind[], bytes: Uint8Array): FrameKind {
  return kinds.find(({ code }) => code === bytes?.[5]) ?? kinds[0];
}

/** Throws for parameters that no filter of this library has. */
export function checkParameters(sound: boolean, what: string): void {
  if (!sound) throw new FrameError('parameters', HEADER, `no filter has ${what}`);
}

/** @internal The number of bytes before the payload. */
export function headLength({ widths }: FrameKind): number {
  return widths.reduce((total, width) => total + width, HEADER);
}

/** @internal The number of bytes before the parameters. */
export const HEADER = 16;
/** Bit 7 of the variant: the payload is coded (docs/spec/wire.md). */
export const CODED = 128;
