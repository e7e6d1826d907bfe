/**
 * A finished file that is served: opened once, hashed once, and refused if it changes meanwhile.
 * A change is noticed by its size and times, before each answer. A change that keeps all of them is
 * noticed by the receivers, whose blocks then do not fit.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { BlockSet } from '../decisions/block-set.ts';
import { blockLength, type FileShape, shapeOf } from '../decisions/file-shape.ts';
import { DeliveryError } from '../delivery-error.ts';
import { HASH_BYTES, HashList, sha256 } from '../wire/hash-list.ts';

export class WholeFile {
  readonly path: string;
  readonly digest: string;
  readonly list: HashList;
  readonly has: BlockSet;
  readonly #handle: FileHandle;
  readonly #stamp: string;

  private constructor(path: string, handle: FileHandle, stamp: string, digest: string, list: HashList) {
    this.path = path;
    this.#handle = handle;
    this.#stamp = stamp;
    this.digest = digest;
    this.list = list;
    this.has = BlockSet.full(list.shape.blocks);
  }

  /** Opens a file and reads all of it. `read` is told of the bytes that were hashed so far. */
  static async open(
    path: string,
    { signal, read }: { signal?: AbortSignal | undefined; read?: ((bytes: number) => void) | undefined } = {},
  ): Promise<WholeFile> {
    const handle = await open(path, 'r');
    try {
      const stamp = await stampOf(handle);
      const shape = shapeOf((await handle.stat()).size);
      const whole = createHash('sha256');
      const hashes = Buffer.alloc(shape.blocks * HASH_BYTES);
      for (let block = 0; block < shape.blocks; block++) {
        signal?.throwIfAborted();
        const bytes = await readFully(handle, path, block * shape.blockBytes, blockLength(shape, block));
        whole.update(bytes);
        hashes.set(sha256(bytes), block * HASH_BYTES);
        read?.(block * shape.blockBytes + bytes.length);
      }
      if ((await stampOf(handle)) !== stamp) throw changed(path);
      return new WholeFile(path, handle, stamp, whole.digest('hex'), HashList.of(shape.size, hashes));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get shape(): FileShape {
    return this.list.shape;
  }

  /** Reads a part. Throws a DeliveryError if the file changed since it was hashed. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    if ((await stampOf(this.#handle)) !== this.#stamp) throw changed(this.path);
    return readFully(this.#handle, this.path, offset, length);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

async function stampOf(handle: FileHandle): Promise<string> {
  const { size, mtimeNs, ino } = await handle.stat({ bigint: true });
  return `${size} ${mtimeNs} ${ino}`;
}

async function readFully(handle: FileHandle, path: string, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await handle.read(bytes, at, length - at, offset + at);
    if (bytesRead === 0) throw changed(path);
    at += bytesRead;
  }
  return bytes;
}

function changed(path: string): DeliveryError {
  return new DeliveryError(
    'changed',
    `serve ${path}`,
    'expected the file as it was hashed, but it changed since',
  );
}
