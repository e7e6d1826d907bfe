/**
 * gzip through the platform's own streams, which browsers, Node, Deno and Bun have. It is
 * asynchronous for that reason. The output is bounded: a few kilobytes can unpack to gigabytes, so
 * unpacking stops at the limit, and at most one chunk of the platform (64 KiB in Node) is held
 * above it.
 */

import { type AbortSignalLike, throwIfAborted } from '../../keys/abort.ts';
import { type ByteTransform, platform } from '../../keys/platform.ts';
import type { ForeignFormat } from './foreign-formats.ts';
import { FormatError } from './format-error.ts';

/** Whether the bytes begin as gzip files do. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

export async function gzip(bytes: Uint8Array, signal?: AbortSignalLike): Promise<Uint8Array<ArrayBuffer>> {
  return collect(
    new platform.CompressionStream('gzip'),
    bytes,
    Number.MAX_SAFE_INTEGER,
    () => undefined as never,
    signal,
  );
}

export async function gunzip(
  format: ForeignFormat,
  bytes: Uint8Array,
  maxBytes: number,
  signal?: AbortSignalLike,
): Promise<Uint8Array<ArrayBuffer>> {
  // Outside the try block, because a platform without this class is not the file's fault.
  const unpacking = new platform.DecompressionStream('gzip');
  try {
    const tooLong = () => {
      throw new FormatError(format, 'limit', 0, `expected at most ${maxBytes} bytes out of gzip, got more`);
    };
    return await collect(unpacking, bytes, maxBytes, tooLong, signal);
  } catch (cause) {
    throwIfAborted(signal);
    if (cause instanceof FormatError) throw cause;
    // The messages of platforms differ: 'incorrect header check', 'unexpected end of file', 'Junk
    // found'.
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError(format, 'payload', 0, `expected a whole gzip file, got one that fails: ${reason}`);
  }
}

async function collect(
  { writable, readable }: ByteTransform,
  bytes: Uint8Array,
  maxBytes: number,
  tooLong: () => never,
  signal: AbortSignalLike | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  throwIfAborted(signal);
  const writer = writable.getWriter();
  // The reading side reports a failure. Here it only must not remain unhandled.
  const written = writer
    .write(bytes)
    .then(() => writer.close())
    .catch(() => undefined);
  const reader = readable.getReader();
  const chunks: Uint8Array[] = [];
  let total = 0;
  const cancel = () => reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      throwIfAborted(signal);
      if (done) break;
      total += value.length;
      if (total > maxBytes) {
        await cancel();
        tooLong();
      }
      chunks.push(value);
    }
    await written;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
  const all = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
