/**
 * Reads the bytes of an input, a file or standard input. gzip, zstd, xz and bzip2 are unpacked
 * whatever the file name is. Parts come in the order of the input, each in its own memory.
 *
 * Files are read in large parts, without a stream. zstd is unpacked by `zstd-parts.ts`. xz,
 * bzip2 and the longest windows of `zstd --long` are unpacked by the programs of these names.
 */

import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { UnpackError } from '../unpacking/packed-part.ts';
import { HEAD, packingOf } from '../unpacking/packing-of.ts';
import { throughStream } from '../unpacking/through-stream.ts';
import { zstdHeader } from '../unpacking/zstd-header.ts';
import { HAS_NODE_ZSTD, zstdParts } from '../unpacking/zstd-parts.ts';
import { UsageError } from '../usage-error.ts';
import { gatheredParts } from './gathered-parts.ts';
import { unpackByProgram } from './program-parts.ts';

/** The number of bytes of a file that are read at once. */
export const PART = 1 << 19;

export interface Input {
  /** The path as the user gave it; `-` is standard input. */
  readonly path: string;
  /** Size of the file as it is on disk, packed or not; undefined for a pipe or a device. */
  readonly bytes: number | undefined;
  /**
   * Whether it is a regular, uncompressed file: it can be read twice without unpacking, and by
   * `PlainFile`.
   */
  readonly plainFile: boolean;
  /**
   * Yields the parts. `onRead` gets the number of bytes of the file that were read. The memory of a
   * yielded part is not reused.
   */
  parts(onRead?: (bytes: number) => void): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** Bytes of all inputs, for a bar of progress; 0 if the size of one is not known. */
export function bytesOf(inputs: readonly Input[]): number {
  const known = inputs.map(({ bytes }) => bytes);
  return known.includes(undefined) ? 0 : known.reduce<number>((sum, bytes) => sum + bytes!, 0);
}

/**
 * Checks a path before any work, and refuses a missing file, a directory, or a file without read
 * permission. Only regular files are opened here: a named pipe can be opened only once, because its
 * writer would see the reader leave.
 */
function inputOf(path: string): Input {
  if (path === '-') {
    return {
      path,
      bytes: undefined,
      plainFile: false,
      parts: (onRead) =>
        unpack(
          path,
          pipeParts(() => process.stdin),
          onRead,
        ),
    };
  }
  const found = statSync(path);
  if (found.isDirectory())
    throw new UsageError(`${path} is a directory; name files, or: find ${path} -type f`);
  return {
    path,
    bytes: found.isFile() ? found.size : undefined,
    plainFile: found.isFile() && packingOf(headOf(path)) === 'none',
    // A read from a named pipe may wait for hours, and must not stop timers and signals meanwhile.
    parts: (onRead) =>
      unpack(path, found.isFile() ? fileParts(path) : pipeParts(() => createReadStream(path)), onRead),
  };
}

function headOf(path: string): Uint8Array {
  const head = new Uint8Array(HEAD);
  const descriptor = openSync(path, 'r');
  try {
    return head.subarray(0, readSync(descriptor, head, 0, HEAD, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a plain file part by part into memory of the caller, and returns 0 bytes at the end. */
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

/**
 * The inputs of the given paths. Without paths it is standard input, which can be read only once.
 */
export function inputsOf(paths: readonly string[]): Input[] {
  if (paths.filter((path) => path === '-').length > 1) {
    throw new UsageError('standard input can be read once only: - can be one of the files');
  }
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

/** The pipe is opened when the first part is asked for. */
async function* pipeParts(open: () => Readable): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield* gatheredParts(open(), PART);
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
    else if (packing === 'zstd') yield* unpackZstd(all, path, first.value);
    else if (packing !== 'none') yield* unpackByProgram(packing, all, path);
    else yield* all;
  } catch (error) {
    // Codes of system errors begin with E, those of zlib begin with Z.
    const { code } = error as { code?: unknown };
    if (
      error instanceof UsageError ||
      packing === 'none' ||
      (typeof code === 'string' && code.startsWith('E'))
    )
      throw error;
    throw new UsageError(`${path}: the ${packing} data is damaged or cut off (${(error as Error).message})`, {
      cause: error,
    });
  }
}

/** Frames with a window of more than 128 MiB need Node's own decoder, or the program `zstd`. */
async function* unpackZstd(
  parts: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  path: string,
  head: Uint8Array,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (!HAS_NODE_ZSTD && head[0] === 0x28 && zstdHeader(head).window > MOST_WINDOW) {
    yield* unpackByProgram('zstd', parts, path);
    return;
  }
  try {
    for await (const part of zstdParts(parts, { mostWindow: MOST_WINDOW })) {
      if (part.kind === 'data') yield part.bytes as Uint8Array<ArrayBuffer>;
    }
  } catch (error) {
    if (!(error instanceof UnpackError) || error.code === 'zstd') throw error;
    throw new UsageError(`${path}: ${error.message}`, { cause: error });
  }
}

const MOST_WINDOW = HAS_NODE_ZSTD ? 2 ** 32 : 2 ** 27;

async function* count<T extends Uint8Array>(parts: AsyncGenerator<T>, onRead: (bytes: number) => void) {
  for await (const part of parts) {
    onRead(part.length);
    yield part;
  }
}

async function* prepend<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield first;
    yield* rest;
  } finally {
    // A caller that stops at the first part has not started `rest`, which would stay open.
    await rest.return(undefined);
  }
}
