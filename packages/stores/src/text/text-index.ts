/**
 * Reads a text index through a port of ranges: a file, memory, or a server that answers range
 * requests. A search reads one row for each gram of the needle, and the extents of the blocks that
 * remain. Every piece that is read has a checksum. A piece that fails it is an error with a code,
 * never an answer: the caller then reads the files whole.
 */

import { EXTRA_RULES, type GramScheme, isScheme, needleBits } from './gram-scheme.ts';
import {
  CHUNK_BLOCKS,
  EXTENT_BYTES,
  type Extent,
  getNumber,
  HEADER_BYTES,
  isSealed,
  MAGIC,
  type RowLayout,
  rowLayout,
  rowPlace,
  STRIPE_BLOCKS,
  STRIPE_BYTES,
  SUM_BYTES,
  TRAILER_BYTES,
  VERSION,
  viewOf,
} from './index-layout.ts';
import { candidateBits, eachRow, isEveryBlock, type RequiredText, requiredRows } from './required-text.ts';
import { TextIndexError } from './text-index-error.ts';

/** Bytes at a place of the index. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

export interface ReadRangesOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The port: reads several ranges at once, in the order of the question. */
export interface RangeSource {
  /** Bytes of the whole index. */
  readonly size: number;
  read(ranges: readonly ByteRange[], options?: ReadRangesOptions): Promise<readonly Uint8Array[]>;
}

/** A block that may contain the text. */
export interface Candidate {
  /** The number of the block in the index. */
  readonly block: number;
  readonly extents: readonly Extent[];
}

interface Stripe {
  readonly firstBlock: number;
  readonly offset: number;
  readonly extentsOffset: number;
  readonly blocks: number;
  readonly extents: number;
  readonly layout: RowLayout;
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
    const { size } = source;
    if (size < HEADER_BYTES + SUM_BYTES + TRAILER_BYTES)
      throw new TextIndexError('truncated', size, `Cannot open a text index: it ends after ${size} bytes`);
    const trailerAt = size - TRAILER_BYTES;
    const [header, trailer] = await readAll(
      source,
      [
        { offset: 0, length: HEADER_BYTES },
        { offset: trailerAt, length: TRAILER_BYTES },
      ],
      options,
    );
    const head = readHeader(header);
    const { at, blocks, stripes: count } = readTrailer(trailer, trailerAt);
    const [directory] = await readAll(source, [{ offset: at, length: trailerAt - at }], options);
    const stripes = readDirectory(directory, { at, count, scheme: head.scheme });
    if (stripes.reduce((sum, stripe) => sum + stripe.blocks, 0) !== blocks)
      throw new TextIndexError('payload', at, `Cannot open a text index: expected ${blocks} blocks in all`);
    return new TextIndex(source, head, stripes, HEADER_BYTES + TRAILER_BYTES + directory.length);
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
    const rows = new Set<number>();
    eachRow(wanted, (row) => rows.add(row));
    const found: number[] = [];
    for (const stripes of batches(this.#stripes, rows.size)) {
      const groups = stripes.map((stripe) => groupsOf(stripe, rows));
      const ranges = groups.flat();
      const bytes = await this.#read(ranges, options);
      let next = 0;
      stripes.forEach((stripe, i) => {
        const held = new Map<number, Uint8Array>();
        for (const range of groups[i]) {
          const group = bytes[next++];
          if (!isSealed(group, range.offset)) throw damaged(range.offset, 'rows');
          held.set(range.offset, group);
        }
        const { width, groupBytes } = stripe.layout;
        const bits = candidateBits(wanted, width, (row) => {
          const place = rowPlace(stripe.layout, row);
          const start = stripe.offset + Math.floor(place / groupBytes) * groupBytes;
          const within = stripe.offset + place - start;
          return held.get(start)!.subarray(within, within + width);
        });
        for (let block = 0; block < stripe.blocks; block++) {
          if (((bits[block >>> 3] >>> (block & 7)) & 1) !== 0) found.push(stripe.firstBlock + block);
        }
      });
    }
    return found;
  }

  /** The blocks that may contain the text, with their extents. */
  async search(text: RequiredText, options: ReadRangesOptions = {}): Promise<Candidate[]> {
    return this.extentsOf(await this.candidateBlocks(text, options), options);
  }

  /** The extents of blocks, which are given by their numbers in rising order. */
  async extentsOf(blocks: readonly number[], options: ReadRangesOptions = {}): Promise<Candidate[]> {
    const found: Candidate[] = [];
    for (const stripe of this.#stripes) {
      const mine = blocks.filter(
        (block) => block >= stripe.firstBlock && block < stripe.firstBlock + stripe.blocks,
      );
      if (mine.length === 0) continue;
      found.push(...(await this.#stripeExtents(stripe, mine, options)));
    }
    return found;
  }

  async #stripeExtents(
    stripe: Stripe,
    blocks: readonly number[],
    options: ReadRangesOptions,
  ): Promise<Candidate[]> {
    const chunkCount = Math.ceil(stripe.blocks / CHUNK_BLOCKS);
    const tableBytes = (chunkCount + 1) * 4 + SUM_BYTES;
    const [table] = await this.#read([{ offset: stripe.extentsOffset, length: tableBytes }], options);
    if (!isSealed(table, stripe.extentsOffset)) throw damaged(stripe.extentsOffset, 'extents');
    const counts = viewOf(table);
    const chunks = [
      ...new Set(blocks.map((block) => Math.floor((block - stripe.firstBlock) / CHUNK_BLOCKS))),
    ];
    const ranges = chunks.map((chunk) => {
      const from = counts.getUint32(4 * chunk, true);
      const to = counts.getUint32(4 * chunk + 4, true);
      if (to < from || to > stripe.extents)
        throw new TextIndexError(
          'payload',
          stripe.extentsOffset + 4 * chunk,
          `Cannot read a text index: expected rising numbers up to ${stripe.extents}, got ${from} and ${to}`,
        );
      const offset = stripe.extentsOffset + tableBytes + from * EXTENT_BYTES + chunk * SUM_BYTES;
      return { offset, length: (to - from) * EXTENT_BYTES + SUM_BYTES };
    });
    const bytes = await this.#read(ranges, options);
    const extents = new Map<number, Extent[]>(blocks.map((block) => [block, []]));
    ranges.forEach(({ offset }, i) => {
      if (!isSealed(bytes[i], offset)) throw damaged(offset, 'extents');
      for (let at = 0; at + EXTENT_BYTES <= bytes[i].length; at += EXTENT_BYTES) {
        const view = viewOf(bytes[i]);
        const block = stripe.firstBlock + view.getUint32(at + 4, true);
        extents.get(block)?.push(readExtent(view, at));
      }
    });
    return blocks.map((block) => ({ block, extents: extents.get(block)! }));
  }

  async #read(ranges: readonly ByteRange[], options: ReadRangesOptions): Promise<readonly Uint8Array[]> {
    this.#bytesRead += ranges.reduce((sum, { length }) => sum + length, 0);
    return readAll(this.#source, ranges, options);
  }
}

/** Groups of stripes whose rows take some megabytes together. */
function* batches(stripes: readonly Stripe[], rows: number): Generator<Stripe[]> {
  let batch: Stripe[] = [];
  let bytes = 0;
  for (const stripe of stripes) {
    batch.push(stripe);
    bytes += rows * stripe.layout.groupBytes;
    if (bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

const BATCH_BYTES = 16_000_000;

/** The groups that hold rows, each once, in the order of the file. */
function groupsOf({ offset, layout }: Stripe, rows: ReadonlySet<number>): ByteRange[] {
  const groups = new Set<number>();
  for (const row of rows) groups.add(Math.floor(row / layout.groupRows));
  return [...groups]
    .sort((a, b) => a - b)
    .map((group) => ({ offset: offset + group * layout.groupBytes, length: layout.groupBytes }));
}

/** Reads ranges that lie within the index, and checks that all bytes came. */
async function readAll(
  source: RangeSource,
  ranges: readonly ByteRange[],
  options: ReadRangesOptions,
): Promise<readonly Uint8Array[]> {
  for (const { offset, length } of ranges) {
    if (!(offset >= 0 && length >= 0 && offset + length <= source.size))
      throw new TextIndexError(
        'truncated',
        source.size,
        `Cannot read a text index: expected ${length} bytes at ${offset}, but it ends at ${source.size}`,
      );
  }
  const parts = await source.read(ranges, options);
  ranges.forEach(({ offset, length }, i) => {
    if (parts[i]?.length !== length)
      throw new TextIndexError(
        'truncated',
        offset,
        `Cannot read a text index: expected ${length} bytes, got ${parts[i]?.length ?? 0}`,
      );
  });
  return parts;
}

function readHeader(bytes: Uint8Array): { scheme: GramScheme; id: Uint8Array } {
  const view = viewOf(bytes);
  if (view.getUint32(0, true) !== MAGIC)
    throw new TextIndexError('not-an-index', 0, 'Cannot open a text index: the magic bytes are missing');
  if (bytes[4] !== VERSION)
    throw new TextIndexError(
      'version',
      4,
      `Cannot open a text index: expected version ${VERSION}, got ${bytes[4]}`,
    );
  if (!isSealed(bytes, 0)) throw damaged(0, 'header');
  const scheme: GramScheme = {
    gram: bytes[5],
    extra: bytes[6],
    extraRule: EXTRA_RULES[bytes[7]],
    bitsLog2: bytes[8],
    limit: view.getUint32(12, true),
  };
  if (!isScheme(scheme))
    throw new TextIndexError(
      'parameters',
      5,
      `Cannot open a text index: expected parameters within their bounds, got ${JSON.stringify(scheme)}`,
    );
  return { scheme, id: bytes.slice(16, 32) };
}

function readTrailer(bytes: Uint8Array, place: number): { at: number; blocks: number; stripes: number } {
  if (!isSealed(bytes, place) || viewOf(bytes).getUint32(20, true) !== MAGIC) throw damaged(place, 'end');
  const view = viewOf(bytes);
  return { at: getNumber(view, 0), blocks: getNumber(view, 8), stripes: view.getUint32(16, true) };
}

/** The stripes, which must follow one another without gaps from the header to the directory. */
function readDirectory(
  bytes: Uint8Array,
  { at, count, scheme }: { at: number; count: number; scheme: GramScheme },
): Stripe[] {
  if (bytes.length !== count * STRIPE_BYTES + SUM_BYTES || !isSealed(bytes, at))
    throw damaged(at, 'directory');
  const view = viewOf(bytes);
  const stripes: Stripe[] = [];
  let place = HEADER_BYTES;
  let firstBlock = 0;
  for (let i = 0; i < count; i++) {
    const record = i * STRIPE_BYTES;
    const offset = getNumber(view, record);
    const extentsOffset = getNumber(view, record + 8);
    const blocks = view.getUint32(record + 16, true);
    const extents = view.getUint32(record + 20, true);
    const layout = rowLayout(Math.min(blocks, STRIPE_BLOCKS), scheme.bitsLog2);
    if (blocks === 0 || blocks > STRIPE_BLOCKS || offset !== place || extentsOffset !== offset + layout.bytes)
      throw new TextIndexError(
        'payload',
        at + record,
        'Cannot open a text index: expected stripes that follow one another',
      );
    stripes.push({ firstBlock, offset, extentsOffset, blocks, extents, layout });
    const chunks = Math.ceil(blocks / CHUNK_BLOCKS);
    place = extentsOffset + (chunks + 1) * 4 + SUM_BYTES + extents * EXTENT_BYTES + chunks * SUM_BYTES;
    firstBlock += blocks;
  }
  if (place !== at)
    throw new TextIndexError(
      'payload',
      at,
      `Cannot open a text index: expected the directory at ${place}, got ${at}`,
    );
  return stripes;
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

function damaged(offset: number, part: string): TextIndexError {
  return new TextIndexError(
    'checksum',
    offset,
    `Cannot read a text index: expected the checksum of the ${part}, got another`,
  );
}
