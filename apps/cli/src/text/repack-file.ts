/**
 * Writes a gzip file of one piece again as one of many members, so that a search unpacks only the
 * members of its blocks. Every program still reads the result as a gzip file with the same text.
 *
 * A member holds one block. If the file would become larger that way, members hold 4 and then 16
 * blocks, with more effort; if that does not help, the file stays as it is. The new file is
 * unpacked again and compared with the text before it replaces the old one, in one step.
 */

import { closeSync, openSync, rmSync, utimesSync } from 'node:fs';
import { crc32, deflateRawSync, constants as zlib } from 'node:zlib';
import { writeAll, writeAtomically } from '@bloomery/files';
import { createGramScanner, type GramScheme } from '@bloomery/stores/text';
import { GzipError, gzipParts, headerBytes } from './gzip-parts.ts';
import { changeOf, identify, readSome, statOf } from './text-file.ts';

/** Smaller files are unpacked whole in a few milliseconds. */
const LEAST_BYTES = 1 << 19;
/** Members of this many blocks, with this effort of deflate, in the order of the attempts. */
const ATTEMPTS = [
  { blocks: 1, level: 6 },
  { blocks: 4, level: 9 },
  { blocks: 16, level: 9 },
] as const;
/** A block ends after this many bytes, as in block-builder.ts. */
const MOST_BYTES = 4 << 20;
const PART = 1 << 20;
const PLAIN_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

export type RepackOutcome =
  | { readonly outcome: 'repacked'; readonly before: number; readonly after: number }
  /** The file has many members already, is no gzip file, or is small. */
  | { readonly outcome: 'not needed' }
  /** Members would make it larger. */
  | { readonly outcome: 'larger'; readonly before: number; readonly after: number };

/** Repacks a file if that helps. `scratch` is a path for the new file, on the same disk. */
export async function repackGzip(path: string, scratch: string, scheme: GramScheme): Promise<RepackOutcome> {
  const descriptor = openSync(path, 'r');
  try {
    const stat = statOf(descriptor);
    const before = Number(stat.size);
    const head = readSome(descriptor, 0, Math.min(before, 1 << 17));
    const header = headerBytes(head);
    if (before < LEAST_BYTES || header === 0) return { outcome: 'not needed' };
    const identity = identify(descriptor);
    let after = 0;
    for (const attempt of ATTEMPTS) {
      const made = await writeMembers(descriptor, scratch, {
        ...attempt,
        scheme,
        size: before,
        header: head.subarray(0, header),
      });
      if (made === null) return { outcome: 'not needed' };
      after = made.size;
      if (after > before) continue;
      await verify(scratch, made);
      if (changeOf(descriptor, identity) !== 'same')
        throw new GzipError('Cannot repack: the file was changed meanwhile');
      writeAtomically(path, fileParts(scratch, after));
      utimesSync(path, Number(stat.atimeMs) / 1000, Number(stat.mtimeMs) / 1000);
      return { outcome: 'repacked', before, after };
    }
    return { outcome: 'larger', before, after };
  } finally {
    closeSync(descriptor);
    rmSync(scratch, { force: true });
  }
}

interface Made {
  readonly size: number;
  readonly sum: number;
  readonly length: number;
}

/** Writes the members. Returns null if the old file has members of the right size already. */
async function writeMembers(
  descriptor: number,
  scratch: string,
  work: { blocks: number; level: number; scheme: GramScheme; size: number; header: Uint8Array },
): Promise<Made | null> {
  const scanner = createGramScanner(work.scheme);
  const target = openSync(scratch, 'w');
  let held: Uint8Array[] = [];
  let blocks = 0;
  let blockBytes = 0;
  let size = 0;
  let sum = 0;
  let length = 0;
  let members = 0;
  const close = () => {
    const member = memberOf(Buffer.concat(held), work.level, size === 0 ? work.header : PLAIN_HEADER);
    writeAll(target, member);
    size += member.length;
    held = [];
    blocks = 0;
  };
  try {
    for await (const part of gzipParts(descriptor, 0, work.size)) {
      if (part.kind === 'member') {
        // Members that end within the file, on average within some blocks, are small enough.
        if (part.end < work.size && ++members > 1 + length / (2 * MOST_BYTES)) return null;
        continue;
      }
      sum = crc32(part.bytes, sum);
      length += part.bytes.length;
      for (let from = 0; from < part.bytes.length; ) {
        const to = scanner.scan(part.bytes, from, MOST_BYTES - blockBytes);
        // A copy, because the part is a window that is used again.
        held.push(Buffer.from(part.bytes.subarray(from, to)));
        blockBytes += to - from;
        from = to;
        if (!scanner.full) continue;
        scanner.take();
        blockBytes = 0;
        if (++blocks === work.blocks) close();
      }
    }
    if (held.length > 0 || size === 0) close();
    return { size, sum, length };
  } finally {
    closeSync(target);
  }
}

function memberOf(text: Uint8Array, level: number, header: Uint8Array): Buffer {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(text), 0);
  trailer.writeUInt32LE(text.length % 2 ** 32, 4);
  const packed = deflateRawSync(text, { level, memLevel: 9, strategy: zlib.Z_DEFAULT_STRATEGY });
  return Buffer.concat([header, packed, trailer]);
}

/** Unpacks the new file and compares it with the text of the old one. */
async function verify(scratch: string, { size, sum, length }: Made): Promise<void> {
  const descriptor = openSync(scratch, 'r');
  try {
    let found = 0;
    let unpacked = 0;
    for await (const part of gzipParts(descriptor, 0, size)) {
      if (part.kind !== 'data') continue;
      found = crc32(part.bytes, found);
      unpacked += part.bytes.length;
    }
    if (found !== sum || unpacked !== length)
      throw new GzipError(`Cannot repack: expected ${length} bytes of text, got ${unpacked} others`);
  } finally {
    closeSync(descriptor);
  }
}

function* fileParts(path: string, size: number): Generator<Uint8Array> {
  const descriptor = openSync(path, 'r');
  try {
    for (let at = 0; at < size; at += PART) yield readSome(descriptor, at, Math.min(PART, size - at));
  } finally {
    closeSync(descriptor);
  }
}
