/**
 * Packs frames of a zstd file, and ends it with a seek table, so that it has the seekable format
 * (zstd, contrib/seekable_format). `zstd -d` passes over the table.
 *
 * Node packs the frames if its version can (22.15 and later), otherwise the program zstd. The
 * program gets the texts of many frames at once as files, because a start takes longer than a
 * frame.
 */

import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import zlib from 'node:zlib';
import { errorCode } from '@bloomery/files';
import { UnpackError } from '../../unpacking/packed-part.ts';
import { frameBytes } from '../../unpacking/zstd-header.ts';
import type { Packer } from './packer.ts';

const SKIPPABLE = 0x184d2a5e;
const SEEKABLE = 0x8f92eab1;

interface NodeZstd {
  readonly zstdCompressSync?: (bytes: Uint8Array, options: object) => Buffer;
  readonly constants: Record<'ZSTD_c_compressionLevel' | 'ZSTD_c_checksumFlag', number>;
}

const { zstdCompressSync, constants } = zlib as unknown as NodeZstd;

export class ZstdPacker implements Packer {
  readonly attempts = [
    { blocks: 1, level: 6 },
    { blocks: 1, level: 12 },
    { blocks: 4, level: 19 },
    { blocks: 16, level: 19 },
  ] as const;
  readonly #scratch: string;
  #frames: { readonly packed: number; readonly text: number }[] = [];

  /** `scratch` is a path beside which texts may be written. */
  constructor(scratch: string) {
    this.#scratch = scratch;
  }

  begin(): void {
    this.#frames = [];
  }

  pack(texts: readonly Uint8Array[], level: number): Uint8Array[] {
    if (texts.length === 0) return [];
    const frames = zstdCompressSync === undefined ? this.#byProgram(texts, level) : byNode(texts, level);
    this.#frames.push(...frames.map(({ length }, i) => ({ packed: length, text: texts[i].length })));
    return frames;
  }

  /** The seek table: the sizes of the frames, packed and unpacked, in a frame that is skipped. */
  end(): Uint8Array {
    const table = Buffer.alloc(8 + 8 * this.#frames.length + 9);
    table.writeUInt32LE(SKIPPABLE, 0);
    table.writeUInt32LE(table.length - 8, 4);
    this.#frames.forEach(({ packed, text }, i) => {
      table.writeUInt32LE(packed, 8 + 8 * i);
      table.writeUInt32LE(text, 12 + 8 * i);
    });
    table.writeUInt32LE(this.#frames.length, table.length - 9);
    table.writeUInt32LE(SEEKABLE, table.length - 4);
    return table;
  }

  #byProgram(texts: readonly Uint8Array[], level: number): Uint8Array[] {
    const paths = texts.map((_, i) => `${this.#scratch}.${i}.repack`);
    try {
      paths.forEach((path, i) => {
        writeFileSync(path, texts[i]);
      });
      const most = texts.reduce((sum, { length }) => sum + length + 1024, 1 << 20);
      const { stdout, stderr, status, error } = spawnSync('zstd', ['-q', '-c', `-${level}`, '--', ...paths], {
        maxBuffer: 2 * most,
      });
      if (error !== undefined && errorCode(error) === 'ENOENT')
        throw new UnpackError(
          'zstd',
          'Cannot repack: expected the program zstd (Debian: zstd) or Node 22.15 or later, got neither',
        );
      if (error !== undefined) throw error;
      const frames = splitFrames(stdout);
      if (status !== 0 || frames.length !== texts.length)
        throw new UnpackError('zstd', `Cannot repack: the program zstd failed (${String(stderr).trim()})`);
      return frames;
    } finally {
      for (const path of paths) rmSync(path, { force: true });
    }
  }
}

function byNode(texts: readonly Uint8Array[], level: number): Uint8Array[] {
  const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 };
  return texts.map((text) => zstdCompressSync!(text, { params, pledgedSrcSize: text.length }));
}

function splitFrames(bytes: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const frame = bytes.subarray(at, at + frameBytes(bytes.subarray(at)));
    frames.push(frame);
    at += frame.length;
  }
  return frames;
}
