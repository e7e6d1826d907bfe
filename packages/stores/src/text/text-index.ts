/**
 * Reads a text index through a port of ranges: a file, memory, or a server that answers range
 * requests. A search reads one row for each gram of the needle, and the extents of the blocks that
 * remain. Every piece that is read has a checksum. A piece that fails it is an error with a code,
 * never an answer: the caller then reads the files whole.
 */

import { type GramScheme, needleBits } from './gram-scheme.ts';
import {
  type ByteRange,
  damaged,
  type RangeSource,
  type ReadRangesOptions,
  readAll,
  readHead,
  type Stripe,
} from './index-head.ts';
import {
  CHUNK_BLOCKS,
  EXTENT_BYTES,
  type Extent,
  getNumber,
  isSealed,
  SUM_BYTES,
  viewOf,
} from './index-layout.ts';
import {
  candidateBits,
  firstRows,
  intersect,
  isEveryBlock,
  type RequiredRows,
  type RequiredText,
  requiredRows,
  rowNumbers,
} from './required-text.ts';
import { TextIndexError } from './text-index-error.ts';

/** A block that may contain the text. */
export interface Candidate {
  /** The number of the block in the index. */
  readonly block: number;
  readonly extents: readonly Extent[];
}

export class TextIndex {
  readonly scheme: GramScheme;
  /** The name that the writer gave the index. */
  readonly id: Uint8Array;
  readonly blocks: number;
  readonly #source: RangeSource;
  readonly #stripes: readonly Stripe[];
  #bytesRead: number;

  private constructor(
    source: RangeSource,
    header: { scheme: GramScheme; id: Uint8Array },
    stripes: readonly Stripe[],
    bytesRead: number,
  ) {
    this.#source = source;
    this.#stripes = stripes;
    this.#bytesRead = bytesRead;
    this.scheme = header.scheme;
    this.id = header.id;
    this.blocks = stripes.reduce((sum, { blocks }) => sum + blocks, 0);
  }

  /** Reads the header and the directory. Throws a `TextIndexError` if they are damaged. */
  static async open(source: RangeSource, options: ReadRangesOptions = {}): Promise<TextIndex> {
    const { head, stripes, bytes } = await readHead(source, options);
    return new TextIndex(source, head, stripes, bytes);
  }

  /** Bytes of the index that were read so far. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Whether the index can skip blocks for this text: some needle in it is long enough. */
  decides(text: RequiredText): boolean {
    return !isEveryBlock(requiredRows(text, (needle) => needleBits(needle, this.scheme)));
  }

  /** Numbers of the blocks that may contain the text, in order. */
  async candidateBlocks(text: RequiredText, options: ReadRangesOptions = {}): Promise<number[]> {
    const wanted = requiredRows(text, (needle) => needleBits(needle, this.scheme));
    const found: number[] = [];
    const rows = rowNumbers(wanted).size;
    for (const stripes of inBatches(this.#stripes, ({ layout }) => rows * layout.groupBytes)) {
      const candidates = await this.#candidatesOf(stripes, wanted, options);
      for (const { stripe, bits } of candidates) {
        for (let block = 0; block < stripe.blocks; block++) {
          // Most bytes are zero.
          if ((block & 7) === 0 && bits[block >>> 3] === 0) block += 7;
          else if (((bits[block >>> 3] >>> (block & 7)) & 1) !== 0) found.push(stripe.firstBlock + block);
        }
      }
    }
    return found;
  }

  /**
   * Candidates of some stripes. Each row halves the blocks that remain, so a needle of many grams
   * has done its work before its last row. Rows are read in steps, and only of stripes that still
   * have candidates. If all rows take a few kilobytes, there is one step.
   */
  async #candidatesOf(
    stripes: readonly Stripe[],
    wanted: RequiredRows,
    options: ReadRangesOptions,
  ): Promise<StripeCandidates[]> {
    const all = rowNumbers(wanted).size;
    const bytes = stripes.reduce((sum, { layout }) => sum + layout.groupBytes, 0);
    let left = stripes.map(
      (stripe): StripeCandidates => ({
        stripe,
        bits: new Uint8Array(stripe.layout.width).fill(255),
        rows: new Map(),
      }),
    );
    let read: ReadonlySet<number> = new Set();
    for (let most = all * bytes <= ONE_STEP_BYTES ? all : FIRST_ROWS; ; most += MORE_ROWS) {
      const step = firstRows(wanted, most);
      const rows = rowNumbers(step);
      // All stripes that are left have the same rows.
      const more = [...rows].filter((row) => !read.has(row)).sort((a, b) => a - b);
      if (step.kind === 'rows') {
        // With a single needle, a row is not needed again after it was intersected.
        await this.#readRows(left, more, options, ({ bits }, _, row) => intersect(bits, row));
      } else {
        await this.#readRows(left, more, options, ({ rows: held }, number, row) => held.set(number, row));
        for (const one of left) {
          const { width } = one.stripe.layout;
          one.bits = candidateBits(step, width, (row) => one.rows.get(row)!);
        }
      }
      read = rows;
      left = left.filter(hasCandidates);
      if (rows.size === all || left.length === 0) return left;
    }
  }

  /**
   * Visits rows of each stripe, given in rising order. A terabyte has six hundred stripes, and this
   * is the loop over their rows.
   */
  async #readRows(
    stripes: readonly StripeCandidates[],
    rows: readonly number[],
    options: ReadRangesOptions,
    visit: (one: StripeCandidates, number: number, row: Uint8Array) => void,
  ): Promise<void> {
    const ranges: ByteRange[] = [];
    for (const { stripe } of stripes) {
      const { groupRows, groupBytes } = stripe.layout;
      let last = -1;
      for (const row of rows) {
        const group = Math.floor(row / groupRows);
        if (group === last) continue;
        ranges.push({ offset: stripe.offset + group * groupBytes, length: groupBytes });
        last = group;
      }
    }
    const bytes = await this.#read(ranges, options);
    let next = -1;
    for (const one of stripes) {
      const { groupRows, width } = one.stripe.layout;
      let last = -1;
      for (const row of rows) {
        const group = Math.floor(row / groupRows);
        if (group !== last) {
          next++;
          if (!isSealed(bytes[next], ranges[next].offset)) throw damaged(ranges[next].offset, 'rows');
        }
        last = group;
        const at = (row - group * groupRows) * width;
        visit(one, row, bytes[next].subarray(at, at + width));
      }
    }
  }

  /** The blocks that may contain the text, with their extents. */
  async search(text: RequiredText, options: ReadRangesOptions = {}): Promise<Candidate[]> {
    return this.extentsOf(await this.candidateBlocks(text, options), options);
  }

  /** The extents of blocks, which are given by their numbers in rising order. */
  async extentsOf(blocks: readonly number[], options: ReadRangesOptions = {}): Promise<Candidate[]> {
    const extents = new Map<number, Extent[]>(blocks.map((block) => [block, []]));
    const wanted = wantedStripes(this.#stripes, blocks);
    for (let i = 0; i < wanted.length; i += STRIPES_AT_ONCE) {
      const some = wanted.slice(i, i + STRIPES_AT_ONCE);
      const tables = await this.#read(some.map(tableRange), options);
      const chunks = some.flatMap((one, j) => chunkRanges(one, tables[j]));
      for (const ranges of inBatches(chunks, ({ length }) => length)) {
        const bytes = await this.#read(ranges, options);
        ranges.forEach(({ offset, firstBlock }, j) => {
          if (!isSealed(bytes[j], offset)) throw damaged(offset, 'extents');
          const view = viewOf(bytes[j]);
          for (let at = 0; at + EXTENT_BYTES <= bytes[j].length; at += EXTENT_BYTES)
            extents.get(firstBlock + view.getUint32(at + 4, true))?.push(readExtent(view, at));
        });
      }
    }
    return blocks.map((block) => ({ block, extents: extents.get(block)! }));
  }

  async #read(ranges: readonly ByteRange[], options: ReadRangesOptions): Promise<readonly Uint8Array[]> {
    this.#bytesRead += ranges.reduce((sum, { length }) => sum + length, 0);
    return readAll(this.#source, ranges, options);
  }
}

/** A stripe of a search: the candidates by the rows that were read. */
interface StripeCandidates {
  readonly stripe: Stripe;
  bits: Uint8Array;
  readonly rows: Map<number, Uint8Array>;
}

/** Rows of a needle in the first step and in each later one. */
const FIRST_ROWS = 10;
const MORE_ROWS = 2;
/** All rows are read in one step if they take no more than this: a step may be a round trip. */
const ONE_STEP_BYTES = 65_536;

/** Whether a block of the stripe is a candidate. Bits behind the last block may be set. */
function hasCandidates({ stripe, bits }: StripeCandidates): boolean {
  const last = stripe.blocks >>> 3;
  for (let i = 0; i < last; i++) if (bits[i] !== 0) return true;
  return (stripe.blocks & 7) !== 0 && (bits[last] & ((1 << (stripe.blocks & 7)) - 1)) !== 0;
}

/** Cuts a list into parts of some megabytes each. */
function* inBatches<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    batch.push(item);
    bytes += bytesOf(item);
    if (bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

const BATCH_BYTES = 16_000_000;

/** Stripes whose tables of extents are read together: half a kilobyte each. */
const STRIPES_AT_ONCE = 1024;

/** Blocks of one stripe whose extents are wanted. */
interface WantedBlocks {
  readonly stripe: Stripe;
  readonly blocks: readonly number[];
}

function wantedStripes(stripes: readonly Stripe[], blocks: readonly number[]): WantedBlocks[] {
  const wanted: WantedBlocks[] = [];
  let from = 0;
  for (const stripe of stripes) {
    let to = from;
    while (to < blocks.length && blocks[to] < stripe.firstBlock + stripe.blocks) to++;
    if (to > from) wanted.push({ stripe, blocks: blocks.slice(from, to) });
    from = to;
  }
  return wanted;
}

/** The table with the number of extents before each chunk. */
function tableRange({ stripe }: WantedBlocks): ByteRange {
  const chunks = Math.ceil(stripe.blocks / CHUNK_BLOCKS);
  return { offset: stripe.extentsOffset, length: (chunks + 1) * 4 + SUM_BYTES };
}

/** The chunks of extents that hold the blocks. */
function chunkRanges(
  { stripe, blocks }: WantedBlocks,
  table: Uint8Array,
): (ByteRange & { readonly firstBlock: number })[] {
  const { firstBlock, extentsOffset } = stripe;
  if (!isSealed(table, extentsOffset)) throw damaged(extentsOffset, 'extents');
  const counts = viewOf(table);
  const chunks = new Set(blocks.map((block) => Math.floor((block - firstBlock) / CHUNK_BLOCKS)));
  return [...chunks].map((chunk) => {
    const from = counts.getUint32(4 * chunk, true);
    const to = counts.getUint32(4 * chunk + 4, true);
    if (to < from || to > stripe.extents)
      throw new TextIndexError(
        'payload',
        extentsOffset + 4 * chunk,
        `Cannot read a text index: expected rising numbers up to ${stripe.extents}, got ${from} and ${to}`,
      );
    const offset = extentsOffset + table.length + from * EXTENT_BYTES + chunk * SUM_BYTES;
    return { offset, length: (to - from) * EXTENT_BYTES + SUM_BYTES, firstBlock };
  });
}

function readExtent(view: DataView, at: number): Extent {
  const number = (i: number) => getNumber(view, at + 8 + 8 * i);
  return {
    file: view.getUint32(at, true),
    start: number(0),
    length: number(1),
    lines: number(2),
    source: number(3),
    sourceLength: number(4),
    skip: number(5),
  };
}
