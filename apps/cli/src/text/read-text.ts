/**
 * Reads text of a file in pieces of whole lines: all of it, or the extents that an index left over.
 */

import type { Extent } from '@bloomery/stores/text';
import { UnpackError } from '../unpacking/packed-part.ts';
import { UsageError } from '../usage-error.ts';
import { packedParts } from './packed-parts.ts';
import type { FileKind, ReadBytes } from './text-file.ts';

/** Whole lines of a file. The last piece of a file may end without a newline. */
export interface TextPiece {
  /** Unpacked bytes before the piece. */
  readonly start: number;
  /** Newlines before the piece. */
  readonly lines: number;
  readonly bytes: Buffer;
}

const PIECE = 1 << 20;
/** A longer line does not fit into a string. */
const LONGEST_LINE = 256 << 20;

/** All lines from a place on. `onRead` gets the unpacked bytes. */
export async function* wholeText(
  read: ReadBytes,
  file: { path: string; kind: FileKind; size: number; start?: number; lines?: number },
  onRead: (bytes: number) => void,
): AsyncGenerator<TextPiece> {
  let { start = 0, lines = 0 } = file;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const bytes of unpacked(read, file)) {
    onRead(bytes.length);
    const end = bytes.lastIndexOf(10) + 1;
    held.push(end > 0 ? bytes.subarray(0, end) : bytes);
    heldBytes += held.at(-1)!.length;
    if (heldBytes > LONGEST_LINE)
      throw new UsageError(`${file.path} has a line of more than 256 MiB; zgrep can read it`);
    if (end === 0) continue;
    const piece = { start, lines, bytes: Buffer.concat(held) };
    yield piece;
    start += piece.bytes.length;
    lines += countNewlines(piece.bytes);
    held = end < bytes.length ? [bytes.subarray(end)] : [];
    heldBytes = bytes.length - end;
  }
  if (heldBytes > 0) yield { start, lines, bytes: Buffer.concat(held) };
}

async function* unpacked(
  read: ReadBytes,
  { kind, size, start = 0 }: { kind: FileKind; size: number; start?: number },
): AsyncGenerator<Uint8Array> {
  if (kind !== 'plain') {
    for await (const part of packedParts(kind, read, 0, size)) if (part.kind === 'data') yield part.bytes;
    return;
  }
  for (let at = start; at < size; ) {
    const bytes = await read(at, Math.min(PIECE, size - at));
    if (bytes.length === 0) return;
    yield bytes;
    at += bytes.length;
  }
}

/**
 * The text of extents, which are in the order of the file and do not overlap. Those that lie behind
 * each other in one member are unpacked in one pass. Throws an `UnpackError` if the file does not
 * hold them any more.
 */
export async function* extentText(
  read: ReadBytes,
  kind: FileKind,
  extents: readonly Extent[],
  onRead: (bytes: number) => void,
): AsyncGenerator<TextPiece> {
  for (let i = 0; i < extents.length; ) {
    let end = i + 1;
    while (kind !== 'plain' && end < extents.length && extents[end].source === extents[i].source) end++;
    const group = extents.slice(i, end);
    if (kind !== 'plain') yield* memberText(read, kind, group, onRead);
    else {
      const { start, length, lines, source } = group[0];
      const bytes = asBuffer(await read(source, length));
      onRead(bytes.length);
      if (bytes.length < length)
        throw new UnpackError('short', `Cannot read: expected ${length} bytes at ${source}, got fewer`);
      yield { start, lines, bytes };
    }
    i = end;
  }
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

async function* memberText(
  read: ReadBytes,
  kind: 'gzip' | 'zstd',
  extents: readonly Extent[],
  onRead: (bytes: number) => void,
): AsyncGenerator<TextPiece> {
  const { source } = extents[0];
  const end = source + extents.reduce((most, { sourceLength }) => Math.max(most, sourceLength), 0);
  let next = 0;
  let at = 0;
  let held: Uint8Array[] = [];
  for await (const part of packedParts(kind, read, source, end)) {
    if (part.kind !== 'data') continue;
    onRead(part.bytes.length);
    for (;;) {
      const { skip, length, start, lines } = extents[next];
      const from = Math.max(0, skip - at);
      const to = Math.min(part.bytes.length, skip + length - at);
      if (from < to) held.push(part.bytes.subarray(from, to));
      if (skip + length > at + part.bytes.length) break;
      yield { start, lines, bytes: Buffer.concat(held) };
      held = [];
      if (++next === extents.length) return;
    }
    at += part.bytes.length;
  }
  throw new UnpackError(
    kind,
    `Cannot unpack: expected more text in the member at byte ${source}, got its end`,
  );
}

export function countNewlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count++;
  return count;
}
