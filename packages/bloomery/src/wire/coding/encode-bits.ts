/**
 * Writes bit codes (bit-code.ts), at once or piece by piece. A plan is plain data that can be sent
 * to any worker, each worker codes pieces of its own, and the caller joins them.
 *
 *     const plan = planBits(ones, bits, 'small');           // null: encodeBits as it is
 *     const pieces = await Promise.all(
 *       parts.map((words, i) => worker.encode(plan, words, i)),  // encodePiece there
 *     );
 *     const code = joinPieces(plan, pieces);                // the bytes of encodeBits
 */

import { encodeGolomb, encodeRange, encodeRans, onesIn } from '../../kernel/coders/coders.ts';
import { golombParameter } from '../../kernel/coders/golomb.ts';
import { ByteModel } from '../../kernel/coders/rans.ts';
import { checkChoice, checkInteger } from '../../math/checks.ts';
import { binaryEntropy } from '../../math/entropy.ts';
import { ByteWriter } from './byte-stream.ts';
import { CODINGS, LEAST_LOG, lanesOf, MOST_LOG, type PiecedCoding } from './codings.ts';
import { GapWriter, gapParameter } from './gap-code.ts';

export type Effort = 'small' | 'fast';

/** The way in which an array is coded, as plain data. */
export interface BitsPlan {
  readonly bits: number;
  readonly ones: number;
  readonly coding: PiecedCoding;
  /** A piece has 2^pieceLog bits; the last may be shorter. */
  readonly pieceLog: number;
}

/** The result of `encodePiece`, as plain data. */
export interface CodedPiece {
  readonly ones: number;
  readonly code: Uint8Array;
}

/** Codes the first `bits` bits of `words`. The bits beyond must be 0. */
export function encodeBits(words: Uint32Array, bits: number, effort: Effort = 'small'): Uint8Array {
  const ones = onesIn(words);
  const plan = planBits(ones, bits, effort);
  if (ones === 0) return Uint8Array.of(CODINGS.indexOf('empty'));
  if (ones === bits) return Uint8Array.of(CODINGS.indexOf('full'));
  if (plan === null) return encodePlain(words, bits);
  if (pieceCount(plan) > 1 && ones < SPARSE_ONES * pieceCount(plan)) return encodeSparse(words, ones, bits);
  const wordsOfPiece = 2 ** plan.pieceLog / 32;
  const pieces = Array.from({ length: pieceCount(plan) }, (_, i) =>
    encodePiece(plan, words.subarray(i * wordsOfPiece, (i + 1) * wordsOfPiece), i),
  );
  const coded = joinPieces(plan, pieces);
  return coded.length < 1 + Math.ceil(bits / 8) ? coded : encodePlain(words, bits);
}

/**
 * The best coding of an array with this many ones, or null if it has none, only ones, or nothing to
 * gain.
 */
export function planBits(ones: number, bits: number, effort: Effort = 'small'): BitsPlan | null {
  checkChoice('effort', effort, ['small', 'fast']);
  checkInteger('ones', ones, 0, checkInteger('bits', bits, 1));
  const density = ones / bits;
  // With nearly half ones there is nothing to gain, and the fast mode does not try.
  const hopeless = effort === 'fast' && Math.abs(density - 0.5) < NOTHING_TO_GAIN;
  if (ones === 0 || ones === bits || hopeless) return null;
  const coding = effort === 'small' ? 'range' : fastCoding(density, bits);
  return { bits, ones, coding, pieceLog: pieceLogOf(bits, ones) };
}

/** The number of pieces. */
export function pieceCount({ bits, pieceLog }: BitsPlan): number {
  return Math.ceil(bits / 2 ** pieceLog);
}

/** Codes piece number `index`. `words` holds only this piece. */
export function encodePiece(plan: BitsPlan, words: Uint32Array, index: number): CodedPiece {
  const { bits, ones, coding, pieceLog } = plan;
  checkInteger('index', index, 0, pieceCount(plan) - 1);
  const pieceBits = Math.min(bits, 2 ** pieceLog);
  const length = Math.min(pieceBits, bits - index * 2 ** pieceLog);
  if (words.length !== Math.ceil(length / 32)) {
    throw new RangeError(
      `Cannot code piece ${index}: expected ${Math.ceil(length / 32)} words, got ${words.length}`,
    );
  }
  const count = pieceCount(plan) === 1 ? ones : onesIn(words);
  if (coding === 'range') return { ones: count, code: encodeRange(words, length, count) };
  if (coding === 'gaps') {
    return { ones: count, code: encodeGolomb(words, length, count, golombParameter(ones, bits)) };
  }
  const bytes = new Uint8Array(words.buffer, words.byteOffset, Math.ceil(length / 8));
  return { ones: count, code: encodeRans(bytes, modelOf(plan), lanesOf(pieceBits)) };
}

/** Joins the codes of all pieces, which must be in order. */
export function joinPieces(plan: BitsPlan, pieces: readonly CodedPiece[]): Uint8Array {
  const { bits, ones, coding, pieceLog } = plan;
  const sum = pieces.reduce((total, piece) => total + piece.ones, 0);
  if (pieces.length !== pieceCount(plan) || sum !== ones) {
    throw new RangeError(
      `Cannot join pieces: expected ${pieceCount(plan)} pieces with ${ones} ones, got ${pieces.length} with ${sum}`,
    );
  }
  const writer = new ByteWriter();
  writer.byte(CODINGS.indexOf(coding) | ((pieceLog - LEAST_LOG) << 3));
  if (coding === 'rans') writer.number(ones);
  if (coding === 'gaps') writer.number(golombParameter(ones, bits));
  for (const { ones: count, code } of pieces) {
    if (coding !== 'rans') writer.number(count);
    if (pieces.length > 1) writer.number(code.length);
  }
  for (const { code } of pieces) writer.bytes(code);
  return writer.finish();
}

const NOTHING_TO_GAIN = 0.04;
/**
 * Arrays with fewer ones per piece are coded without pieces, where most pieces would be empty. A
 * piece takes two bytes or more in the table, as much as the code of one or two ones.
 */
const SPARSE_ONES = 4;
const PIECE_BYTES = 16_384;

/** Codes the gaps between all ones at once. */
function encodeSparse(words: Uint32Array, ones: number, bits: number): Uint8Array {
  const writer = new ByteWriter();
  const parameter = gapParameter(ones, bits);
  writer.byte(CODINGS.indexOf('sparse'));
  writer.number(ones);
  writer.number(parameter);
  const gaps = new GapWriter();
  gaps.begin(parameter);
  for (let i = 0; i < words.length; i++) {
    for (let word = words[i]; word !== 0; word &= word - 1) gaps.put(32 * i + 31 - Math.clz32(word & -word));
  }
  writer.bytes(gaps.finish());
  return writer.finish();
}

function encodePlain(words: Uint32Array, bits: number): Uint8Array {
  const writer = new ByteWriter();
  writer.byte(CODINGS.indexOf('plain'));
  writer.bytes(new Uint8Array(words.buffer, words.byteOffset, Math.ceil(bits / 8)));
  return writer.finish();
}

/** The logarithm of the smallest piece that takes `PIECE_BYTES` of code on average. */
function pieceLogOf(bits: number, ones: number): number {
  const entropy = binaryEntropy(ones / bits);
  let log = LEAST_LOG;
  while (log < MOST_LOG && 2 ** log < bits && 2 ** log * entropy < 8 * PIECE_BYTES) log++;
  return log;
}

/**
 * The fastest coding. The smallest arrays are coded before a model would be built. Gaps take one
 * step per one, rANS one per byte. On small arrays gaps are used up to a higher density, because
 * eight states and a model cost more there.
 */
function fastCoding(density: number, bits: number): PiecedCoding {
  if (bits < 2 ** 12) return density < 0.1 ? 'gaps' : 'range';
  return density < (bits < 2 ** 14 ? 0.08 : 0.04) ? 'gaps' : 'rans';
}

/** All pieces of an array share one model, so the last one is kept. */
let lastModel: { readonly ones: number; readonly bits: number; readonly model: ByteModel } | undefined;

function modelOf({ ones, bits }: BitsPlan): ByteModel {
  if (lastModel?.ones !== ones || lastModel.bits !== bits) {
    lastModel = { ones, bits, model: new ByteModel(ones, bits) };
  }
  return lastModel.model;
}
