/**
 * Integers by number, in pages of 4,096. The array grows by a page at a time, and nothing is moved.
 * A typed array that doubles moves everything at once: at a million keys the arrays of a summary's
 * keeper together took 9 ms for that, in the middle of a request.
 */

type Page = Int32Array | Uint32Array | Uint8Array;

const PAGE_BITS = 12;
const PAGE = 1 << PAGE_BITS;

export class PagedIntegers {
  readonly #pages: Page[] = [];
  readonly #newPage: (length: number) => Page;

  /** `newPage` makes a page with the first values of its integers. */
  constructor(newPage: (length: number) => Page) {
    this.#newPage = newPage;
  }

  /** The integers that there is room for. */
  get length(): number {
    return this.#pages.length << PAGE_BITS;
  }

  /** Makes room for integers with numbers below `length`. */
  cover(length: number): void {
    while (this.length < length) this.#pages.push(this.#newPage(PAGE));
  }

  /** The number must be below the length. */
  get(number: number): number {
    return this.#pages[number >>> PAGE_BITS]![number & (PAGE - 1)]!;
  }

  set(number: number, value: number): void {
    this.#pages[number >>> PAGE_BITS]![number & (PAGE - 1)] = value;
  }
}
