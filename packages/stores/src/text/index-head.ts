/**
 * Reads the fixed parts of a text index: the header, and the directory of its stripes at the end.
 * All sizes are checked against those of the file before anything is read by them.
 */

import { EXTRA_RULES, type GramScheme, isScheme } from './gram-scheme.ts';
import {
  CHUNK_BLOCKS,
  EXTENT_BYTES,
  getNumber,
  HEADER_BYTES,
  isSealed,
  MAGIC,
  type RowLayout,
  rowLayout,
  STRIPE_BLOCKS,
  STRIPE_BYTES,
  SUM_BYTES,
  TRAILER_BYTES,
  VERSION,
  viewOf,
} from './index-layout.ts';
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

/** Up to 4096 blocks, and where their rows and extents are. */
export interface Stripe {
  readonly firstBlock: number;
  readonly offset: number;
  readonly extentsOffset: number;
  readonly blocks: number;
  readonly extents: number;
  readonly layout: RowLayout;
}

interface IndexHead {
  readonly head: { readonly scheme: GramScheme; readonly id: Uint8Array };
  readonly stripes: readonly Stripe[];
  /** Bytes that were read. */
  readonly bytes: number;
}

/** Throws a `TextIndexError` if the parts are damaged. */
export async function readHead(source: RangeSource, options: ReadRangesOptions): Promise<IndexHead> {
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
  return { head, stripes, bytes: HEADER_BYTES + TRAILER_BYTES + directory.length };
}

/** Reads ranges that lie within the index, and checks that all bytes came. */
export async function readAll(
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

/** The error for a piece that fails its checksum. */
export function damaged(offset: number, part: string): TextIndexError {
  return new TextIndexError(
    'checksum',
    offset,
    `Cannot read a text index: expected the checksum of the ${part}, got another`,
  );
}
