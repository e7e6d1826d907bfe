/**
 * Lists of rising numbers as gaps in a Rice code: about t - log2(n) + 1.5 bits per number for n
 * random numbers of t bits. A list of 40-bit ids of 100,000 keys takes 3.1 bytes per key.
 *
 * Numbers are doubles below 2^52. A decoder makes no more numbers than there are bits at hand, so a
 * declared length cannot make it allocate more than 64 times the bytes that came.
 */

import { refuse } from '../reconcile-error.ts';
import type { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';

/** The most bits of a number. */
export const LIST_BITS = 52;

/** Encodes numbers of `bits` bits that do not fall. */
export function encodeSortedList(values: Float64Array, bits: number): Uint8Array<ArrayBuffer> {
  // The mean gap times ln 2 is the best divisor of a Rice code.
  const gap = values.length === 0 ? 1 : (2 ** bits / (values.length + 1)) * Math.LN2;
  const rice = Math.max(0, Math.min(bits, Math.round(Math.log2(gap))));
  const out = new BitWriter();
  let last = 0;
  for (const value of values) {
    const rest = value - last;
    out.unary(Math.floor(rest / 2 ** rice));
    out.bits(rest % 2 ** rice, rice);
    last = value;
  }
  return new ByteWriter().byte(bits).byte(rice).varint(values.length).bytes(out.finish()).finish();
}

/** A list as it came: numbers of `bits` bits that do not fall. */
export interface SortedList {
  readonly bits: number;
  readonly values: Float64Array;
}

/** Decodes a list that fills the rest of a message, of at most `most` numbers. */
export function decodeSortedList(reader: ByteReader, most: number, what: string): SortedList {
  const bits = reader.byte();
  const rice = reader.byte();
  if (bits > LIST_BITS || rice > bits)
    refuse(`numbers of at most ${LIST_BITS} bits`, `${bits}, ${rice}`, what);
  const count = reader.varint(most);
  const input = new BitReader(reader.rest(), what);
  if (count * (rice + 1) > input.left) refuse(`${count} numbers`, `${input.left} bits`, what);
  const values = new Float64Array(count);
  let last = 0;
  for (let i = 0; i < count; i++) {
    last += input.unary() * 2 ** rice + input.bits(rice);
    if (last >= 2 ** bits) refuse(`a number of ${bits} bits`, last, what);
    values[i] = last;
  }
  input.end();
  return { bits, values };
}

/** Bits in order, each byte from its least significant bit. */
class BitWriter {
  readonly #out = new ByteWriter();
  #byte = 0;
  #used = 0;

  unary(count: number): void {
    for (let i = 0; i < count; i++) this.#bit(1);
    this.#bit(0);
  }

  bits(value: number, width: number): void {
    let rest = value;
    for (let i = 0; i < width; i++) {
      const half = Math.floor(rest / 2);
      this.#bit(rest - 2 * half);
      rest = half;
    }
  }

  finish(): Uint8Array {
    if (this.#used > 0) this.#out.byte(this.#byte);
    return this.#out.finish();
  }

  #bit(bit: number): void {
    this.#byte |= bit << this.#used;
    if (++this.#used < 8) return;
    this.#out.byte(this.#byte);
    this.#byte = 0;
    this.#used = 0;
  }
}

class BitReader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get left(): number {
    return 8 * this.#bytes.length - this.#at;
  }

  unary(): number {
    let count = 0;
    while (this.#bit() === 1) count++;
    return count;
  }

  bits(width: number): number {
    let value = 0;
    for (let i = 0, scale = 1; i < width; i++, scale *= 2) value += this.#bit() * scale;
    return value;
  }

  end(): void {
    if (this.left >= 8) refuse('the end of the list', `${this.left} more bits`, this.#what);
    while (this.left > 0) if (this.#bit() === 1) refuse('zeros after the list', 1, this.#what);
  }

  #bit(): number {
    if (this.left === 0) refuse('more bits of the list', 'its end', this.#what);
    const bit = (this.#bytes[this.#at >>> 3] >>> (this.#at & 7)) & 1;
    this.#at++;
    return bit;
  }
}
