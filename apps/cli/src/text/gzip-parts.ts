/**
 * Unpacks a gzip file (RFC 1952) and tells where its members end: Node's own `Gunzip` does not say
 * that. Each member is a raw deflate stream with a header and a checksum, which are read here.
 *
 * A member of up to 4 MiB is unpacked by one call. A larger one goes through a stream.
 */

import { constants, crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { errorCode } from '@bloomery/files';
import { type PackedPart, UnpackError } from '../unpacking/packed-part.ts';
import type { ReadBytes } from './text-file.ts';

const WINDOW = 4 << 20;
const MOST_OUTPUT = 64 << 20;
const TRAILER = 8;

/**
 * Yields the unpacked parts and the ends of members, from the beginning of a member to the end of
 * the file or to `end`. Bytes behind the last member are left out, as `gzip -cdf` does.
 */
export async function* gzipParts(read: ReadBytes, from: number, end: number): AsyncGenerator<PackedPart> {
  let at = from;
  let window: Uint8Array = new Uint8Array(0);
  let windowAt = from;
  while (at < end) {
    // The rest of the window usually holds the next member.
    let rest = window.subarray(at - windowAt);
    if (at + rest.length < end && rest.length < WINDOW / 2) {
      window = await read(at, Math.min(WINDOW, end - at));
      windowAt = at;
      rest = window;
    }
    const header = headerBytes(rest);
    if (header === 0) {
      if (at === from)
        throw new UnpackError('gzip', `Cannot unpack: expected a gzip member at byte ${at}, got other bytes`);
      return;
    }
    const whole = wholeMember(rest.subarray(header));
    if (whole === null) {
      at = yield* streamedMember(read, at + header, end);
    } else {
      yield { kind: 'data', bytes: whole.bytes };
      at += header + whole.packed + TRAILER;
    }
    yield { kind: 'member', end: at };
  }
}

/** Unpacks a member that lies in memory; null if it does not end there, or is damaged. */
function wholeMember(packed: Uint8Array): { bytes: Uint8Array; packed: number } | null {
  try {
    const { buffer, engine } = inflateRawSync(packed, {
      info: true,
      maxOutputLength: MOST_OUTPUT,
      chunkSize: 1 << 18,
    } as object) as unknown as { buffer: Uint8Array; engine: { bytesWritten: number } };
    const used = engine.bytesWritten;
    if (used + TRAILER > packed.length) return null;
    return isTrailer(packed.subarray(used), crc32(buffer), buffer.length)
      ? { bytes: buffer, packed: used }
      : null;
  } catch (error) {
    if (errorCode(error)?.startsWith('Z_') || errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return null;
    throw error;
  }
}

/** Unpacks one member piece by piece. Returns the byte behind it. */
async function* streamedMember(
  read: ReadBytes,
  from: number,
  end: number,
): AsyncGenerator<PackedPart, number> {
  const inflate = createInflateRaw({ chunkSize: 1 << 18, finishFlush: constants.Z_SYNC_FLUSH });
  let sum = 0;
  let length = 0;
  let ended = false;
  const feeding = (async () => {
    for (let at = from; at < end && !ended; ) {
      const bytes = await read(at, Math.min(1 << 18, end - at));
      if (bytes.length === 0) break;
      at += bytes.length;
      await new Promise<void>((resolve) => {
        const wake = () => resolve();
        inflate.once('close', wake);
        inflate.write(bytes, () => {
          inflate.removeListener('close', wake);
          resolve();
        });
      });
    }
    if (!ended) inflate.end();
  })();
  try {
    for await (const bytes of inflate as AsyncIterable<Uint8Array>) {
      sum = crc32(bytes, sum);
      length += bytes.length;
      yield { kind: 'data', bytes };
    }
  } catch (error) {
    if (!errorCode(error)?.startsWith('Z_')) throw error;
    throw new UnpackError('gzip', `Cannot unpack: the gzip data are damaged (${(error as Error).message})`, {
      cause: error,
    });
  } finally {
    ended = true;
    inflate.destroy();
    await feeding.catch(() => {});
  }
  const at = from + inflate.bytesWritten;
  if (!isTrailer(await read(at, TRAILER), sum, length))
    throw new UnpackError(
      'gzip',
      `Cannot unpack: expected a gzip member with its checksum, got other bytes (before byte ${at})`,
    );
  return at + TRAILER;
}

/** "CRC32 … ISIZE … the size of the original input data modulo 2^32" (RFC 1952, 2.3.1). */
function isTrailer(bytes: Uint8Array, sum: number, length: number): boolean {
  if (bytes.length < TRAILER) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, TRAILER);
  return view.getUint32(0, true) === sum && view.getUint32(4, true) === length % 2 ** 32;
}

/** Bytes of a member's header, or 0 if there is none. */
export function headerBytes(bytes: Uint8Array): number {
  if (bytes.length < 18 || bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return 0;
  const flags = bytes[3];
  let at = 10;
  if (flags & 4) at += 2 + bytes[10] + 256 * bytes[11];
  for (const flag of [8, 16]) {
    if (!(flags & flag)) continue;
    const zero = bytes.indexOf(0, at);
    if (zero < 0) return 0;
    at = zero + 1;
  }
  if (flags & 2) at += 2;
  return at < bytes.length ? at : 0;
}
