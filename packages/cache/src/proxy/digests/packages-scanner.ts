/**
 * Finds the digests in a `Packages` index of a Debian repository: stanzas of lines, with
 * `Filename: <path from the root of the repository>` and `SHA256: <hex>` (deb822 format).
 *
 * It takes the index in pieces, and keeps at most one line of 4,096 bytes. Longer lines are not
 * those that count. A stanza without one of the two fields gives nothing.
 */

import { digestFromHex, type NamedDigest } from '../../policy/named-digest.ts';
import type { DigestFound } from './packument-scanner.ts';

const LONGEST_LINE = 4096;

export class PackagesScanner {
  readonly #found: DigestFound;
  #line = '';
  /** The current line is too long, and its rest is skipped. */
  #isSkipping = false;
  #file: string | null = null;
  #digest: NamedDigest | null = null;

  constructor(found: DigestFound) {
    this.#found = found;
  }

  add(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      if (this.#isSkipping) this.#isSkipping = false;
      else this.#take(this.#line === '' ? text.slice(start, end) : this.#line + text.slice(start, end));
      this.#line = '';
      start = end + 1;
    }
    if (this.#isSkipping) return;
    this.#line += text.slice(start);
    if (this.#line.length <= LONGEST_LINE) return;
    this.#line = '';
    this.#isSkipping = true;
  }

  /** The index is complete; its last stanza may lack an empty line. */
  end(): void {
    this.#take(this.#line);
    this.#take('');
  }

  #take(line: string): void {
    if (line === '') {
      if (this.#file !== null && this.#digest !== null) this.#found(this.#file, this.#digest);
      this.#file = null;
      this.#digest = null;
    } else if (line.startsWith('Filename:')) this.#file = line.slice('Filename:'.length).trim();
    else if (line.startsWith('SHA256:'))
      this.#digest = digestFromHex('sha256', line.slice('SHA256:'.length).trim());
  }
}
