/**
 * The frame: how a filter is written to bytes. docs/spec/frame.md specifies it with a worked example.
 *
 *     0   4  magic 'BLMY' (42 4C 4D 59)
 *     4   1  version of this layout: 1
 *     5   1  structure: the code of its `FrameKind`
 *     6   1  variant of the structure, such as its layout
 *     7   1  hash: 1 Forge64, 2 SipHash-2-4 with a secret key, 3 XXH64
 *     8   8  seed of the hash; of a keyed one, the check value of the key (never the key)
 *     16  …  the structure's parameters, each with its own width
 *         …  payload
 *         4  checksum of everything before: the XOR over its pages of 4096 bytes of the lower 32 bits of Forge64,
 *            with the number of the page as seed
 *
 * Integers are little-endian. A frame says all that is needed to ask the filter, except a secret key, and
 * nothing else, so the same keys under the same parameters give the same bytes on every platform. The checksum goes by
 * pages so that a file can be changed in place: who changes a page knows how the sum changes without reading the others.
 *
 * Bytes come from strangers. The structure compares the payload with its parameters before anything is
 * allocated; what is wrong is a `FrameError` with the offset where it was seen. Nothing is half loaded.
 */

import { type HashScheme, hashScheme, SIPHASH24 } from '../hashing/hash-scheme.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import { hashBytesInto, hashOut } from '../kernel/batches/hash-key.ts';

/** What is particular to the frames of one structure. */
export interface FrameKind {
  /** Never given twice, never changed; docs/spec/frame.md lists them. */
  readonly code: number;
  readonly name: string;
  /** How many bytes each parameter takes, at most 6. */
  readonly widths: readonly number[];
  /** Checks variant and parameters (see `checkParameters`) and says how many bytes must follow them. */
  payloadLength(variant: number, parameters: readonly number[]): number;
}

/** What went wrong with a frame, for those who treat an unreadable filter as "maybe" and go on. */
export type FrameErrorCode =
  | 'truncated' // fewer bytes than the parameters ask for
  | 'trailing' // bytes after the end
  | 'not-a-frame' // the magic is missing
  | 'version' // written by a later version
  | 'structure' // another structure, or an unknown one
  | 'hash' // an unknown hash
  | 'parameters' // parameters that no filter of ours has
  | 'payload' // a payload that contradicts the parameters
  | 'checksum' // the bytes were changed
  | 'key' // a keyed filter and no key, or another key
  | 'limit'; // more memory than the caller allows

export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly code: FrameErrorCode;
  /** Where in the bytes it was seen. */
  readonly offset: number;

  constructor(code: FrameErrorCode, offset: number, message: string) {
    super(`Cannot decode frame: ${message} (at byte ${offset})`);
    this.code = code;
    this.offset = offset;
  }
}

export interface FrameContent {
  readonly variant: number;
  readonly scheme: HashScheme;
  readonly parameters: readonly number[];
  readonly payload: Uint8Array;
}

export function encodeFrame(
  { code, widths }: FrameKind,
  { variant, scheme, parameters, payload }: FrameContent,
): Uint8Array<ArrayBuffer> {
  const start = HEADER + sum(widths);
  const bytes = new Uint8Array(start + payload.length + CHECKSUM);
  bytes.set([...MAGIC, VERSION, code, variant, scheme.code]);
  viewOf(bytes).setBigUint64(8, scheme.seed, true);
  let at = HEADER;
  for (const [i, width] of widths.entries()) {
    for (let byte = 0, rest = parameters[i]; byte < width; byte++, rest = Math.floor(rest / 256))
      bytes[at++] = rest;
  }
  bytes.set(payload, start);
  writeChecksum(bytes);
  return bytes;
}

/** What stands before the payload. */
export interface FrameHead {
  readonly variant: number;
  readonly parameters: readonly number[];
  /** Where the payload begins. */
  readonly start: number;
}

/** Reads what stands before the payload, and checks nothing that follows it. */
export function readFrameHead({ code, name, widths }: FrameKind, bytes: Uint8Array): FrameHead {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('A frame must be a Uint8Array');
  for (let i = 0; i < 4 && i < bytes.length; i++) {
    if (bytes[i] !== MAGIC[i]) fail('not-a-frame', i, `the magic bytes ${MAGIC}`, bytes[i]);
  }
  const start = HEADER + sum(widths);
  if (bytes.length < start) fail('truncated', bytes.length, `${start} header bytes`, bytes.length);
  if (bytes[4] !== VERSION) fail('version', 4, `version ${VERSION}`, bytes[4]);
  if (bytes[5] !== code) fail('structure', 5, `${code} (${name})`, bytes[5]);
  let at = HEADER;
  const parameters = widths.map((width) => {
    let value = 0;
    for (let byte = 0; byte < width; byte++) value += bytes[at++] * 256 ** byte;
    return value;
  });
  return { variant: bytes[6], parameters, start };
}

/** Reads a frame. `foreign` is a hash that is possible beside the library's own. The payload is a view of `bytes`. */
export function decodeFrame(
  kind: FrameKind,
  bytes: Uint8Array,
  key: SecretKey | undefined,
  foreign?: HashScheme,
): FrameContent {
  const { variant, parameters, start } = readFrameHead(kind, bytes);
  const end = start + kind.payloadLength(variant, parameters);
  const size = end + CHECKSUM;
  if (bytes.length !== size)
    fail(bytes.length < size ? 'truncated' : 'trailing', start, `${size} bytes`, bytes.length);
  checkChecksum(bytes);
  return {
    variant,
    parameters,
    payload: bytes.subarray(start, end),
    scheme: readScheme(bytes, key, foreign),
  };
}

/** The hash scheme that the head names. */
export function readScheme(bytes: Uint8Array, key: SecretKey | undefined, foreign?: HashScheme): HashScheme {
  const seed = viewOf(bytes).getBigUint64(8, true);
  const keyed = bytes[7] === SIPHASH24;
  if (keyed !== (key !== undefined))
    fail('key', 7, keyed ? 'a secret key' : 'no key', keyed ? 'none' : 'one');
  const scheme = foreign?.code === bytes[7] ? foreign : hashScheme(key === undefined ? { seed } : { key });
  if (scheme.code !== bytes[7]) fail('hash', 7, `hash ${scheme.code}`, bytes[7]);
  if (scheme.seed !== seed) fail(keyed ? 'key' : 'hash', 8, scheme.id, seed.toString(16));
  return scheme;
}

/** Writes the checksum of all bytes but the last four into those. */
export function writeChecksum(bytes: Uint8Array): void {
  viewOf(bytes).setUint32(bytes.length - CHECKSUM, checksum(bytes), true);
}

/** Refuses bytes whose last four are not the checksum of the others. */
export function checkChecksum(bytes: Uint8Array): void {
  const at = bytes.length - CHECKSUM;
  const found = viewOf(bytes).getUint32(at, true);
  const expected = checksum(bytes);
  if (found !== expected) fail('checksum', at, `checksum ${expected}`, found);
}

/** Refuses parameters that no filter of ours has. */
export function checkParameters(sound: boolean, what: string): void {
  if (!sound) throw new FrameError('parameters', HEADER, `no filter has ${what}`);
}

function fail(code: FrameErrorCode, at: number, expected: unknown, got: unknown): never {
  throw new FrameError(code, at, `expected ${expected}, got ${got}`);
}

const MAGIC = [0x42, 0x4c, 0x4d, 0x59] as const;
const VERSION = 1;
const HEADER = 16;
/** The bytes of the checksum. */
export const CHECKSUM = 4;

/** The pages of the checksum. */
export const PAGE = 4096;

/** What page number `page` of a frame, without its checksum, adds to that by XOR. */
export function pageSum(page: number, bytes: Uint8Array): number {
  hashBytesInto(bytes.subarray(page * PAGE, (page + 1) * PAGE), hashScheme({ seed: page }));
  return hashOut[0];
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}

/** Of all bytes but the last four, where it is written. */
function checksum(bytes: Uint8Array): number {
  let total = 0;
  for (let page = 0; page * PAGE < bytes.length - CHECKSUM; page++)
    total ^= pageSum(page, bytes.subarray(0, -CHECKSUM));
  return total >>> 0;
}
