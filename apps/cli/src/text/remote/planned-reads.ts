/**
 * Reads the ranges of a file that are known to be needed, in rising order. The next ones are asked
 * for while the present one is being searched, up to a bound.
 */

import type { ByteRange } from '@bloomery/stores/text';
import type { ReadBytes } from '../text-file.ts';
import { cutRanges, joinRanges } from './join-ranges.ts';
import { LONGEST_RANGE, type RemoteFile } from './remote-file.ts';

/** Pieces that are asked for beyond the present one. */
const AHEAD = 3;
/** A reader of gzip goes back by 4 MiB at most; pieces before that are forgotten. */
const KEPT = 8 << 20;

interface Piece extends ByteRange {
  bytes: Promise<Uint8Array> | null;
}

export class PlannedReads {
  readonly #file: RemoteFile;
  readonly #pieces: readonly Piece[];

  constructor(file: RemoteFile, ranges: readonly ByteRange[]) {
    this.#file = file;
    this.#pieces = cutRanges(joinRanges(ranges), LONGEST_RANGE).map((range) => ({ ...range, bytes: null }));
  }

  /** Asks for the first piece. */
  begin(): void {
    if (this.#pieces.length > 0) this.#fetch(this.#pieces[0]);
  }

  readonly read: ReadBytes = async (position, length) => {
    const parts: Uint8Array[] = [];
    let at = position;
    const end = position + length;
    for (let i = this.#indexOf(position); i < this.#pieces.length && at < end; i++) {
      const piece = this.#pieces[i];
      if (piece.offset > at) break;
      this.#forget(i);
      for (const next of this.#pieces.slice(i + 1, i + 1 + AHEAD)) this.#fetch(next);
      const bytes = await this.#fetch(piece);
      const part = bytes.subarray(at - piece.offset, end - piece.offset);
      parts.push(part);
      at += part.length;
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  };

  /** The first piece that ends behind a place. */
  #indexOf(position: number): number {
    let low = 0;
    let high = this.#pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offset, length } = this.#pieces[middle];
      if (offset + length > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #fetch(piece: Piece): Promise<Uint8Array> {
    if (piece.bytes === null) {
      piece.bytes = this.#file.range(piece.offset, piece.length);
      // The reader may stop before it comes here.
      piece.bytes.catch(() => {});
    }
    return piece.bytes;
  }

  #forget(present: number): void {
    const { offset } = this.#pieces[present];
    for (let i = present - 1; i >= 0 && this.#pieces[i].bytes !== null; i--) {
      const { offset: at, length } = this.#pieces[i];
      if (at + length < offset - KEPT) this.#pieces[i].bytes = null;
    }
  }
}
