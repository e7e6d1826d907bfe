/**
 * The words that the rules get wrong, in a dictionary on disk: the slow part of Bloom's problem
 * (Bloom 1970). It is sorted and searched by reading pages. Nothing of it stays in memory, so a
 * lookup costs about log2(pages) reads. This is on purpose: a dictionary with an index in memory
 * would be faster, and a filter in front of it would save less.
 *
 * The format is pages of 4096 bytes. A page holds records one after the other, sorted by the bytes
 * of the words:
 *
 *     1  length of the word in bytes, 1 … 255; 0: no more records in this page
 *     …  the word, lower case, UTF-8
 *     1  number of breaks
 *     …  for each break, the number of letters (code points) before it; rising
 *
 * then zeros, and in the last four bytes the lower 32 bits of Forge64 (docs/spec/frame.md) of the
 * bytes before, with the number of the page as seed. No record crosses a page. Reading a damaged
 * page throws a `FrameError`.
 */

import { FrameError, type FrameErrorCode } from 'bloomery';
import { CHECKSUM, PAGE, pageSum } from 'bloomery/frames';

/** Words with their breaks. */
export type Exceptions = ReadonlyMap<string, readonly number[]>;

/** Bytes that can be read at a position: a file, a view of memory. */
export interface DictionaryBytes {
  readonly size: number;
  /** Reads exactly `length` bytes from `position` on. */
  read(position: number, length: number): Uint8Array;
}

export class ExceptionDictionary {
  readonly pages: number;
  readonly #bytes: DictionaryBytes;
  readonly #start: number;
  #reads = 0;

  /** Opens the dictionary whose pages begin at `start`. */
  constructor(bytes: DictionaryBytes, start: number, pages: number) {
    if (start + pages * PAGE > bytes.size) {
      throw unsound('truncated', bytes.size, `expected ${start + pages * PAGE} bytes, got ${bytes.size}`);
    }
    this.pages = pages;
    this.#bytes = bytes;
    this.#start = start;
  }

  /**
   * Returns the breaks of a word (in lower case), or undefined if it is not in the dictionary,
   * because the rules are right about it.
   */
  lookup(word: string): readonly number[] | undefined {
    const sought = ENCODER.encode(word);
    let [low, high] = [0, this.pages];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const page = this.#read(middle);
      const found = searchPage(page, middle, sought);
      if (found === 'before') high = middle;
      else if (found === 'behind') low = middle + 1;
      else return found;
    }
    return undefined;
  }

  /** Number of pages that were read. */
  get reads(): number {
    return this.#reads;
  }

  /** Yields all words with their breaks, page by page. */
  *entries(): Generator<readonly [word: string, points: readonly number[]]> {
    for (let number = 0; number < this.pages; number++) {
      const page = this.#read(number);
      for (let at = 0; page[at] !== 0 && at < RECORDS; ) {
        const { breaks, end } = recordAt(page, at, number);
        yield [DECODER.decode(page.subarray(at + 1, breaks)), [...page.subarray(breaks + 1, end)]];
        at = end;
      }
    }
  }

  #read(number: number): Uint8Array {
    this.#reads++;
    const page = this.#bytes.read(this.#start + number * PAGE, PAGE);
    if (page.length !== PAGE)
      throw unsound('truncated', this.#start + number * PAGE, `expected ${PAGE} bytes, got ${page.length}`);
    const found = viewOf(page).getUint32(RECORDS, true);
    const expected = checksum(page, number);
    if (found !== expected) {
      throw unsound('checksum', this.#start + number * PAGE, `page ${number} of the dictionary was damaged`);
    }
    return page;
  }
}

/**
 * Encodes the pages of a dictionary. Words must be in lower case, at most 255 bytes of UTF-8, with
 * breaks below 256.
 */
export function encodeExceptions(exceptions: Exceptions): Uint8Array<ArrayBuffer> {
  const records = [...exceptions].map(([word, points]) => encodeRecord(word, points));
  records.sort((a, b) => compareWord(a.word, b.word, 0, b.word.length));
  const pages: Uint8Array[] = [];
  let used = PAGE;
  for (const { bytes } of records) {
    if (used + bytes.length > RECORDS) {
      pages.push(new Uint8Array(PAGE));
      used = 0;
    }
    pages[pages.length - 1].set(bytes, used);
    used += bytes.length;
  }
  const all = new Uint8Array(pages.length * PAGE);
  for (const [number, page] of pages.entries()) {
    viewOf(page).setUint32(RECORDS, checksum(page, number), true);
    all.set(page, number * PAGE);
  }
  return all;
}

/** The latest possible end of the records in a page. */
const RECORDS = PAGE - CHECKSUM;

function encodeRecord(text: string, points: readonly number[]) {
  const word = ENCODER.encode(text);
  if (word.length === 0 || word.length > 255 || points.length > 255 || points.some((point) => point > 255)) {
    throw new RangeError(
      `Cannot keep the word: expected 1 to 255 bytes, got ${word.length} (${text.slice(0, 40)})`,
    );
  }
  return { word, bytes: Uint8Array.from([word.length, ...word, points.length, ...points]) };
}

/** Finds where the word of a record ends, and where the record ends. */
function recordAt(page: Uint8Array, at: number, number: number): { breaks: number; end: number } {
  const breaks = at + 1 + page[at];
  const end = breaks + 1 + page[breaks];
  if (page[at] === 0 || breaks >= RECORDS || end > RECORDS) {
    throw unsound('payload', at, `page ${number} of the dictionary has no sound record here`);
  }
  return { breaks, end };
}

/**
 * Searches a page for a word. Returns its breaks, or undefined if the word belongs in this page and
 * is missing, or otherwise the side on which its page lies.
 */
function searchPage(page: Uint8Array, number: number, sought: Uint8Array) {
  for (let at = 0; at < RECORDS && page[at] !== 0; ) {
    const { breaks, end } = recordAt(page, at, number);
    const order = compareWord(sought, page, at + 1, breaks);
    if (order === 0) return [...page.subarray(breaks + 1, end)];
    if (order < 0) return at === 0 ? 'before' : undefined;
    at = end;
  }
  return 'behind';
}

function compareWord(sought: Uint8Array, page: Uint8Array, from: number, to: number): number {
  const shared = Math.min(sought.length, to - from);
  for (let i = 0; i < shared; i++) if (sought[i] !== page[from + i]) return sought[i] - page[from + i];
  return sought.length - (to - from);
}

function checksum(page: Uint8Array, number: number): number {
  return pageSum(number, page.subarray(0, RECORDS)) >>> 0;
}

function unsound(code: FrameErrorCode, at: number, reason: string): FrameError {
  return new FrameError(code, at, reason, 'hyphenation dictionary');
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
