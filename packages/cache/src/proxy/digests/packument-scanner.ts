/**
 * Finds the digests in a packument, the JSON document in which an npm registry lists the versions
 * of a package: `versions.<version>.dist` has `tarball`, a URL, and `integrity`, `sha512-<base64>`.
 * The document of a single version has `dist` at the top.
 *
 * The scanner takes the document in pieces, and keeps the path to the current value and one string.
 * So memory is bounded, and no piece takes long: 1.4 ms for 64 kB on a busy machine
 * (`bench/cache/digests.mjs`: 22 ms per MB). We refused `JSON.parse`, which would hold the event
 * loop for the whole document and build all of it.
 *
 * It does not validate: a damaged document gives fewer digests, or those of its intact part. Only
 * strings at these very paths count. Text inside a string, such as a README that quotes JSON, and
 * objects with the same names at other places do not.
 */

import { digestFromBase64, type NamedDigest } from '../../policy/named-digest.ts';

/** Called with a reference, as it is in the document, and the digest of the file. */
export type DigestFound = (reference: string, digest: NamedDigest) => void;

/** Levels of nesting that are tracked; deeper documents are not packuments. */
const MOST_LEVELS = 64;
/** Longest key or value that is kept. A longer one is not one that counts. */
const LONGEST_TEXT = 4096;
/** Keys with which a packument may begin. Other documents are not read further. */
const FIRST_KEYS: ReadonlySet<string> = new Set([
  '_id',
  '_rev',
  'name',
  'dist-tags',
  'versions',
  'modified',
  'version',
  'dist',
  'time',
  'description',
]);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class PackumentScanner {
  readonly #found: DigestFound;
  /** For each level: the current key of an object, or null in an array. */
  readonly #path: (string | null)[] = [];
  /** The next string of the object is a key. */
  #expectsKey = false;
  #isInString = false;
  #isEscaped = false;
  #hasEscapes = false;
  #text = '';
  #isKept = false;
  #tarball: string | null = null;
  #integrity: string | null = null;
  #hasFirstKey = false;
  /** This is no packument, or it is one that cannot be read. */
  isOver = false;

  constructor(found: DigestFound) {
    this.#found = found;
  }

  add(bytes: Uint8Array): void {
    if (this.isOver) return;
    let at = 0;
    while (at < bytes.length) {
      if (this.#isInString) {
        at = this.#string(bytes, at);
        continue;
      }
      const byte = bytes[at++]!;
      if (byte === QUOTE) this.#beginString();
      else if (byte === 0x7b) this.#open(true);
      else if (byte === 0x5b) this.#open(false);
      else if (byte === 0x7d || byte === 0x5d) this.#close();
      else if (byte === 0x2c) this.#expectsKey = this.#path.at(-1) !== null && this.#path.length > 0;
      if (this.isOver) return;
    }
  }

  /** Reads a string up to its end or to that of the piece. Returns the place after it. */
  #string(bytes: Uint8Array, start: number): number {
    let at = start;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) {
        this.#isEscaped = true;
        this.#hasEscapes = true;
      } else if (byte === QUOTE) break;
    }
    if (this.#isKept) {
      this.#text += Buffer.from(bytes.buffer, bytes.byteOffset + start, at - start).toString('latin1');
      if (this.#text.length > LONGEST_TEXT) this.#isKept = false;
    }
    if (at === bytes.length) return at;
    this.#endString();
    return at + 1;
  }

  #beginString(): void {
    this.#isInString = true;
    this.#hasEscapes = false;
    this.#text = '';
    // Keys of the first four levels make the path, and the values that count are on these levels.
    this.#isKept = this.#path.length <= 4 && (this.#expectsKey || this.#isInDist());
  }

  #endString(): void {
    this.#isInString = false;
    const text = this.#isKept ? this.#read() : '';
    const level = this.#path.length;
    if (this.#expectsKey) {
      this.#expectsKey = false;
      if (level > 0) this.#path[level - 1] = text;
      if (level === 1 && !this.#hasFirstKey) {
        this.#hasFirstKey = true;
        this.isOver = !FIRST_KEYS.has(text);
      }
    } else if (this.#isInDist()) {
      if (this.#path[level - 1] === 'tarball') this.#tarball = text;
      else if (this.#path[level - 1] === 'integrity') this.#integrity = text;
    }
  }

  /** The text of a string, whose bytes were read as Latin-1. */
  #read(): string {
    const text = Buffer.from(this.#text, 'latin1').toString('utf8');
    if (!this.#hasEscapes) return text;
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      return '';
    }
  }

  /** Whether the current object is the `dist` of a version. */
  #isInDist(): boolean {
    const path = this.#path;
    if (path.at(-1) === null) return false;
    if (path.length === 2) return path[0] === 'dist';
    return path.length === 4 && path[0] === 'versions' && path[1] !== null && path[2] === 'dist';
  }

  #open(isObject: boolean): void {
    this.#path.push(isObject ? '' : null);
    this.#expectsKey = isObject;
    if (this.#path.length > MOST_LEVELS) this.isOver = true;
    if (this.#isInDist()) {
      this.#tarball = null;
      this.#integrity = null;
    }
  }

  #close(): void {
    if (this.#isInDist()) this.#emit();
    this.#path.pop();
    this.#expectsKey = false;
  }

  #emit(): void {
    // Subresource Integrity: several digests are separated by blanks, and may have options.
    const base64 = /(?:^|\s)sha512-([A-Za-z0-9+/]{86}==)(?=$|[\s?])/.exec(this.#integrity ?? '')?.[1];
    const digest = base64 === undefined ? null : digestFromBase64('sha512', base64);
    if (digest !== null && this.#tarball) this.#found(this.#tarball, digest);
  }
}
