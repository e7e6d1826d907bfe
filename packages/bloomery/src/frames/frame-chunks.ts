/**
 * Writes a filter as a frame in pieces, for files and streams: the same bytes as `encode()`, chunk
 * by chunk.
 *
 *     for (const chunk of frameChunks(filter)) file.write(chunk);
 *     await pipeline(Readable.from(frameChunks(filter)), socket);
 *
 * What it is for. `encode()` needs memory for a second copy of the filter, in one Uint8Array, which
 * has at most 2^32 elements in Node 20. A filter of 5 GiB can be made, because it is an array of
 * 4-byte words, but `encode()` could not save it. Here the memory is one chunk. Structures that
 * keep their contents in one store (BloomFilter, BlockedBloomFilter, CountingBloomFilter,
 * StaticFilter, BloomierFilter, HashList) are read from that store. The others are encoded as a
 * whole and then cut.
 *
 * Each chunk is a copy, so later changes to the filter do not affect it: a filter may move in
 * memory while a stream waits. The checksum covers the bytes that were given out. Keys that are
 * added to a BloomFilter or a BlockedBloomFilter in the meantime may or may not be in the frame;
 * all earlier ones are. Any other change would mix two states, so do not make one until all chunks
 * are written.
 */

import { checkInteger } from '../math/checks.ts';
import { CHECKSUM, viewOf } from './envelope.ts';
import { encodeHead, type FrameContent, type FrameKind, type FrameWriter, type Payload } from './frame.ts';
import { RunningChecksum } from './running-checksum.ts';

export interface FrameChunksOptions {
  /** Number of bytes of each chunk except the last, which may be shorter. Default 2^20. */
  readonly chunkBytes?: number;
}

/** The bytes of `filter.encode()`, in chunks. */
export function frameChunks(
  filter: { encode(): Uint8Array },
  { chunkBytes = 2 ** 20 }: FrameChunksOptions = {},
): IterableIterator<Uint8Array<ArrayBuffer>> {
  checkInteger('chunkBytes', chunkBytes, 1, 2 ** 30);
  const write: FrameWriter<IterableIterator<Uint8Array<ArrayBuffer>>> = (kind, content) =>
    chunksOf(kind, content, chunkBytes);
  // Structures without a store ignore the writer, and return the whole frame.
  const made = (filter as Encodable).encode(write);
  return made instanceof Uint8Array ? slices(made, chunkBytes) : made;
}

interface Encodable {
  encode<T>(write: FrameWriter<T>): T | Uint8Array;
}

function* slices(bytes: Uint8Array, chunkBytes: number): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes.length; at += chunkBytes)
    yield Uint8Array.from(bytes.subarray(at, at + chunkBytes));
}

function* chunksOf(
  kind: FrameKind,
  content: FrameContent,
  chunkBytes: number,
): Generator<Uint8Array<ArrayBuffer>> {
  const head = encodeHead(kind, content);
  const end = head.length + Math.ceil(kind.payloadBits(content.variant, content.parameters) / 8);
  const sum = new RunningChecksum();
  const tail = new Uint8Array(CHECKSUM);
  for (let at = 0; at < end + CHECKSUM; at += chunkBytes) {
    const chunk = new Uint8Array(Math.min(chunkBytes, end + CHECKSUM - at));
    copyPart(chunk, at, head, 0, head.length);
    copyPart(chunk, at, content.payload, head.length, end);
    sum.add(chunk.subarray(0, Math.max(0, end - at)));
    if (at + chunk.length > end) viewOf(tail).setUint32(0, sum.value(), true);
    copyPart(chunk, at, tail, end, end + CHECKSUM);
    yield chunk;
  }
}

/**
 * Copies the overlap of a chunk, which begins at `at`, with a part of the frame from `start` to
 * `end`.
 */
function copyPart(chunk: Uint8Array, at: number, part: Payload, start: number, end: number): void {
  const from = Math.max(at, start);
  const to = Math.min(at + chunk.length, end);
  if (from < to) chunk.set(part.subarray(from - start, to - start), from - at);
}
