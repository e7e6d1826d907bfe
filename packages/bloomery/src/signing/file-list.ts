/**
 * The contents of a statement about several files: a list of their digests. It is the output of
 * coreutils' `sha256sum` over the files, sorted by the bytes of their names, so that it can be
 * checked without Bloomery. An index has a few files, each with a name of its own.
 */

import { textEncoder } from '../keys/platform.ts';
import { hexOf, SHA256_BYTES } from './signature-crypto.ts';

export interface ListedFile {
  /** Without a folder. */
  readonly name: string;
  readonly sha256: Uint8Array;
}

/**
 * Returns the list as bytes: for each file its digest in 64 hexadecimal digits, two spaces, the
 * name and a newline.
 */
export function fileList(files: readonly ListedFile[]): Uint8Array {
  const names = new Set<string>();
  for (const { name, sha256 } of files) {
    if (!/^[\x21-\x2e\x30-\x5b\x5d-\x7e]+$/.test(name) || name === '.' || name === '..') {
      throw new RangeError(
        `Cannot list a file: expected a name of printable ASCII without spaces and slashes, got ${JSON.stringify(name)}`,
      );
    }
    if (names.has(name))
      throw new RangeError(`Cannot list a file: expected distinct names, got ${name} twice`);
    names.add(name);
    if (sha256.length !== SHA256_BYTES) {
      throw new TypeError(
        `Cannot list a file: expected a digest of 32 bytes, got ${sha256.length} (${name})`,
      );
    }
  }
  const sorted = [...files].sort((a, b) => (a.name < b.name ? -1 : 1));
  return textEncoder().encode(sorted.map(({ name, sha256 }) => `${hexOf(sha256)}  ${name}\n`).join(''));
}
