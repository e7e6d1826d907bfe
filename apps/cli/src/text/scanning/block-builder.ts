/**
 * Cuts the text of files into blocks of an index. Small files share a block. A block of a packed
 * file waits until the member in which it ends is complete, because only then is it known how many
 * packed bytes it takes.
 */

import { createGramScanner, type Extent, type GramScheme } from '@bloomery/stores/text';

/** A block ends at the first newline after this many bytes, even if its filter is not full. */
const MOST_BYTES = 4 << 20;
/** A packed file of this size begins a block of its own, as the members of a repacked one do. */
const OWN_BLOCK_BYTES = 1 << 19;
/** Files that share a block. */
const MOST_EXTENTS = 256;
/**
 * Blocks that wait for the end of their member. In a larger member the packed bytes of a block are
 * counted to the end of the file.
 */
const MOST_WAITING = 64;

/** An extent whose packed bytes may not be known yet. */
interface OpenExtent extends Extent {
  sourceLength: number;
}

/** A block: its filter, and the pieces of files that it covers. */
export interface TextBlock {
  readonly bits: Uint8Array<ArrayBuffer>;
  readonly extents: readonly Extent[];
}

interface WaitingBlock {
  readonly bits: Uint8Array<ArrayBuffer>;
  readonly extents: readonly OpenExtent[];
}

interface OpenFile {
  readonly id: number;
  readonly isPacked: boolean;
  readonly size: number;
  /** Members that have begun: the place in the file, and the unpacked bytes before it. */
  readonly members: { readonly source: number; readonly start: number }[];
  /** Unpacked bytes that were scanned. */
  at: number;
  /** Newlines of the scanner before the first byte of the file. */
  readonly linesBefore: number;
  extentStart: number;
  extentLines: number;
}

export class BlockBuilder {
  readonly #scanner: ReturnType<typeof createGramScanner>;
  readonly #onBlock: (block: TextBlock) => void;
  #waiting: WaitingBlock[] = [];
  #extents: OpenExtent[] = [];
  #blockBytes = 0;
  #file: OpenFile | null = null;

  /** `onBlock` gets the blocks in order. */
  constructor(scheme: GramScheme, onBlock: (block: TextBlock) => void) {
    this.#scanner = createGramScanner(scheme);
    this.#onBlock = onBlock;
  }

  /** Begins a file, or goes on with one from a place on. `lines` counts the newlines before it. */
  beginFile(file: { id: number; isPacked: boolean; size: number; start?: number; lines?: number }): void {
    const { id, isPacked, size, start = 0, lines = 0 } = file;
    if (isPacked && size >= OWN_BLOCK_BYTES && this.#extents.length > 0) this.#closeBlock();
    this.#file = {
      id,
      isPacked,
      size,
      members: [{ source: 0, start: 0 }],
      at: start,
      linesBefore: this.#scanner.lines - lines,
      extentStart: start,
      extentLines: lines,
    };
  }

  /** Adds text of the file. */
  add(bytes: Uint8Array): void {
    const file = this.#file!;
    for (let from = 0; from < bytes.length; ) {
      const to = this.#scanner.scan(bytes, from, MOST_BYTES - this.#blockBytes);
      this.#blockBytes += to - from;
      file.at += to - from;
      from = to;
      if (this.#scanner.full) {
        this.#closeExtent(file);
        this.#closeBlock();
      }
    }
  }

  /** A member of the file ended before byte `end`. */
  endMember(end: number): void {
    const file = this.#file!;
    file.members.push({ source: end, start: file.at });
    // The block that ends with the member is complete only when the next line begins, so extents
    // that end here are settled as well.
    for (const extent of this.#openExtents(file.id)) extent.sourceLength = end - extent.source;
    this.#writeSettled();
  }

  /**
   * Ends the file. Returns the byte and the newlines at which it ends, and where its last extent
   * begins.
   */
  endFile(): { at: number; lines: number; last: { start: number; lines: number } } {
    const file = this.#file!;
    this.#scanner.endLine();
    const last = { start: file.extentStart, lines: file.extentLines };
    if (file.at > file.extentStart) this.#closeExtent(file);
    for (const extent of this.#openExtents(file.id)) extent.sourceLength = file.size - extent.source;
    if (this.#extents.length >= MOST_EXTENTS) this.#closeBlock();
    this.#writeSettled();
    this.#file = null;
    return { at: file.at, lines: this.#scanner.lines - file.linesBefore, last };
  }

  /** Ends the last block. */
  finish(): void {
    if (this.#extents.length > 0) this.#closeBlock();
    this.#writeSettled();
  }

  #closeExtent(file: OpenFile): void {
    const start = file.extentStart;
    const length = file.at - start;
    const found = file.isPacked ? memberOf(file.members, start) : { source: start, start };
    const sourceLength = file.isPacked ? -1 : length;
    const lines = file.extentLines;
    const { source } = found;
    this.#extents.push({
      file: file.id,
      start,
      length,
      lines,
      source,
      sourceLength,
      skip: start - found.start,
    });
    file.extentStart = file.at;
    file.extentLines = this.#scanner.lines - file.linesBefore;
  }

  #closeBlock(): void {
    this.#waiting.push({ bits: this.#scanner.take(), extents: this.#extents });
    this.#extents = [];
    this.#blockBytes = 0;
    const file = this.#file;
    if (this.#waiting.length > MOST_WAITING && file !== null) {
      for (const extent of this.#openExtents(file.id)) extent.sourceLength = file.size - extent.source;
    }
    this.#writeSettled();
  }

  #openExtents(file: number): OpenExtent[] {
    const all = [...this.#waiting.flatMap(({ extents }) => extents), ...this.#extents];
    return all.filter((extent) => extent.sourceLength < 0 && extent.file === file);
  }

  #writeSettled(): void {
    let settled = 0;
    for (const { bits, extents } of this.#waiting) {
      if (extents.some(({ sourceLength }) => sourceLength < 0)) break;
      this.#onBlock({ bits, extents });
      settled++;
    }
    this.#waiting = this.#waiting.slice(settled);
  }
}

/** The last member that begins at or before a place of the unpacked text. */
function memberOf(members: OpenFile['members'], start: number): { source: number; start: number } {
  let low = 0;
  let high = members.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (members[middle].start <= start) low = middle;
    else high = middle - 1;
  }
  return members[low];
}
