/**
 * Arrays of bits as messages, in the coding that is smallest for them, and in pieces that decode
 * independently. docs/spec/wire.md specifies the bytes.
 *
 *     0    1   lower three bits, the coding: 0 plain, 1 empty (all zeros), 2 full (all ones), 3 range,
 *              4 rANS, 5 gaps, 6 sparse; upper five, for 3 to 5: the pieces have 2^(15 + these) bits
 *     plain:   the bytes of the array
 *     range:   table, codes
 *     rANS:    the ones of the whole array, table, codes
 *     gaps:    the Golomb parameter, table, codes
 *     sparse:  the ones of the whole array, the Golomb parameter, the gaps of the whole array
 *     table:   for each piece, the ones in it (range and gaps) and the length of its code (if there are
 *              several)
 *
 * These numbers are LEB128. As in the paper (compressed III, "multiple filter types"), the smallest
 * coding is used and named in the first byte.
 *
 * 'small' uses the range coder, which is exact to about a byte per piece. 'fast' uses gaps for
 * sparse arrays and rANS for the others: within 0.8 % of the entropy and several times faster.
 * `bench/` has the table.
 *
 * Sparse is for arrays that have fewer than four ones per piece, such as the changes of an hour in
 * a filter of gigabytes. Most pieces would be empty, and take two bytes each: 200 changed bits of
 * 2^31 took 6,668 bytes in range coding, and take 628. Readers from before this coding refuse it.
 *
 * A piece is the unit that a reader unpacks: a filter can be kept compressed in memory, and only
 * the pieces that a lookup touches are decoded (compressed II.B). Its size follows the density: at
 * least 16 KiB of code, so that the overhead of a piece (about five bytes) is small.
 */

import { FrameError } from '../../frames/envelope.ts';
import { decodeGolomb, decodeRange, decodeRans } from '../../kernel/coders/coders.ts';
import { ByteModel } from '../../kernel/coders/rans.ts';
import { type AbortOptions, untilAborted } from '../../keys/abort.ts';
import { ByteReader } from './byte-stream.ts';
import { CODINGS, type Coding, LEAST_LOG, lanesOf, MOST_LOG, PIECED } from './codings.ts';
import { GapReader, MAX_PARAMETER } from './gap-code.ts';

export type { Coding } from './codings.ts';

/**
 * Decodes the bits of a code. Throws a `FrameError` if it is invalid; `base` is the offset of the
 * code in its message.
 */
export function decodeBits(code: Uint8Array, bits: number, base = 0): Uint32Array<ArrayBuffer> {
  return new CodedBits(code, bits, base).unpack();
}

/** A code whose pieces can be unpacked one by one. */
export class CodedBits {
  readonly #table: PieceTable;
  readonly #codes: readonly Uint8Array[];
  /** The positions of all ones, in sparse coding. */
  readonly #sparse: Float64Array | null;
  readonly #base: number;

  constructor(code: Uint8Array, bits: number, base = 0) {
    const reader = new ByteReader(code, base);
    this.#base = base;
    this.#table = readTable(reader, bits);
    this.#sparse = this.#table.coding === 'sparse' ? readSparse(reader, this.#table) : null;
    this.#codes = this.#table.pieces.map(({ length }) => reader.bytes(length ?? reader.left, 'a piece'));
    reader.end();
  }

  get coding(): Coding {
    return this.#table.coding;
  }

  get bits(): number {
    return this.#table.bits;
  }

  /** The number of bits of every piece except the last, which may be shorter. */
  get pieceBits(): number {
    return this.#table.pieceBits;
  }

  get pieceCount(): number {
    return this.#sparse === null ? this.#codes.length : Math.ceil(this.bits / this.pieceBits);
  }

  /** One piece: the bits from index * pieceBits on. */
  piece(index: number): Uint32Array<ArrayBuffer> {
    const words = new Uint32Array(wordsIn(this.#table, index));
    this.#unpackInto(words, index);
    return words;
  }

  /** All bits. */
  unpack(): Uint32Array<ArrayBuffer> {
    if (this.pieceCount === 1) return this.piece(0);
    const words = new Uint32Array(Math.ceil(this.bits / 32));
    for (let i = 0; i < this.pieceCount; i++) {
      const start = (i * this.pieceBits) / 32;
      const piece = words.subarray(start, start + wordsIn(this.#table, i));
      this.#unpackInto(piece, i);
    }
    return words;
  }

  #unpackInto(words: Uint32Array, index: number): void {
    if (this.#sparse !== null) setOnes(this.#sparse, index * this.pieceBits, words);
    else unpackPiece(this.#table, index, this.#codes[index], this.#base, words);
  }
}

/**
 * The pieces of a code that arrives in parts, in order, each as soon as it has arrived. Holds only
 * the table and the received part of the next piece. The signal ends the iteration, even if the
 * next part never comes.
 */
export async function* unpackStream(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  bits: number,
  { signal }: AbortOptions = {},
): AsyncGenerator<Uint32Array<ArrayBuffer>> {
  let arrived = new Uint8Array(0);
  let before = 0;
  let table: PieceTable | undefined;
  let next = 0;
  for await (const part of signal === undefined ? parts : untilAborted(parts, signal)) {
    const longer = new Uint8Array(arrived.length + part.length);
    longer.set(arrived);
    longer.set(part, arrived.length);
    arrived = longer;
    if (table === undefined) {
      const reader = new ByteReader(arrived);
      table = readTableIfThere(reader, bits);
      if (table === undefined) continue;
      before = reader.offset;
      arrived = arrived.slice(before);
    }
    for (; next < table.pieces.length; next++) {
      const { length } = table.pieces[next];
      if (length === undefined || arrived.length < length) break; // it has not arrived yet
      const words = new Uint32Array(wordsIn(table, next));
      unpackPiece(table, next, arrived.subarray(0, length), before, words);
      yield words;
      arrived = arrived.slice(length);
      before += length;
    }
  }
  const reader = new ByteReader(arrived, before);
  table ??= readTable(reader, bits);
  if (table.coding === 'sparse') {
    const positions = readSparse(reader, table);
    for (; next * table.pieceBits < bits; next++) {
      const words = new Uint32Array(wordsIn(table, next));
      setOnes(positions, next * table.pieceBits, words);
      yield words;
    }
  }
  for (; next < table.pieces.length; next++) {
    const code = reader.bytes(table.pieces[next].length ?? reader.left, 'a piece');
    const words = new Uint32Array(wordsIn(table, next));
    unpackPiece(table, next, code, before, words);
    yield words;
  }
  reader.end();
}

/** The fields before the codes of the pieces. */
interface PieceTable {
  readonly coding: Coding;
  readonly bits: number;
  readonly pieceBits: number;
  readonly model: ByteModel | null;
  readonly parameter: number;
  /** The ones of the whole array, in sparse coding. */
  readonly ones: number;
  readonly pieces: readonly PieceEntry[];
}

interface PieceEntry {
  /** The number of ones. Not used by plain, empty, full and rANS. */
  readonly ones: number;
  /** The number of bytes of its code, or undefined if the code extends to the end. */
  readonly length: number | undefined;
}

function readTable(reader: ByteReader, bits: number): PieceTable {
  const at = reader.offset;
  const head = reader.byte('a coding');
  const coding = CODINGS[head & 7];
  const log = LEAST_LOG + (head >>> 3);
  if (coding === undefined || log > MOST_LOG || (head > 7 && !PIECED.includes(coding))) {
    throw new FrameError('payload', at, `expected a coding and the size of its pieces, got ${head}`);
  }
  const whole = { coding, bits, pieceBits: bits, model: null, parameter: 0, ones: 0 };
  if (coding === 'plain') return { ...whole, pieces: [{ ones: 0, length: Math.ceil(bits / 8) }] };
  if (coding === 'empty' || coding === 'full') return { ...whole, pieces: [{ ones: 0, length: 0 }] };
  if (coding === 'sparse') return readSparseTable(reader, whole);
  const model = coding === 'rans' ? new ByteModel(readShare(reader, bits), bits) : null;
  const parameter = coding === 'gaps' ? Math.max(1, reader.number('a Golomb parameter', 2 ** 30)) : 0;
  const pieceBits = Math.min(bits, 2 ** log);
  const count = Math.ceil(bits / pieceBits);
  // Each piece has at least one byte in the table, so a declared number of pieces needs that many
  // bytes.
  if (count > 1 && reader.left < count)
    reader.fail('truncated', `expected ${count} pieces in ${reader.left} bytes`);
  const pieces: PieceEntry[] = [];
  for (let i = 0; i < count; i++) {
    const most = Math.min(pieceBits, bits - i * pieceBits);
    const ones = coding === 'rans' ? 0 : reader.number('the ones of a piece', most);
    // No code is longer than twice the bytes of its piece.
    const length = count === 1 ? undefined : reader.number('the length of a piece', pieceBits / 4 + 64);
    pieces.push({ ones, length });
  }
  return { ...whole, pieceBits, model, parameter, pieces };
}

/**
 * The table of a sparse code. It has no codes of pieces, but is unpacked in pieces of the largest
 * size, so that no more memory is taken than for any other code.
 */
function readSparseTable(reader: ByteReader, whole: Omit<PieceTable, 'pieces'>): PieceTable {
  const ones = reader.number('the number of ones', whole.bits);
  const parameter = Math.max(1, reader.number('a Golomb parameter', MAX_PARAMETER));
  return { ...whole, pieceBits: Math.min(whole.bits, 2 ** MOST_LOG), parameter, ones, pieces: [] };
}

/** The positions of the ones in a sparse code, which is the rest of the bytes. */
function readSparse(reader: ByteReader, { bits, ones, parameter }: PieceTable): Float64Array {
  const { offset, left } = reader;
  // Each one takes a bit at least.
  if (ones > 8 * left) reader.fail('truncated', `expected ${ones} ones in ${left} bytes`);
  const gaps = new GapReader(reader.bytes(left, 'gaps'), offset);
  gaps.begin(parameter, bits);
  const positions = new Float64Array(ones);
  for (let i = 0; i < ones; i++) positions[i] = gaps.take();
  gaps.finish();
  return positions;
}

/** Sets the ones that lie in a piece, which begins at `start`. */
function setOnes(positions: Float64Array, start: number, words: Uint32Array): void {
  const end = start + 32 * words.length;
  let at = 0;
  for (let above = positions.length; at < above; ) {
    const middle = (at + above) >>> 1;
    if (positions[middle] < start) at = middle + 1;
    else above = middle;
  }
  for (; at < positions.length && positions[at] < end; at++) {
    const within = positions[at] - start;
    words[Math.floor(within / 32)] |= 1 << (within % 32);
  }
}

/** Reads the table. Returns undefined as long as bytes are missing. */
function readTableIfThere(reader: ByteReader, bits: number): PieceTable | undefined {
  try {
    return readTable(reader, bits);
  } catch (error) {
    if (error instanceof FrameError && error.code === 'truncated') return undefined;
    throw error;
  }
}

function readShare(reader: ByteReader, bits: number): number {
  const ones = reader.number('the number of ones', bits);
  if (ones === 0 || ones === bits) reader.fail('payload', `expected a coded array, got ${ones} ones`);
  return ones;
}

function wordsIn({ bits, pieceBits }: PieceTable, index: number): number {
  return Math.ceil(Math.min(pieceBits, bits - index * pieceBits) / 32);
}

/** Unpacks a piece into `words`, which must hold zeros. */
function unpackPiece(
  { coding, bits, pieceBits, model, parameter, pieces }: PieceTable,
  index: number,
  code: Uint8Array,
  base: number,
  words: Uint32Array,
): void {
  const { ones } = pieces[index];
  const length = Math.min(pieceBits, bits - index * pieceBits);
  const bytes = new Uint8Array(words.buffer, words.byteOffset, Math.ceil(length / 8));
  let sound = true;
  if (coding === 'plain') bytes.set(code);
  if (coding === 'full') {
    bytes.fill(255);
    if (length % 32 !== 0) words[words.length - 1] &= 2 ** (length % 32) - 1;
  }
  if (coding === 'range') sound = decodeRange(code, length, ones, words);
  if (coding === 'gaps') sound = decodeGolomb(code, length, ones, parameter, words);
  if (model !== null) sound = decodeRans(code, model, lanesOf(pieceBits), bytes);
  const beyond = length % 32 === 0 ? 0 : words[words.length - 1] >>> (length % 32);
  if (!sound || beyond !== 0) {
    throw new FrameError('payload', base, `expected piece ${index} in ${coding} coding, got other bytes`);
  }
}
