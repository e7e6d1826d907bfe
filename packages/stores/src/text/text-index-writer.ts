/**
 * Writes a text index: blocks in, bytes out, front to back, so that any sink will do. Filters of up
 * to 4096 blocks wait in memory (64 MB at 2^17 bits) until their stripe is written.
 */

import { EXTRA_RULES, type GramScheme, isScheme } from './gram-scheme.ts';
import {
  CHUNK_BLOCKS,
  EXTENT_BYTES,
  type Extent,
  HEADER_BYTES,
  MAGIC,
  putNumber,
  rowLayout,
  rowPlace,
  STRIPE_BLOCKS,
  STRIPE_BYTES,
  SUM_BYTES,
  seal,
  TRAILER_BYTES,
  VERSION,
  viewOf,
} from './index-layout.ts';
import { transposeBits } from './transpose-bits.ts';

interface Stripe {
  readonly offset: number;
  readonly extentsOffset: number;
  readonly blocks: number;
  readonly extents: number;
}

export interface TextIndexWriterOptions {
  readonly scheme: GramScheme;
  /** Takes the bytes of the index, in order. The memory is not used again. */
  readonly write: (bytes: Uint8Array) => void;
  /** Sixteen bytes that name this index, so that another file in its place is noticed. */
  readonly id: Uint8Array;
  /** Blocks of a stripe, for tests. */
  readonly stripeBlocks?: number;
}

export class TextIndexWriter {
  readonly #scheme: GramScheme;
  readonly #write: (bytes: Uint8Array) => void;
  readonly #stripeBlocks: number;
  readonly #stripes: Stripe[] = [];
  #columns: Uint8Array[] = [];
  #extents: (readonly Extent[])[] = [];
  #offset = 0;
  #blocks = 0;

  constructor({ scheme, write, id, stripeBlocks = STRIPE_BLOCKS }: TextIndexWriterOptions) {
    if (!isScheme(scheme))
      throw new RangeError(
        `Cannot write a text index: expected a scheme within its bounds, got ${JSON.stringify(scheme)}`,
      );
    if (id.length !== 16)
      throw new RangeError(`Cannot write a text index: expected an id of 16 bytes, got ${id.length}`);
    this.#scheme = scheme;
    this.#write = write;
    this.#stripeBlocks = stripeBlocks;
    const header = new Uint8Array(HEADER_BYTES);
    const view = viewOf(header);
    view.setUint32(0, MAGIC, true);
    header.set(
      [VERSION, scheme.gram, scheme.extra, EXTRA_RULES.indexOf(scheme.extraRule), scheme.bitsLog2],
      4,
    );
    view.setUint32(12, scheme.limit, true);
    header.set(id, 16);
    this.#put(seal(header, 0));
  }

  /** Blocks that were added. */
  get blocks(): number {
    return this.#blocks;
  }

  /** Adds a block: its bits, and the pieces of files that it covers. */
  addBlock(bits: Uint8Array, extents: readonly Extent[]): void {
    if (bits.length !== 2 ** this.#scheme.bitsLog2 / 8)
      throw new RangeError(
        `Cannot add a block: expected ${2 ** this.#scheme.bitsLog2} bits, got ${8 * bits.length}`,
      );
    this.#columns.push(bits);
    this.#extents.push(extents);
    this.#blocks++;
    if (this.#columns.length === this.#stripeBlocks) this.#writeStripe();
  }

  /** Writes the rest. Returns the size of the index in bytes. */
  finish(): number {
    if (this.#columns.length > 0) this.#writeStripe();
    const directory = new Uint8Array(this.#stripes.length * STRIPE_BYTES + SUM_BYTES);
    const view = viewOf(directory);
    this.#stripes.forEach(({ offset, extentsOffset, blocks, extents }, i) => {
      putNumber(view, i * STRIPE_BYTES, offset);
      putNumber(view, i * STRIPE_BYTES + 8, extentsOffset);
      view.setUint32(i * STRIPE_BYTES + 16, blocks, true);
      view.setUint32(i * STRIPE_BYTES + 20, extents, true);
    });
    const at = this.#offset;
    this.#put(seal(directory, at));
    const trailer = new Uint8Array(TRAILER_BYTES);
    const end = viewOf(trailer);
    putNumber(end, 0, at);
    putNumber(end, 8, this.#blocks);
    end.setUint32(16, this.#stripes.length, true);
    end.setUint32(20, MAGIC, true);
    this.#put(seal(trailer, this.#offset));
    return this.#offset;
  }

  #writeStripe(): void {
    const blocks = this.#columns.length;
    const layout = rowLayout(blocks, this.#scheme.bitsLog2);
    const offset = this.#offset;
    const rows = new Uint8Array(layout.bytes);
    transposeBits(this.#columns, rows, layout.width, (row) => rowPlace(layout, row));
    for (let at = 0; at < rows.length; at += layout.groupBytes)
      seal(rows.subarray(at, at + layout.groupBytes), offset + at);
    this.#put(rows);
    const extentsOffset = this.#offset;
    const extents = this.#writeExtents();
    this.#stripes.push({ offset, extentsOffset, blocks, extents });
    this.#columns = [];
    this.#extents = [];
  }

  /** The table of chunks, then the chunks. Returns the number of extents. */
  #writeExtents(): number {
    const chunks: Extent[][] = [];
    const blocksOf: number[][] = [];
    this.#extents.forEach((extents, block) => {
      const chunk = Math.floor(block / CHUNK_BLOCKS);
      (chunks[chunk] ??= []).push(...extents);
      (blocksOf[chunk] ??= []).push(...extents.map(() => block));
    });
    const table = new Uint8Array((chunks.length + 1) * 4 + SUM_BYTES);
    let extents = 0;
    chunks.forEach((chunk, i) => {
      viewOf(table).setUint32(4 * i, extents, true);
      extents += chunk.length;
    });
    viewOf(table).setUint32(4 * chunks.length, extents, true);
    this.#put(seal(table, this.#offset));
    chunks.forEach((chunk, i) => {
      const bytes = new Uint8Array(chunk.length * EXTENT_BYTES + SUM_BYTES);
      const view = viewOf(bytes);
      chunk.forEach((extent, j) => {
        putExtent(view, j * EXTENT_BYTES, extent, blocksOf[i][j]);
      });
      this.#put(seal(bytes, this.#offset));
    });
    return extents;
  }

  #put(bytes: Uint8Array): void {
    this.#offset += bytes.length;
    this.#write(bytes);
  }
}

function putExtent(view: DataView, at: number, extent: Extent, block: number): void {
  view.setUint32(at, extent.file, true);
  view.setUint32(at + 4, block, true);
  const { start, length, lines, source, sourceLength, skip } = extent;
  [start, length, lines, source, sourceLength, skip].forEach((value, i) => {
    putNumber(view, at + 8 + 8 * i, value);
  });
}
