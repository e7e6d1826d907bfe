/**
 * Packs members of a gzip file. The first one keeps the header of the old file: its name and time.
 */

import { crc32, deflateRawSync, constants as zlib } from 'node:zlib';
import { UnpackError } from '../../unpacking/packed-part.ts';
import { headerBytes } from '../gzip-parts.ts';
import { readSome } from '../text-file.ts';
import type { Packer } from './packer.ts';

const PLAIN_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
const MOST_HEADER = 1 << 17;

export class GzipPacker implements Packer {
  readonly attempts = [
    { blocks: 1, level: 6 },
    { blocks: 4, level: 9 },
    { blocks: 16, level: 9 },
  ] as const;
  readonly #oldHeader: Uint8Array;
  #header: Uint8Array;

  constructor(descriptor: number) {
    const head = readSome(descriptor, 0, MOST_HEADER);
    const header = headerBytes(head);
    if (header === 0)
      throw new UnpackError('gzip', 'Cannot repack: expected the header of a gzip file, got other bytes');
    this.#oldHeader = head.subarray(0, header);
    this.#header = this.#oldHeader;
  }

  begin(): void {
    this.#header = this.#oldHeader;
  }

  pack(texts: readonly Uint8Array[], level: number): Uint8Array[] {
    return texts.map((text) => {
      const trailer = Buffer.alloc(8);
      trailer.writeUInt32LE(crc32(text), 0);
      trailer.writeUInt32LE(text.length % 2 ** 32, 4);
      const packed = deflateRawSync(text, { level, memLevel: 9, strategy: zlib.Z_DEFAULT_STRATEGY });
      const member = Buffer.concat([this.#header, packed, trailer]);
      this.#header = PLAIN_HEADER;
      return member;
    });
  }

  end(): Uint8Array {
    return new Uint8Array(0);
  }
}
