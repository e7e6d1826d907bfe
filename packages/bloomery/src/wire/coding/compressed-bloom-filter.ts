/**
 * A Bloom filter that stays compressed in memory (Mitzenmacher, compressed II.B): only the pieces
 * that a lookup touches are unpacked, and a few of them are kept. It is for a node that holds the
 * summaries of many neighbours and asks each of them now and then, where the unpacked arrays would
 * not fit.
 *
 * What it costs. A lookup in a piece that is not unpacked decodes the piece. At 16 KiB of code that
 * takes about a millisecond with the exact coder and a fifth of it with the fast one. In a kept
 * piece it is an ordinary probe. For half of the non-member keys the lookup ends at the first
 * probe, so most lookups touch one or two pieces. If one filter gets most of the lookups,
 * `expand()` it.
 *
 * Untrusted input. The table of the pieces is read at once, a piece when a lookup touches it. So a
 * frame with a right checksum and wrong pieces is detected by a lookup, which throws a
 * `FrameError`; a caller that uses the filter as a hint treats that as "maybe". A piece has 2 MiB
 * at most, or is the plain bits of the frame.
 */

import { BloomFilter } from '../../filters/bloom-filter.ts';
import type { DecodeOptions } from '../../filters/shared/options.ts';
import { CODED, readHead, readScheme } from '../../frames/frame.ts';
import { BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { checkSameScheme, type HashScheme } from '../../hashing/hash-scheme.ts';
import { chunkHashes, countOf, eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { probeIndex } from '../../kernel/bits/classic.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkInteger } from '../../math/checks.ts';
import type { CodedBits } from './bit-code.ts';
import { compressFrame, type ExpandOptions, expandFrame, openBits } from './compressed-frame.ts';

export interface CompressedFilterOptions extends Pick<DecodeOptions, 'key'> {
  /**
   * Filters whose bits would take more bytes of memory than this are refused. Default: no limit,
   * but 128 MiB for `expand`.
   */
  readonly maxBytes?: number;
  /** The number of unpacked pieces that are kept. Default 8. */
  readonly keptPieces?: number;
}

export class CompressedBloomFilter {
  readonly bits: number;
  readonly hashes: number;
  readonly scheme: HashScheme;
  readonly #frame: Uint8Array;
  readonly #coded: CodedBits;
  readonly #range: number;
  readonly #stride: number;
  readonly #key: DecodeOptions['key'];
  readonly #limit: ExpandOptions;
  readonly #keptPieces: number;
  /** The kept pieces, in the order of their last use. */
  readonly #kept = new Map<number, Uint32Array>();
  #unpackings = 0;

  /** Takes a coded frame, or a plain one, which is coded first. */
  constructor(frame: Uint8Array, options: CompressedFilterOptions = {}) {
    checkOptions('CompressedBloomFilter', options, ['key', 'keptPieces', 'maxBytes']);
    const { key, keptPieces = 8, maxBytes } = options;
    this.#frame = Uint8Array.from(compressFrame(frame));
    this.#keptPieces = checkInteger('keptPieces', keptPieces, 1);
    const { variant, parameters } = readHead(BLOOM_FRAME, this.#frame);
    const [bits, hashes] = parameters;
    this.#coded = openBits(this.#frame, BLOOM_FRAME, { maxBytes: maxBytes ?? Number.POSITIVE_INFINITY });
    this.#limit = maxBytes === undefined ? {} : { maxBytes };
    this.scheme = readScheme(this.#frame, key);
    this.#key = key;
    this.bits = bits;
    this.hashes = hashes;
    this.#stride = variant % CODED === 1 ? bits / hashes : 0;
    this.#range = this.#stride || bits;
  }

  /**
   * True if the key may be in the filter, false if it certainly is not: the same answer as from the
   * filter that was compressed.
   */
  has(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#has(hashOut[0], hashOut[1]);
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#has(hash.low | 0, hash.high | 0);
  }

  /** One byte per key, in order. */
  hasMany(keys: KeyBatch): Uint8Array {
    const answers: number[] = countOf(keys) > 0 ? new Array(countOf(keys)) : [];
    let seen = 0;
    eachChunk(keys, this.scheme, (count, wasm) => {
      const hashes = chunkHashes(wasm);
      for (let i = 0; i < count; i++) answers[seen++] = this.#has(hashes[2 * i], hashes[2 * i + 1]) ? 1 : 0;
    });
    return Uint8Array.from(answers);
  }

  /** The uncompressed filter. If it has more than 128 MiB, a `maxBytes` must allow it. */
  expand(): BloomFilter {
    const plain = expandFrame(this.#frame, this.#limit);
    return BloomFilter.decode(plain, this.#key === undefined ? {} : { key: this.#key });
  }

  /** The coded frame. */
  encode(): Uint8Array {
    return Uint8Array.from(this.#frame);
  }

  /** The number of times that a piece was unpacked. */
  get unpackings(): number {
    return this.#unpackings;
  }

  /** The bytes that the filter takes now: the coded frame and the kept pieces. */
  get byteLength(): number {
    let bytes = this.#frame.length;
    for (const piece of this.#kept.values()) bytes += piece.byteLength;
    return bytes;
  }

  toString(): string {
    return `CompressedBloomFilter(${this.bits} bits, ${this.hashes} hashes, ${this.#coded.pieceCount} pieces in ${this.#coded.coding} coding, ${this.scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #has(low: number, high: number): boolean {
    const { coding, pieceBits } = this.#coded;
    // These two consist of a single piece of any size, and need not be unpacked.
    if (coding === 'empty' || coding === 'full') return coding === 'full';
    for (let i = 0, offset = 0; i < this.hashes; i++, offset += this.#stride) {
      const bit = offset + probeIndex(low, high, i, this.#range);
      const index = Math.floor(bit / pieceBits);
      const within = bit - index * pieceBits;
      // Plain bits are one piece, in which the position can exceed 2^32, so we must not shift.
      if (((this.#piece(index)[Math.floor(within / 32)] >>> (within % 32)) & 1) === 0) return false;
    }
    return true;
  }

  #piece(index: number): Uint32Array {
    let piece = this.#kept.get(index);
    if (piece === undefined) {
      this.#unpackings++;
      piece = this.#coded.piece(index);
      if (this.#kept.size === this.#keptPieces) {
        const [oldest] = this.#kept.keys();
        this.#kept.delete(oldest);
      }
    } else {
      this.#kept.delete(index);
    }
    this.#kept.set(index, piece);
    return piece;
  }
}
