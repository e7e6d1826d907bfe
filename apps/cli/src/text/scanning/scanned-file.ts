/**
 * A file while it is indexed: cut into pieces, which threads scan, and put together again. The
 * newlines before a piece are known when all pieces before it are done.
 */

import { closeSync } from 'node:fs';
import type { Extent } from '@bloomery/stores/text';
import type { FileIdentity, FileKind } from '../text-file.ts';
import type { ScannedPiece, ScanPiece } from './scan-job.ts';

/** Plain files are cut into pieces of this size, so that several threads work on a large one. */
const PIECE = 64 << 20;

export interface ScannedText {
  /** Unpacked bytes of the file. */
  readonly at: number;
  readonly last: { readonly start: number; readonly lines: number };
  readonly problem: string | null;
}

export interface OpenTextFile {
  readonly descriptor: number;
  readonly id: number;
  readonly kind: FileKind;
  readonly identity: FileIdentity;
  /** The line from which on the file is scanned. */
  readonly from: { readonly start: number; readonly lines: number };
}

export class ScannedFile {
  readonly #file: OpenTextFile;
  readonly pieces: readonly ScanPiece[];
  #done = 0;
  #at: number;
  #lines: number;
  #last: { readonly start: number; readonly lines: number };
  #problem: string | null = null;

  /** `pieceBytes` is for tests. */
  constructor(file: OpenTextFile, pieceBytes = PIECE) {
    this.#file = file;
    const { descriptor, id, kind, identity, from } = file;
    const { size } = identity;
    this.#at = from.start;
    this.#lines = from.lines;
    this.#last = from;
    const pieces: ScanPiece[] = [];
    const step = kind === 'plain' ? pieceBytes : Number.POSITIVE_INFINITY;
    for (let at = from.start; at < size || pieces.length === 0; at += step) {
      const lines = at === from.start ? from.lines : null;
      pieces.push({ descriptor, id, kind, size, from: at, to: Math.min(size, at + step), lines });
    }
    this.pieces = pieces;
  }

  /** The extent of a block of the next piece, with the newlines before it in the whole file. */
  placed(extent: Extent): Extent {
    const before = this.#linesBefore();
    return before === 0 ? extent : { ...extent, lines: extent.lines + before };
  }

  /** Adds the outcome of the next piece. Returns that of the file after the last one. */
  add({ at, lines, last, problem }: ScannedPiece): ScannedText | null {
    const before = this.#linesBefore();
    if (last !== null) {
      this.#at = at;
      this.#last = { start: last.start, lines: last.lines + before };
    }
    this.#lines = lines + before;
    this.#problem ??= problem;
    if (++this.#done < this.pieces.length) return null;
    this.close();
    return { at: this.#at, last: this.#last, problem: this.#problem };
  }

  close(): void {
    closeSync(this.#file.descriptor);
  }

  #linesBefore(): number {
    return this.pieces[this.#done].lines === null ? this.#lines : 0;
  }
}
