/** The index file of a run: created with the first block, flushed to the disk at its end. */

import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, writeAll } from '@bloomery/files';
import { type GramScheme, TextIndexWriter } from '@bloomery/stores/text';
import type { IndexFile } from './index-manifest.ts';
import type { TextBlock } from './scanning/block-builder.ts';

export class IndexOutput {
  readonly #path: string;
  readonly #scheme: GramScheme;
  readonly #id = randomBytes(16);
  #descriptor: number | null = null;
  #writer: TextIndexWriter | null = null;

  constructor(path: string, scheme: GramScheme) {
    this.#path = path;
    this.#scheme = scheme;
  }

  add({ bits, extents }: TextBlock): void {
    if (this.#writer === null) {
      const descriptor = openSync(this.#path, 'wx');
      this.#descriptor = descriptor;
      this.#writer = new TextIndexWriter({
        scheme: this.#scheme,
        id: this.#id,
        write: (bytes) => writeAll(descriptor, bytes),
      });
    }
    this.#writer.addBlock(bits, extents);
  }

  /** Flushes the file to the disk; null if there are no new blocks. */
  finish(name: string): IndexFile | null {
    if (this.#writer === null || this.#descriptor === null) return null;
    const { blocks } = this.#writer;
    const size = this.#writer.finish();
    fsyncSync(this.#descriptor);
    closeSync(this.#descriptor);
    this.#descriptor = null;
    syncDirectory(dirname(this.#path));
    return { name, id: this.#id.toString('hex'), size, blocks };
  }

  discard(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
    rmSync(this.#path, { force: true });
  }
}
