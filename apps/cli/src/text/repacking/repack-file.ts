/**
 * Writes a gzip or zstd file of one piece again as one of many members (zstd: frames), so that a
 * search unpacks only the members of its blocks. Every program still reads the result as a file of
 * its kind with the same text.
 *
 * A member holds one block. If the file would become larger that way, members hold more blocks,
 * with more effort; if that does not help, the file stays as it is. The new file is unpacked again
 * and compared with the text before it replaces the old one, in one step.
 */

import { closeSync, openSync, rmSync, utimesSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { writeAll, writeAtomically } from '@bloomery/files';
import { createGramScanner, type GramScheme } from '@bloomery/stores/text';
import { UnpackError } from '../../unpacking/packed-part.ts';
import { packedParts } from '../packed-parts.ts';
import { bytesAt, changeOf, identify, kindOf, readSome, statOf } from '../text-file.ts';
import { GzipPacker } from './gzip-packer.ts';
import type { Packer } from './packer.ts';
import { ZstdPacker } from './zstd-packer.ts';

/** Smaller files are unpacked whole in a few milliseconds. */
const LEAST_BYTES = 1 << 19;
/** A block ends after this many bytes, as in block-builder.ts. */
const MOST_BYTES = 4 << 20;
const PART = 1 << 20;
/** Texts are packed together when they have this many bytes. */
const BATCH = 16 << 20;

export type RepackOutcome =
  | { readonly outcome: 'repacked'; readonly before: number; readonly after: number }
  /** The file has many members already, is not packed, or is small. */
  | { readonly outcome: 'not needed' }
  /** Members would make it larger. */
  | { readonly outcome: 'larger'; readonly before: number; readonly after: number };

/** Repacks a file if that helps. `scratch` is a path for the new file, on the same disk. */
export async function repackFile(path: string, scratch: string, scheme: GramScheme): Promise<RepackOutcome> {
  const descriptor = openSync(path, 'r');
  try {
    const stat = statOf(descriptor);
    const before = Number(stat.size);
    const kind = kindOf(descriptor);
    if (before < LEAST_BYTES || kind === 'plain') return { outcome: 'not needed' };
    const identity = identify(descriptor);
    const packer = kind === 'gzip' ? new GzipPacker(descriptor) : new ZstdPacker(scratch);
    let after = 0;
    for (const attempt of packer.attempts) {
      const made = await writeMembers(descriptor, scratch, {
        ...attempt,
        kind,
        packer,
        scheme,
        size: before,
      });
      if (made === null) return { outcome: 'not needed' };
      after = made.size;
      if (after > before) continue;
      await verify(scratch, kind, made);
      writeAtomically(
        path,
        fileParts(scratch, after, () => {
          if (changeOf(descriptor, identity) !== 'same')
            throw new UnpackError(kind, 'Cannot repack: the file was changed meanwhile');
        }),
      );
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

interface MemberWork {
  readonly kind: 'gzip' | 'zstd';
  readonly packer: Packer;
  readonly blocks: number;
  readonly level: number;
  readonly scheme: GramScheme;
  readonly size: number;
}

/**
 * Writes the members, and stops when they are larger than the old file. Returns null if the old
 * file has members of the right size already.
 */
async function writeMembers(descriptor: number, scratch: string, work: MemberWork): Promise<Made | null> {
  const cutter = new MemberCutter(work.scheme, work.blocks);
  const target = openSync(scratch, 'w');
  let size = 0;
  let sum = 0;
  let length = 0;
  let members = 0;
  let end = 0;
  const write = async (texts: readonly Uint8Array[]) => {
    for (const member of await work.packer.pack(texts, work.level)) {
      writeAll(target, member);
      size += member.length;
    }
  };
  work.packer.begin();
  try {
    for await (const part of packedParts(work.kind, bytesAt(descriptor), 0, work.size)) {
      if (part.kind === 'member') {
        end = part.end;
        // Members that end within the file, on average within some blocks, are small enough.
        if (part.end < work.size && ++members > 1 + length / (2 * MOST_BYTES)) return null;
        continue;
      }
      sum = crc32(part.bytes, sum);
      length += part.bytes.length;
      cutter.add(part.bytes);
      if (cutter.readyBytes >= BATCH) await write(cutter.take());
      if (size > work.size) return { size, sum, length };
    }
    // A reader of gzip leaves out bytes behind the last member, and a new file would lack them.
    if (work.kind === 'gzip' && end < work.size)
      throw new UnpackError(
        'gzip',
        `Cannot repack: expected a member at byte ${end}, got ${work.size - end} other bytes`,
      );
    cutter.end();
    await write(cutter.take());
    const behind = work.packer.end();
    writeAll(target, behind);
    return { size: size + behind.length, sum, length };
  } finally {
    closeSync(target);
  }
}

/** Cuts text into the texts of members, each of some blocks. */
class MemberCutter {
  readonly #scanner: ReturnType<typeof createGramScanner>;
  readonly #blocksEach: number;
  #held: Uint8Array[] = [];
  #blocks = 0;
  #blockBytes = 0;
  #ready: Uint8Array[] = [];
  #any = false;
  readyBytes = 0;

  constructor(scheme: GramScheme, blocksEach: number) {
    this.#scanner = createGramScanner(scheme);
    this.#blocksEach = blocksEach;
  }

  add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const to = this.#scanner.scan(bytes, from, MOST_BYTES - this.#blockBytes);
      // A copy, because the part is a window that is used again.
      this.#held.push(Buffer.from(bytes.subarray(from, to)));
      this.#blockBytes += to - from;
      from = to;
      if (!this.#scanner.full) continue;
      this.#scanner.take();
      this.#blockBytes = 0;
      if (++this.#blocks === this.#blocksEach) this.#close();
    }
  }

  /** Closes the last member. A file without text has one empty member. */
  end(): void {
    if (this.#held.length > 0 || !this.#any) this.#close();
  }

  take(): Uint8Array[] {
    const ready = this.#ready;
    this.#ready = [];
    this.readyBytes = 0;
    return ready;
  }

  #close(): void {
    const text = Buffer.concat(this.#held);
    this.#ready.push(text);
    this.readyBytes += text.length;
    this.#any = true;
    this.#held = [];
    this.#blocks = 0;
  }
}

/** Unpacks the new file and compares it with the text of the old one. */
async function verify(scratch: string, kind: 'gzip' | 'zstd', { size, sum, length }: Made): Promise<void> {
  const descriptor = openSync(scratch, 'r');
  try {
    let found = 0;
    let unpacked = 0;
    for await (const part of packedParts(kind, bytesAt(descriptor), 0, size)) {
      if (part.kind !== 'data') continue;
      found = crc32(part.bytes, found);
      unpacked += part.bytes.length;
    }
    if (found !== sum || unpacked !== length)
      throw new UnpackError(kind, `Cannot repack: expected ${length} bytes of text, got ${unpacked} others`);
  } finally {
    closeSync(descriptor);
  }
}

/** The bytes of a file. `check` runs behind the last ones: copying a large file takes seconds. */
function* fileParts(path: string, size: number, check: () => void): Generator<Uint8Array> {
  const descriptor = openSync(path, 'r');
  try {
    for (let at = 0; at < size; at += PART) yield readSome(descriptor, at, Math.min(PART, size - at));
    check();
  } finally {
    closeSync(descriptor);
  }
}
