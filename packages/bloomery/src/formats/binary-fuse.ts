/**
 * Binary fuse filters of FastFilter (Graf, Lemire 2022), as Go's `Save` and C's
 * `binary_fuse8_serialize` and `binary_fuse16_serialize` write them. They are static: `from` builds
 * one from all of its keys, in the layout and with the cells of one of the two programs, whose
 * seeds differ (binary-fuse-build.ts).
 *
 *     Go  u64 seed | u32 length | u32 its mask | u32 segments | u32 segments · length | u32 fingerprints
 *     C   u64 seed | u32 keys   | u32 length   | u32 segments | u32 segments · length | u32 fingerprints
 *
 * and the fingerprints, of 8, 16 or (Go) 32 bits, all little-endian. The length is that of a
 * segment. No field names the program or the width. The first five fields depend on each other so
 * that only one layout can fit, and the width follows from the size of the file. A file of 16 bits
 * that was cut exactly in half looks like one of 8, unless `fingerprintBits` is given. C's
 * `binary_fuse16_serialization_bytes` counts 4 bytes too many; such a tail is accepted and written
 * back.
 *
 * Keys are 64-bit integers, most often hashes that the caller made. The file does not say how. A
 * key is present if its fingerprint is the XOR of three cells. None of the programs checks the
 * files that it loads. Here the sizes must agree, so every cell that a key can lead to exists. C's
 * packed form and XOR filters are not read.
 */

import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { integerHalves, splitInteger } from '../keys/integer-key.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkChoice, wrongValue } from '../math/checks.ts';
import { buildFuseCells, cellsOf, type FuseGeometry, type FuseKeys } from './binary-fuse-build.ts';
import { finish } from './hashes/murmur3.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignFilter } from './shared/foreign-filter.ts';
import { unlikeKey } from './shared/foreign-key.ts';
import { copyOf, type ForeignDecodeOptions, ForeignReader } from './shared/foreign-reader.ts';
import { add, r, set } from './shared/int64.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

export interface BinaryFuseDecodeOptions extends ForeignDecodeOptions {
  /** Requires this width: a file of 16 bits that was cut in half looks like one of 8. */
  readonly fingerprintBits?: 8 | 16 | 32;
}

export interface BinaryFuseOptions {
  /** The program that shall read the file. */
  readonly layout: 'go' | 'c';
  /** Default 8. Only Go has 32. */
  readonly fingerprintBits?: 8 | 16 | 32;
}

export class BinaryFuseFile implements ForeignFilter<number | bigint> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'binary-fuse';
  readonly hash: string;
  /** The number of cells that are read for a key. */
  readonly hashes = 3;
  readonly layout: 'go' | 'c';
  readonly fingerprintBits: 8 | 16 | 32;
  /** The number of keys that went in. Only C's layout has it. */
  readonly size: number | undefined;
  readonly seed: bigint;
  readonly #shape: FuseShape;
  readonly #seedLow: number;
  readonly #seedHigh: number;
  readonly #header: Uint8Array;
  readonly #cells: ForeignBits;

  private constructor(header: Uint8Array, shape: FuseShape, cells: ForeignBits) {
    this.layout = shape.layout;
    this.fingerprintBits = shape.fingerprintBits;
    this.size = shape.size;
    this.seed = new DataView(header.buffer, header.byteOffset).getBigUint64(0, true);
    this.hash = `murmur3-finaliser/${this.seed.toString(16)} fuse${this.fingerprintBits}`;
    this.#seedLow = Number(BigInt.asIntN(32, this.seed));
    this.#seedHigh = Number(BigInt.asIntN(32, this.seed >> 32n));
    this.#shape = shape;
    this.#header = header;
    this.#cells = cells;
  }

  /**
   * Builds the file of these keys: 64-bit integers, in any order. Cell for cell it is the file that
   * the program makes of the same keys without repetitions.
   */
  static from(keys: Iterable<number | bigint>, options: BinaryFuseOptions): BinaryFuseFile {
    checkOptions('BinaryFuseFile.from', options, ['layout', 'fingerprintBits']);
    const layout = checkChoice('layout', options.layout, ['go', 'c']);
    const { fingerprintBits = 8 } = options;
    const widths = layout === 'go' ? [8, 16, 32] : [8, 16];
    if (!widths.includes(fingerprintBits)) {
      throw wrongValue('fingerprintBits', layout === 'go' ? '8, 16 or 32' : '8 or 16', fingerprintBits);
    }
    const distinct = distinctKeys(keys);
    const { segmentLength, segments, seed, cells } = buildFuseCells(distinct, layout);
    const width = fingerprintBits / 8;
    const bytes = new Uint8Array(HEADER + width * cells.length);
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, seed, true);
    const own = layout === 'go' ? [segmentLength, segmentLength - 1] : [distinct.length / 2, segmentLength];
    const fields = [...own, segments, segments * segmentLength, cells.length];
    for (const [i, field] of fields.entries()) view.setUint32(8 + 4 * i, field, true);
    for (let i = 0, at = HEADER; i < cells.length; i++) {
      for (let shift = 0; shift < fingerprintBits; shift += 8) bytes[at++] = cells[i] >>> shift;
    }
    return BinaryFuseFile.decode(bytes, { maxBytes: bytes.length });
  }

  static decode(bytes: Uint8Array, options: BinaryFuseDecodeOptions = {}): BinaryFuseFile {
    checkOptions('BinaryFuseFile.decode', options, ['maxBytes', 'fingerprintBits']);
    const { fingerprintBits } = options;
    if (fingerprintBits !== undefined && ![8, 16, 32].includes(fingerprintBits)) {
      throw wrongValue('fingerprintBits', '8, 16 or 32', fingerprintBits);
    }
    const shape = readFuseHeader(bytes, options);
    if (fingerprintBits !== undefined && fingerprintBits !== shape.fingerprintBits) {
      const reader = new ForeignReader('binary-fuse', bytes, 'little-endian');
      reader.fail('payload', `fingerprints of ${fingerprintBits} bits`, shape.fingerprintBits, HEADER);
    }
    const length = bytes.length - HEADER;
    return new BinaryFuseFile(copyOf(bytes, 0, HEADER), shape, ForeignBits.of(bytes, HEADER, length));
  }

  /** Looks up an unsigned 64-bit integer. A negative key stands for the same bits. */
  has(key: number | bigint): boolean {
    if (splitInteger(key) === 0) {
      throw unlikeKey('a 64-bit integer', key);
    }
    set(0, integerHalves[0], integerHalves[1]);
    add(0, this.#seedLow, this.#seedHigh);
    finish(r, 0);
    return this.#matches(r[0], r[1]);
  }

  get bits(): number {
    return this.#shape.cells * this.fingerprintBits;
  }

  get byteLength(): number {
    return this.bits / 8;
  }

  /** 2^-fingerprintBits, which does not depend on how full the filter is. */
  estimatedFalsePositiveRate(): number {
    return 2 ** -this.fingerprintBits;
  }

  encode(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(HEADER + this.#cells.length);
    bytes.set(this.#header);
    this.#cells.writeTo(bytes, HEADER);
    return bytes;
  }

  toString(): string {
    const { cells, segmentLength } = this.#shape;
    return `BinaryFuseFile(${this.layout}, ${cells} cells of ${this.fingerprintBits} bits, segments of ${segmentLength})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #matches(low: number, high: number): boolean {
    cellsOf(low, high, this.#shape, three);
    const [h0, h1, h2] = three;
    const width = this.fingerprintBits / 8;
    const cell = this.#cells;
    const fingerprint = low ^ high;
    for (let i = 0; i < width; i++) {
      const found = cell.byte(h0 * width + i) ^ cell.byte(h1 * width + i) ^ cell.byte(h2 * width + i);
      if (found !== ((fingerprint >>> (8 * i)) & 255)) return false;
    }
    return true;
  }
}

/** Sorts 64-bit keys and drops repetitions. */
function distinctKeys(keys: Iterable<number | bigint>): FuseKeys {
  const words: number[] = [];
  for (const key of keys) {
    if (splitInteger(key) === 0) throw unlikeKey('a 64-bit integer', key);
    words.push(integerHalves[0], integerHalves[1]);
  }
  const sorted = new BigUint64Array(Uint32Array.from(words).buffer).sort();
  let kept = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[kept++] = sorted[i];
  }
  return new Uint32Array(sorted.buffer, 0, 2 * kept);
}

interface FuseShape extends FuseGeometry {
  readonly layout: 'go' | 'c';
  readonly size: number | undefined;
  readonly cells: number;
  readonly fingerprintBits: 8 | 16 | 32;
}

/** @internal Reads and checks everything except the fingerprints. */
export function readFuseHeader(bytes: Uint8Array, options: ForeignDecodeOptions): FuseShape {
  const reader = new ForeignReader('binary-fuse', bytes, 'little-endian');
  reader.u64('seed');
  const one = reader.u32('segment length or key count');
  const two = reader.u32('segment mask or segment length');
  const segments = reader.u32('segment count');
  const range = reader.u32('segment count length');
  const cells = reader.u32('fingerprint count');
  const fits = (segmentLength: number) =>
    segmentLength > 0 &&
    (segmentLength & (segmentLength - 1)) === 0 &&
    segments > 0 &&
    range === segments * segmentLength &&
    cells === (segments + 2) * segmentLength;
  const go = fits(one) && two === one - 1;
  if (!go && !fits(two)) {
    const got = `${one}, ${two}, ${segments}, ${range}, ${cells}`;
    reader.fail('parameters', 'segments of a power of two, and the cells that they make', got, 8);
  }
  const layout = go ? 'go' : 'c';
  const width = ([1, 2, 4] as const).find((w) => {
    const tail = reader.left - w * cells;
    return tail === 0 || (layout === 'c' && w === 2 && tail === C_TAIL);
  });
  if (width === undefined) {
    const code = reader.left < cells ? 'truncated' : reader.left > 4 * cells ? 'trailing' : 'payload';
    return reader.fail(code, `${cells} fingerprints of 1, 2 or 4 bytes`, reader.left);
  }
  if (layout === 'c' && width === 4) reader.fail('payload', 'fingerprints of 1 or 2 bytes from C', '4 bytes');
  reader.payload(reader.left, options);
  const fingerprintBits = (8 * width) as 8 | 16 | 32;
  return {
    layout,
    size: go ? undefined : one,
    segmentLength: go ? one : two,
    segments,
    cells,
    fingerprintBits,
  };
}

const HEADER = 28;
const C_TAIL = 4;
const three = /* @__PURE__ */ new Uint32Array(3);
