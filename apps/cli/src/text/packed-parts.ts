/** Unpacks gzip and zstd files from the beginning of a member or a frame. */

import type { PackedPart } from '../unpacking/packed-part.ts';
import { zstdParts } from '../unpacking/zstd-parts.ts';
import { gzipParts } from './gzip-parts.ts';
import type { FileKind, ReadBytes } from './text-file.ts';

/** The limit of the program zstd: `--long=28` and more ask for more. */
const MOST_WINDOW = 2 ** 27;
const PART = 1 << 20;

/** Yields the text and the ends of members, up to byte `end` of the file. */
export async function* packedParts(
  kind: Exclude<FileKind, 'plain'>,
  read: ReadBytes,
  from: number,
  end: number,
): AsyncGenerator<PackedPart> {
  if (kind === 'gzip') {
    yield* gzipParts(read, from, end);
    return;
  }
  for await (const part of zstdParts(inParts(read, from, end), { mostWindow: MOST_WINDOW }))
    yield part.kind === 'data' ? part : { kind: 'member', end: from + part.end };
}

async function* inParts(read: ReadBytes, from: number, end: number): AsyncGenerator<Uint8Array> {
  for (let at = from; at < end; ) {
    const bytes = await read(at, Math.min(PART, end - at));
    if (bytes.length === 0) return;
    yield bytes;
    at += bytes.length;
  }
}
