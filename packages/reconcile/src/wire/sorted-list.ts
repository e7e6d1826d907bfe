/**
 * Lists of rising numbers as gaps in a Rice code: about t - log2(n) + 1.5 bits per number for n
 * random numbers of t bits. A list of 40-bit ids of 100,000 keys takes 3.1 bytes per key.
 *
 * Numbers are doubles below 2^52. A decoder makes no more numbers than there are bits at hand, so a
 * declared length cannot make it allocate more than 64 times the bytes that came.
 */

import type { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { LIST_BITS } from './message-types.ts';

/** Encodes numbers of `bits` bits that do not fall. */
export function encodeSortedList(values: Float64Array, bits: number): Uint8Array<ArrayBuffer> {
  // The mean gap times ln 2 is the best divisor of a Rice code.
  const gap = (2 ** bits / (values.length + 1)) * Math.LN2;
  const rice = Math.max(0, Math.min(bits, Math.round(Math.log2(gap))));
  const divisor = 2 ** rice;
  // The quotients of all gaps together are at most the quotient of the last number.
  const most = values.length * (rice + 1) + (values.at(-1) ?? 0) / divisor;
  const out = new Uint8Array(Math.ceil(most / 8));
  let at = 0;
  let last = 0;
  for (const value of values) {
    const rest = value - last;
    const end = at + Math.floor(rest / divisor);
    for (; at < end; at++) out[at >>> 3] |= 1 << (at & 7);
    at++;
    for (let i = 0, left = rest % divisor; i < rice; i++, at++, left = Math.floor(left / 2))
      out[at >>> 3] |= (left % 2) << (at & 7);
    last = value;
  }
  const head = new ByteWriter().byte(bits).byte(rice).varint(values.length);
  return head.bytes(out.subarray(0, Math.ceil(at / 8))).finish();
}

/** A list as it came: numbers of `bits` bits that do not fall. */
export interface SortedList {
  readonly bits: number;
  readonly values: Float64Array;
}

/** Decodes a list that fills the rest of a message, of at most `most` numbers. */
export function decodeSortedList(reader: ByteReader, most: number): SortedList {
  const bits = reader.byte();
  const rice = reader.byte();
  if (bits > LIST_BITS || rice > bits) reader.refuse('numbers of at most 52 bits', `${bits}, ${rice}`);
  const count = reader.varint(most);
  const bytes = reader.rest();
  const end = 8 * bytes.length;
  if (count * (rice + 1) > end) reader.refuse(`${count} numbers`, `${end} bits`);
  const values = new Float64Array(count);
  let at = 0;
  const next = () => {
    if (at === end) reader.refuse(`${count} numbers`, `${end} bits`);
    return (bytes[at >>> 3] >>> (at++ & 7)) & 1;
  };
  let last = 0;
  for (let i = 0; i < count; i++) {
    while (next() === 1) last += 2 ** rice;
    for (let k = 0; k < rice; k++) last += next() * 2 ** k;
    if (last >= 2 ** bits) reader.refuse(`a number of ${bits} bits`, last);
    values[i] = last;
  }
  // The rest of the last byte is zeros.
  if (end - at >= 8 || (at < end && bytes[at >>> 3] >>> (at & 7) > 0))
    reader.refuse('the end of the list', `${end - at} more bits`);
  return { bits, values };
}

/** Whether a number occurs twice. The numbers do not fall. */
export function hasTwice(values: Float64Array): boolean {
  return values.some((value, i) => value === values[i - 1]);
}
