/**
 * A bit code after its length, as one of several fields of a payload. A length of 0 says that there
 * is no code, which no bit code is: its meaning depends on the place.
 */

import { decodeBits } from './bit-code.ts';
import type { ByteReader, ByteWriter } from './byte-stream.ts';
import { type Effort, encodeBits } from './encode-bits.ts';

export function writeSizedBits(writer: ByteWriter, bits: Uint32Array, count: number, effort: Effort): void {
  const code = encodeBits(bits, count, effort);
  writer.number(code.length);
  writer.bytes(code);
}

/** Reads `count` bits. Returns null if the length is 0. */
export function readSizedBits(
  reader: ByteReader,
  count: number,
  what: string,
): Uint32Array<ArrayBuffer> | null {
  const length = reader.number(`the length of a code of ${what}`, reader.left);
  if (length === 0) return null;
  const at = reader.offset;
  return decodeBits(reader.bytes(length, `a code of ${what}`), count, at);
}

/** Reads `count` bits, which must be there. */
export function needSizedBits(reader: ByteReader, count: number, what: string): Uint32Array<ArrayBuffer> {
  const bits = readSizedBits(reader, count, what);
  if (bits === null) reader.fail('payload', `expected a code of ${what}, got none`);
  return bits;
}
