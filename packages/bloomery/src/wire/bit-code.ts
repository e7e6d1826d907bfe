/**
 * Arrays of bits as messages: the coding that is smallest for the bits at hand, in pieces that decode on their own.
 * docs/wire.md specifies the bytes.
 *
 *     0    1   lower three bits, the coding: 0 plain, 1 empty (all zeros), 2 full (all ones), 3 range, 4 rANS, 5 gaps;
 *              upper five, of the last three: the pieces have 2^(15 + these) bits
 *     plain:   the bytes of the array
 *     range:   table, codes
 *     rANS:    the ones of the whole array, table, codes
 *     gaps:    the Golomb parameter, table, codes
 *     table:   for each piece, the ones in it (range and gaps) and the length of its code (if there are several)
 *
 * Numbers in there are LEB128. The sizes of the paper are met as it says (compressed III): "multiple filter types",
 * the smallest is taken and named in the first byte.
 *
 * 'small' takes the range coder, which is exact to about a byte a piece. 'fast' takes gaps for sparse arrays and rANS
 * for the others: within 0.8 % of the entropy and several times faster. `bench/` has the table.
 *
 * A piece is the unit that a reader unpacks: a filter can be kept compressed in memory, and only the pieces that a
 * lookup touches are decoded (compressed II.B). Its size follows the density: at least 16 KiB of code, so that what a
 * piece costs beside its code (about five bytes) is little.
 */

import { FrameError } from '../filters/frame.ts';
import { countOnes } from '../kernel/bit-operations.ts';
import {
  decodeGolomb,
  decodeRange,
  decodeRans,
  encodeGolomb,
  encodeRange,
  encodeRans,
} from '../kernel/coders.ts';
import { golombParameter } from '../kernel/golomb.ts';
import { ByteModel } from '../kernel/rans.ts';
import { checkChoice } from '../math/checks.ts';
import { binaryEntropy } from '../math/entropy.ts';
import { ByteReader, ByteWriter } from './byte-stream.ts';

export type Effort = 'small' | 'fast';
export type Coding = 'plain' | 'empty' | 'full' | 'range' | 'rans' | 'gaps';

/** Codes the first `bits` bits of `words`; those beyond must be 0. */
export function encodeBits(words: Uint32Array, bits: number, effort: Effort = 'small'): Uint8Array {
  checkChoice('effort', effort, ['small', 'fast']);
  const ones = countOnes(words);
  if (ones === 0) return Uint8Array.of(CODINGS.indexOf('empty'));
  if (ones === bits) return Uint8Array.of(CODINGS.indexOf('full'));
  const density = ones / bits;
  const fast = density < sparseBelow(bits) ? 'gaps' : 'rans';
  // Nearly half ones: nothing to gain, and the fast mode does not try.
  if (effort === 'fast' && Math.abs(density - 0.5) < NOTHING_TO_GAIN) return encodePlain(words, bits);
  const coded = encodePieces(words, bits, ones, effort === 'small' ? 'range' : fast);
  return coded.length < 1 + Math.ceil(bits / 8) ? coded : encodePlain(words, bits);
}

/** The bits of a code. What is wrong with it is a `FrameError`; `base` is where the code stands in its message. */
export function decodeBits(code: Uint8Array, bits: number, base = 0): Uint32Array<ArrayBuffer> {
  return new CodedBits(code, bits, base).unpack();
}

/** A code whose pieces can be unpacked one by one. */
export class CodedBits {
  readonly coding: Coding;
  readonly bits: number;
  /** The bits of every piece but the last, which may be shorter. */
  readonly pieceBits: number;
  readonly #base: number;
  readonly #pieces: readonly Piece[];
  readonly #model: ByteModel | null = null;
  readonly #parameter: number = 0;

  constructor(code: Uint8Array, bits: number, base = 0) {
    const reader = new ByteReader(code, base);
    const head = reader.byte('a coding');
    const coding = CODINGS[head & 7];
    const log = LEAST_LOG + (head >>> 3);
    if (coding === undefined || log > MOST_LOG || (head > 7 && !PIECED.includes(coding))) {
      throw new FrameError('payload', base, `expected a coding and the size of its pieces, got ${head}`);
    }
    this.coding = coding;
    this.bits = bits;
    this.#base = base;
    if (coding === 'plain') {
      this.pieceBits = bits;
      this.#pieces = [{ code: reader.bytes(Math.ceil(bits / 8), 'plain bits'), ones: 0 }];
    } else if (coding === 'empty' || coding === 'full') {
      this.pieceBits = bits;
      this.#pieces = [{ code: new Uint8Array(0), ones: 0 }];
    } else {
      this.pieceBits = Math.min(bits, 2 ** log);
      if (coding === 'rans') this.#model = new ByteModel(this.#share(reader), bits);
      if (coding === 'gaps') this.#parameter = Math.max(1, reader.number('a Golomb parameter', 2 ** 30));
      this.#pieces = this.#table(reader);
    }
    reader.end();
  }

  get pieceCount(): number {
    return this.#pieces.length;
  }

  /** One piece: the bits from index * pieceBits on. */
  piece(index: number): Uint32Array<ArrayBuffer> {
    const { code, ones } = this.#pieces[index];
    const bits = this.#bitsOf(index);
    const words = new Uint32Array(Math.ceil(bits / 32));
    const bytes = new Uint8Array(words.buffer, 0, Math.ceil(bits / 8));
    if (!this.#decode(code, ones, bits, words, bytes) || !clearBeyond(words, bits)) {
      throw new FrameError(
        'payload',
        this.#base,
        `expected piece ${index} in ${this.coding} coding, got other bytes`,
      );
    }
    return words;
  }

  /** All bits. */
  unpack(): Uint32Array<ArrayBuffer> {
    if (this.#pieces.length === 1) return this.piece(0);
    const words = new Uint32Array(Math.ceil(this.bits / 32));
    for (let i = 0; i < this.#pieces.length; i++) words.set(this.piece(i), (i * this.pieceBits) / 32);
    return words;
  }

  #decode(code: Uint8Array, ones: number, bits: number, words: Uint32Array, bytes: Uint8Array): boolean {
    switch (this.coding) {
      case 'plain':
        bytes.set(code);
        return true;
      case 'empty':
        return true;
      case 'full':
        bytes.fill(255);
        if (bits % 32 !== 0) words[words.length - 1] &= 2 ** (bits % 32) - 1;
        return true;
      case 'range':
        return decodeRange(code, bits, ones, words);
      case 'gaps':
        return decodeGolomb(code, bits, ones, this.#parameter, words);
      case 'rans':
        return this.#model !== null && decodeRans(code, this.#model, lanesOf(this.pieceBits), bytes);
    }
  }

  #share(reader: ByteReader): number {
    const ones = reader.number('the number of ones', this.bits);
    if (ones === 0 || ones === this.bits) reader.fail('payload', `expected a coded array, got ${ones} ones`);
    return ones;
  }

  #table(reader: ByteReader): Piece[] {
    const count = Math.ceil(this.bits / this.pieceBits);
    // Each piece has a byte in the table at least: what was declared is there.
    if (count > 1 && reader.left < count)
      reader.fail('truncated', `expected ${count} pieces in ${reader.left} bytes`);
    const entries: { ones: number; length: number }[] = [];
    for (let i = 0; i < count; i++) {
      const ones = this.coding === 'rans' ? 0 : reader.number('the ones of a piece', this.#bitsOf(i));
      const length = count === 1 ? reader.left : reader.number('the length of a piece', reader.left);
      entries.push({ ones, length });
    }
    return entries.map(({ ones, length }) => ({ ones, code: reader.bytes(length, 'a piece') }));
  }

  #bitsOf(index: number): number {
    return Math.min(this.pieceBits, this.bits - index * this.pieceBits);
  }
}

interface Piece {
  readonly code: Uint8Array;
  /** Not used by plain, empty, full and rANS. */
  readonly ones: number;
}

const CODINGS: readonly Coding[] = ['plain', 'empty', 'full', 'range', 'rans', 'gaps'];
const PIECED: readonly Coding[] = ['range', 'rans', 'gaps'];
const NOTHING_TO_GAIN = 0.04;
/** Pieces are 2^15 to 2^24 bits. */
const LEAST_LOG = 15;
const MOST_LOG = 24;
const PIECE_BYTES = 16_384;

function encodePlain(words: Uint32Array, bits: number): Uint8Array {
  const writer = new ByteWriter();
  writer.byte(CODINGS.indexOf('plain'));
  writer.bytes(new Uint8Array(words.buffer, words.byteOffset, Math.ceil(bits / 8)));
  return writer.finish();
}

function encodePieces(
  words: Uint32Array,
  bits: number,
  ones: number,
  coding: 'range' | 'rans' | 'gaps',
): Uint8Array {
  const log = pieceLog(bits, ones);
  const pieceBits = 2 ** log;
  const model = coding === 'rans' ? new ByteModel(ones, bits) : null;
  const parameter = golombParameter(ones, bits);
  const codes: Uint8Array[] = [];
  const counts: number[] = [];
  for (let start = 0; start < bits; start += pieceBits) {
    const length = Math.min(pieceBits, bits - start);
    const piece = words.subarray(start / 32, Math.ceil((start + length) / 32));
    const count = countOnes(piece);
    counts.push(count);
    if (model !== null) {
      const bytes = new Uint8Array(piece.buffer, piece.byteOffset, Math.ceil(length / 8));
      codes.push(encodeRans(bytes, model, lanesOf(Math.min(bits, pieceBits))));
    } else if (coding === 'gaps') {
      codes.push(encodeGolomb(piece, length, count, parameter));
    } else {
      codes.push(encodeRange(piece, length, count));
    }
  }
  const writer = new ByteWriter();
  writer.byte(CODINGS.indexOf(coding) | ((log - LEAST_LOG) << 3));
  if (coding === 'rans') writer.number(ones);
  if (coding === 'gaps') writer.number(parameter);
  for (const [i, code] of codes.entries()) {
    if (coding !== 'rans') writer.number(counts[i]);
    if (codes.length > 1) writer.number(code.length);
  }
  for (const code of codes) writer.bytes(code);
  return writer.finish();
}

/** The smallest piece that takes `PIECE_BYTES` of code on the average. */
function pieceLog(bits: number, ones: number): number {
  const entropy = binaryEntropy(ones / bits);
  let log = LEAST_LOG;
  while (log < MOST_LOG && 2 ** log < bits && 2 ** log * entropy < 8 * PIECE_BYTES) log++;
  return log;
}

/**
 * Below which share of ones gaps are taken: they need no model, so on small arrays they are faster than rANS even where
 * they are a little larger.
 */
function sparseBelow(bits: number): number {
  return bits < 2 ** 14 ? 0.3 : bits < 2 ** 17 ? 0.2 : 0.04;
}

/** How many rANS states take turns: four where a piece is long enough to pay for them. */
function lanesOf(pieceBits: number): number {
  return pieceBits >= 2 ** 16 ? 4 : 1;
}

/** False if there are ones beyond the last bit. */
function clearBeyond(words: Uint32Array, bits: number): boolean {
  return bits % 32 === 0 || words[words.length - 1] >>> (bits % 32) === 0;
}
