/**
 * Unpacks zstd (RFC 8878) frame by frame, and tells where frames end. Skippable frames are passed
 * over, among them the seek table of the seekable format: an index has the places already.
 *
 * Node unpacks a frame if its version can (22.15 and later). Otherwise zstddec does, libzstd in
 * WebAssembly: 85 kB, MIT and BSD, no dependencies, released in October 2026.
 *
 * Measured on 64 MB of log lines in 161 frames, MB of text per second of CPU on one shared machine:
 * Node 22.23 351; with Node 20.20 zstddec 0.3.4 338, @bokuweb/zstd-wasm 0.0.27 263, fzstd 0.1.1
 * (JavaScript) 79, @hpcc-js/wasm-zstd 1.7.0 7. fzstd does not compare checksums: of 100 frames with
 * one changed bit it accepted 96. @bokuweb/zstd-wasm has no streams, so a frame of 1 GB needs all
 * of it in memory. Packages with native code cannot be bundled into the command.
 */

import zlib from 'node:zlib';
import { errorCode } from '@bloomery/files';
import { type PackedPart, UnpackError } from './packed-part.ts';
import { PartReader } from './part-reader.ts';
import { throughStream } from './through-stream.ts';
import { loadWasmZstd, streamByWasm } from './wasm-zstd.ts';
import { BLOCK_HEADER, MOST_HEADER, type ZstdHeader, zstdBlock, zstdHeader } from './zstd-header.ts';

export interface ZstdOptions {
  /** Frames that need more memory are refused. */
  readonly mostWindow: number;
}

/** Packed bytes that are given to the decoder at once. */
const RUN = 1 << 18;
/** Frames whose text is at most this long are unpacked by one call. */
const WHOLE_FRAME = 8 << 20;

/** The part of zlib that Node has from 22.15 on, and the types of Node 20 lack. */
interface NodeZstd {
  readonly createZstdDecompress?: (options: object) => NodeJS.ReadWriteStream;
  readonly zstdDecompressSync?: (bytes: Uint8Array, options: object) => Buffer;
  readonly constants: { readonly ZSTD_d_windowLogMax: number };
}

const { createZstdDecompress, zstdDecompressSync, constants } = zlib as unknown as NodeZstd;
/** Whether this version of Node unpacks zstd itself. */
export const HAS_NODE_ZSTD = createZstdDecompress !== undefined;
/** The window was compared with the limit of the caller before. */
const ANY_WINDOW = { [constants.ZSTD_d_windowLogMax]: 31 };

/**
 * Yields the unpacked parts, and the ends of frames. `end` counts from the beginning of `parts`.
 */
export async function* zstdParts(
  parts: AsyncIterable<Uint8Array>,
  { mostWindow }: ZstdOptions,
): AsyncGenerator<PackedPart> {
  const reader = new PartReader(parts);
  try {
    for (;;) {
      const head = await reader.peek(MOST_HEADER);
      if (head.length === 0) return;
      if (await skipped(reader, head)) continue;
      const header = checkedHeader(head, reader.taken, mostWindow);
      for await (const bytes of unpackedFrame(reader, header)) yield { kind: 'data', bytes };
      yield { kind: 'member', end: reader.taken };
    }
  } finally {
    await reader.close();
  }
}

/** Passes over a skippable frame; false if it is another one. */
async function skipped(reader: PartReader, head: Uint8Array): Promise<boolean> {
  if (!((head[0] & 0xf0) === 0x50 && head[1] === 0x2a && head[2] === 0x4d && head[3] === 0x18)) return false;
  const start = reader.taken;
  const { length } = await reader.take(8);
  const size = length < 8 ? 0 : new DataView(head.buffer, head.byteOffset).getUint32(4, true);
  for (let left = size; left > 0; ) {
    const bytes = await reader.take(Math.min(left, RUN));
    if (bytes.length === 0) break;
    left -= bytes.length;
  }
  if (length < 8 || reader.taken - start - 8 < size) throw cutOff(start);
  return true;
}

function checkedHeader(head: Uint8Array, place: number, mostWindow: number): ZstdHeader {
  const [a, b, c, d] = head;
  if (b === 0xb5 && c === 0x2f && d === 0xfd && a >= 0x22 && a <= 0x27)
    throw new UnpackError(
      'zstd',
      `Cannot unpack: expected the format of zstd 0.8 or later, got an older one (at byte ${place})`,
    );
  if (a !== 0x28 || b !== 0xb5 || c !== 0x2f || d !== 0xfd || (head[4] & 8) !== 0)
    throw new UnpackError('zstd', `Cannot unpack: expected a zstd frame at byte ${place}, got other bytes`);
  const header = zstdHeader(head);
  if (header.dictionary !== 0)
    throw new UnpackError(
      'zstd-dictionary',
      `Cannot unpack: expected a zstd frame without a dictionary, got one that needs dictionary ${header.dictionary}; zstd -d -D unpacks it`,
    );
  if (header.window > mostWindow) {
    const log = Math.ceil(Math.log2(header.window));
    throw new UnpackError(
      'zstd-window',
      `Cannot unpack: expected a zstd window of at most ${mostWindow / 2 ** 20} MiB, got ${Math.ceil(header.window / 2 ** 20)} MiB; zstd -d --long=${log} unpacks it`,
    );
  }
  return header;
}

/** The text of a frame. libzstd compares its checksum; its length is compared here. */
async function* unpackedFrame(
  reader: PartReader,
  header: ZstdHeader,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const place = reader.taken;
  let length = 0;
  try {
    for await (const bytes of decoded(packedFrame(reader, header), header)) {
      length += bytes.length;
      if (bytes.length > 0) yield bytes;
    }
  } catch (error) {
    // Codes of system errors begin with E, except for that of a text that is too long.
    const code = errorCode(error) ?? '';
    const isForeign = code.startsWith('E') && code !== 'ERR_BUFFER_TOO_LARGE';
    if (error instanceof UnpackError || isForeign) throw error;
    throw new UnpackError(
      'zstd',
      `Cannot unpack: the zstd frame at byte ${place} is damaged (${(error as Error).message.replace('Cannot unpack: ', '')})`,
      { cause: error },
    );
  }
  if (header.content !== null && length !== header.content)
    throw new UnpackError(
      'zstd',
      `Cannot unpack: expected ${header.content} bytes from the zstd frame at byte ${place}, got ${length}`,
    );
}

/** The bytes of a frame, in runs of whole blocks. */
async function* packedFrame(reader: PartReader, header: ZstdHeader): AsyncGenerator<Uint8Array> {
  const place = reader.taken;
  const take = async (length: number) => {
    const bytes = await reader.take(length);
    if (bytes.length < length) throw cutOff(place);
    return bytes;
  };
  let run = [await take(header.bytes)];
  let runBytes = header.bytes;
  for (let isLast = false; !isLast; ) {
    const head = await take(BLOCK_HEADER);
    const block = zstdBlock(head);
    isLast = block.isLast;
    run.push(head, await take(block.bytes));
    runBytes += BLOCK_HEADER + block.bytes;
    if (runBytes < RUN || isLast) continue;
    yield Buffer.concat(run);
    run = [];
    runBytes = 0;
  }
  if (header.hasChecksum) run.push(await take(4));
  yield Buffer.concat(run);
}

/** Unpacks a frame of known, moderate size by one call, and any other one as a stream. */
async function* decoded(
  packed: AsyncGenerator<Uint8Array>,
  { content }: ZstdHeader,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (content === null || content === 0 || content > WHOLE_FRAME) {
    if (HAS_NODE_ZSTD) yield* throughStream(packed, createZstdDecompress!({ params: ANY_WINDOW }));
    else yield* streamByWasm(packed);
    return;
  }
  const runs: Uint8Array[] = [];
  for await (const run of packed) runs.push(run);
  const frame = runs.length === 1 ? runs[0] : Buffer.concat(runs);
  if (HAS_NODE_ZSTD)
    yield Uint8Array.from(zstdDecompressSync!(frame, { params: ANY_WINDOW, maxOutputLength: content + 1 }));
  // An error makes a shorter text, and the length is compared.
  else yield (await loadWasmZstd()).decoder.decode(frame, content) as Uint8Array<ArrayBuffer>;
}

function cutOff(place: number): UnpackError {
  return new UnpackError('zstd', `Cannot unpack: the zstd frame at byte ${place} is cut off`);
}
