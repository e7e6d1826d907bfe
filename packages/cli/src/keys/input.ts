/**
 * The bytes of an input: a file or standard input, gzip and zstd unpacked, whatever the name says. Parts come in the order
 * of the input, in memory of their own.
 *
 * Files are read in large parts, without a stream. zstd is unpacked by Node where it can (22.15), else by fzstd, in JavaScript.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import zlib from 'node:zlib';
import { Decompress } from 'fzstd';
import { UsageError } from '../usage-error.ts';

/** How much of a file is read at once. */
export const PART = 1 << 19;

export interface Input {
  /** As the user gave it; `-` is standard input. */
  readonly path: string;
  /** Of the file as it is, packed or not; undefined if nobody knows. */
  readonly bytes: number | undefined;
  /** Whether it can be read again, costs no more then than reading, and `PlainFile` may be used. */
  readonly plainFile: boolean;
  /** `onRead` is told how many bytes of the file were read. Parts that are handed out are not used again. */
  parts(onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** Opens nothing yet, but looks: a missing file or a directory is found here, before any work. */
export function inputOf(path: string): Input {
  if (path === '-') {
    return {
      path,
      bytes: undefined,
      plainFile: false,
      parts: (onRead) => unpack(path, standardInput(), onRead),
    };
  }
  const descriptor = openSync(path, 'r');
  try {
    const found = fstatSync(descriptor);
    if (found.isDirectory())
      throw new UsageError(`${path} is a directory; name files, or: find ${path} -type f`);
    const head = new Uint8Array(4);
    const plainFile =
      found.isFile() && packingOf(head.subarray(0, readSync(descriptor, head, 0, 4, 0))) === 'none';
    return {
      path,
      bytes: found.isFile() ? found.size : undefined,
      plainFile,
      parts: (onRead) => unpack(path, fileParts(path), onRead),
    };
  } catch (error) {
    // A pipe or a device cannot be read at a position.
    if ((error as NodeJS.ErrnoException).code !== 'ESPIPE') throw error;
    return {
      path,
      bytes: undefined,
      plainFile: false,
      parts: (onRead) => unpack(path, fileParts(path), onRead),
    };
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a plain file into memory that the caller gives, part by part: 0 bytes at the end. */
export class PlainFile {
  readonly #descriptor: number;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'r');
  }

  read(into: Uint8Array, at: number): number {
    return readSync(this.#descriptor, into, at, into.length - at, null);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** No paths: standard input. */
export function inputsOf(paths: readonly string[]): Input[] {
  return (paths.length === 0 ? ['-'] : paths).map(inputOf);
}

async function* fileParts(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const file = new PlainFile(path);
  try {
    for (;;) {
      const part = new Uint8Array(PART);
      const length = file.read(part, 0);
      if (length === 0) return;
      yield part.subarray(0, length);
    }
  } finally {
    file.close();
  }
}

async function* standardInput(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  // Pipes hand over 64 kB at most; the cost of a part is shared by many.
  let gathered: Uint8Array[] = [];
  let size = 0;
  for await (const part of process.stdin as AsyncIterable<Uint8Array>) {
    gathered.push(part);
    size += part.length;
    if (size < PART) continue;
    yield joined(gathered, size);
    gathered = [];
    size = 0;
  }
  if (size > 0) yield joined(gathered, size);
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

async function* unpack(
  path: string,
  parts: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const counted = count(parts, onRead);
  const first = await counted.next();
  if (first.done) return;
  const packing = packingOf(first.value);
  const all = prepend(first.value, counted);
  try {
    if (packing === 'gzip') yield* throughStream(all, zlib.createGunzip({ chunkSize: 1 << 20 }));
    else if (packing === 'zstd') yield* unpackZstd(all);
    else yield* all;
  } catch (error) {
    if (packing === 'none' || (error as NodeJS.ErrnoException).code?.startsWith('E')) throw error;
    throw new UsageError(`${path}: the ${packing} data is damaged or cut off (${(error as Error).message})`, {
      cause: error,
    });
  }
}

function packingOf(head: Uint8Array): 'none' | 'gzip' | 'zstd' {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  if (head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd) return 'zstd';
  return 'none';
}

async function* unpackZstd(
  parts: AsyncGenerator<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { createZstdDecompress } = zlib as unknown as { createZstdDecompress?: () => NodeJS.ReadWriteStream };
  if (createZstdDecompress !== undefined) {
    yield* throughStream(parts, createZstdDecompress());
    return;
  }
  let ready: Uint8Array[] = [];
  const stream = new Decompress((part) => ready.push(part));
  for await (const part of parts) {
    stream.push(part);
    for (const unpacked of ready) yield Uint8Array.from(unpacked);
    ready = [];
  }
  stream.push(new Uint8Array(0), true);
  for (const unpacked of ready) yield Uint8Array.from(unpacked);
}

async function* throughStream(
  parts: AsyncIterable<Uint8Array>,
  stream: NodeJS.ReadWriteStream,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const feeding = (async () => {
    for await (const part of parts) {
      if (!stream.write(part)) await new Promise((resolve) => stream.once('drain', resolve));
    }
    stream.end();
  })();
  feeding.catch((error) => (stream as unknown as { destroy(error: Error): void }).destroy(error as Error));
  for await (const part of stream as AsyncIterable<Uint8Array>) yield Uint8Array.from(part);
  await feeding;
}

async function* count<T extends Uint8Array>(parts: AsyncGenerator<T>, onRead: (bytes: number) => void) {
  for await (const part of parts) {
    onRead(part.length);
    yield part;
  }
}

async function* prepend<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}
