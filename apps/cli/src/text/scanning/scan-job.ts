/**
 * Scans pieces of files into blocks: the work of `bloomery index` that a thread does. A job is cut
 * from the list of files alone, and its blocks share nothing with those of another job, so the
 * index has the same blocks with any number of threads.
 */

import type { GramScheme } from '@bloomery/stores/text';
import { UnpackError } from '../../unpacking/packed-part.ts';
import { packedParts } from '../packed-parts.ts';
import { bytesAt, type FileKind, readInto } from '../text-file.ts';
import { BlockBuilder, type TextBlock } from './block-builder.ts';

/** A piece of an open file. The descriptor is one of the process, so that threads share it. */
export interface ScanPiece {
  readonly descriptor: number;
  /** The number of the file in the extents. */
  readonly id: number;
  readonly kind: FileKind;
  /** Bytes of the whole file. */
  readonly size: number;
  /**
   * The lines that begin from `from` on and before `to` belong to the piece. A packed file is one
   * piece.
   */
  readonly from: number;
  readonly to: number;
  /** Newlines before `from`. If null, they are not known, and counted from `from` on. */
  readonly lines: number | null;
}

export interface ScanJob {
  readonly scheme: GramScheme;
  readonly pieces: readonly ScanPiece[];
}

/** How a piece ended. */
export interface ScannedPiece {
  /** Unpacked bytes and newlines before its end. */
  readonly at: number;
  readonly lines: number;
  /** The beginning of its last extent, and the newlines before that; null without text. */
  readonly last: { readonly start: number; readonly lines: number } | null;
  /** The reason why the file cannot be unpacked, or null. */
  readonly problem: string | null;
}

export type ScanEvent =
  /** Blocks in order, and the bytes of files that were read since the last event. */
  | { readonly kind: 'blocks'; readonly blocks: readonly TextBlock[]; readonly bytes: number }
  | { readonly kind: 'done'; readonly pieces: readonly ScannedPiece[] };

/** Blocks of one event: half a megabyte of filters. */
const BLOCKS = 32;
/** Progress is told after this many bytes at the latest. */
const PROGRESS = 8 << 20;
const PART = 1 << 20;

/** Works through a job. */
export async function* runScanJob({ scheme, pieces }: ScanJob): AsyncGenerator<ScanEvent> {
  let blocks: TextBlock[] = [];
  let told = 0;
  let bytes = 0;
  const builder = new BlockBuilder(scheme, (block) => blocks.push(block));
  const event = (): ScanEvent => {
    const found = { kind: 'blocks' as const, blocks, bytes: bytes - told };
    blocks = [];
    told = bytes;
    return found;
  };
  const done: ScannedPiece[] = [];
  for (const piece of pieces) {
    const { start, end } = boundsOf(piece);
    builder.beginFile({
      id: piece.id,
      isPacked: piece.kind !== 'plain',
      size: piece.size,
      start,
      lines: piece.lines ?? 0,
    });
    let problem: string | null = null;
    try {
      const text = textOf(piece, { start, end, builder });
      for await (const part of text) {
        builder.add(part.text);
        bytes += part.bytes;
        if (blocks.length >= BLOCKS || bytes - told >= PROGRESS) yield event();
      }
    } catch (error) {
      if (!(error instanceof UnpackError)) throw error;
      // Blocks of a damaged file stay in the index, and no file of the list has their number.
      problem = error.message;
    }
    const { at, lines, last } = builder.endFile();
    done.push({ at, lines, last: at > start ? last : null, problem });
  }
  builder.finish();
  yield event();
  yield { kind: 'done', pieces: done };
}

interface ReadText {
  /** The memory is used again for the next part. */
  readonly text: Uint8Array;
  /** Bytes of the file that were read for it. */
  readonly bytes: number;
}

function textOf(
  piece: ScanPiece,
  { start, end, builder }: { start: number; end: number; builder: BlockBuilder },
): AsyncGenerator<ReadText> {
  const { kind } = piece;
  return kind === 'plain' ? plainText(piece, start, end) : packedText(piece, kind, builder);
}

async function* plainText({ descriptor }: ScanPiece, start: number, end: number): AsyncGenerator<ReadText> {
  const buffer = Buffer.allocUnsafe(Math.min(PART, Math.max(0, end - start)));
  for (let at = start; at < end; ) {
    const text = readInto(descriptor, buffer.subarray(0, Math.min(PART, end - at)), at);
    if (text.length === 0) return;
    yield { text, bytes: text.length };
    at += text.length;
  }
}

async function* packedText(
  { descriptor, size }: ScanPiece,
  kind: Exclude<FileKind, 'plain'>,
  builder: BlockBuilder,
): AsyncGenerator<ReadText> {
  let done = 0;
  for await (const part of packedParts(kind, bytesAt(descriptor), 0, size)) {
    if (part.kind === 'data') yield { text: part.bytes, bytes: 0 };
    else {
      builder.endMember(part.end);
      yield { text: NOTHING, bytes: part.end - done };
      done = part.end;
    }
  }
}

const NOTHING = new Uint8Array(0);

/** The piece from its first line to the end of its last one. */
function boundsOf({ descriptor, kind, size, from, to, lines }: ScanPiece): { start: number; end: number } {
  if (kind !== 'plain') return { start: 0, end: size };
  // If the number of newlines is known, a line begins at `from`.
  const start = lines === null ? lineStart(descriptor, from, size) : from;
  const end = to >= size ? size : lineStart(descriptor, to, size);
  return { start, end: Math.max(start, end) };
}

/** The first place from `from` on at which a line begins, or the size of the file. */
function lineStart(descriptor: number, from: number, size: number): number {
  const buffer = Buffer.allocUnsafe(PART >> 4);
  for (let at = from - 1; at < size; ) {
    const bytes = readInto(descriptor, buffer.subarray(0, Math.min(buffer.length, size - at)), at);
    const found = bytes.indexOf(10);
    if (found >= 0) return at + found + 1;
    if (bytes.length === 0) break;
    at += bytes.length;
  }
  return size;
}
