/**
 * The bytes of a capture file or a pipe, unpacked if they are packed, for `readBatches` and
 * `readCapture` in Node.
 *
 * gzip is unpacked by Node's zlib. zstd is unpacked by a function that the caller passes, because
 * Node has it from 22.15 on only and a decoder of our own would be a dependency of everyone.
 * Packing is recognised by the first bytes. Packed bytes that are damaged or cut give all that came
 * before, then a `CaptureError`.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CAPTURE, CaptureError } from '../capture-error.ts';

export interface OpenCaptureOptions {
  /** Unpacks zstd. Without it a file that zstd packed is refused. */
  readonly unpackZstd?: (packed: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /** Stops reading. */
  readonly signal?: AbortSignal;
}

/** Bytes that are read from a file at once. */
const CHUNK_BYTES = 1 << 20;

/**
 * Yields the unpacked bytes of a capture file. A chunk is valid until the next one is asked for: an
 * unpacked file is read into the same memory again and again.
 */
export async function* openCapture(
  path: string,
  { unpackZstd, signal }: OpenCaptureOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(path);
  try {
    // A named pipe has no positions: its bytes can be looked at once only.
    const isPipe = !(await file.stat()).isFile();
    if (isPipe || (await isPacked(file))) {
      const stream = file.createReadStream({
        ...(!isPipe && { start: 0 }),
        highWaterMark: CHUNK_BYTES,
        autoClose: false,
      });
      yield* unpackCapture(stream, { ...(unpackZstd && { unpackZstd }), ...(signal && { signal }) });
      return;
    }
    const memory = new Uint8Array(CHUNK_BYTES);
    for (let position = 0; ; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(memory, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield memory.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function isPacked(file: FileHandle): Promise<boolean> {
  const head = new Uint8Array(4);
  const { bytesRead } = await file.read(head, 0, 4, 0);
  return packingOf(head.subarray(0, bytesRead)) !== null;
}

/** Yields the unpacked bytes of a capture from any source, such as standard input. */
export async function* unpackCapture(
  source: AsyncIterable<Uint8Array>,
  { unpackZstd, signal }: OpenCaptureOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const parts = source[Symbol.asyncIterator]();
  let unpacked: AsyncIterable<Uint8Array> | null = null;
  try {
    const head = await firstBytes(parts);
    const all = prepend(head, parts);
    const packing = packingOf(head);
    if (packing === 'gzip') unpacked = gunzip(all);
    else if (packing === 'zstd' && unpackZstd !== undefined) unpacked = unpackZstd(all);
    else unpacked = all;
    for await (const chunk of unpacked) {
      signal?.throwIfAborted();
      yield chunk;
    }
  } finally {
    await parts.return?.();
  }
}

/** At least four bytes from a source, or all that it has. */
async function firstBytes(parts: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let head = new Uint8Array(0);
  while (head.length < 4) {
    const { value, done } = await parts.next();
    if (done) break;
    const joined = new Uint8Array(head.length + value.length);
    joined.set(head);
    joined.set(value, head.length);
    head = joined;
  }
  return head;
}

async function* prepend(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (;;) {
    const { value, done } = await rest.next();
    if (done) return;
    yield value;
  }
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const stream = createGunzip({ chunkSize: 1 << 18 });
  // The stream itself reports every error, those of the source included.
  pipeline(packed, stream, () => {});
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Codes of zlib begin with Z_, those of the system with E.
    if (!code?.startsWith('Z_')) throw error;
    const kind = code === 'Z_BUF_ERROR' ? 'truncated' : 'malformed';
    throw new CaptureError(kind, CAPTURE, `expected whole gzip data, got ${message}`, bytes);
  } finally {
    stream.destroy();
  }
}

function packingOf([a, b, c, d]: Uint8Array): 'gzip' | 'zstd' | null {
  if (a === 0x1f && b === 0x8b) return 'gzip';
  return a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd ? 'zstd' : null;
}
