/**
 * Unpacks one zstd frame as a stream with libzstd in WebAssembly, for versions of Node that have no
 * zstd. The module is the one of zstddec; the calls are our own.
 *
 * zstddec has a stream as well, `decodeStreaming`, which we used first. It ignores the errors of
 * libzstd, and after one it neither goes on nor frees the decoder: each damaged frame kept its
 * window, up to 128 MiB, until the process ended, and the 32nd one failed for want of memory. Here
 * a decoder is freed however the stream ends.
 */

import type { ZSTDDecoder } from 'zstddec/stream';

/** The functions of libzstd that are used here. Places in its memory are numbers. */
interface ZstdExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  malloc(bytes: number): number;
  free(place: number): void;
  ZSTD_createDCtx(): number;
  ZSTD_freeDCtx(decoder: number): number;
  ZSTD_DStreamOutSize(): number;
  ZSTD_decompressStream(decoder: number, output: number, input: number): number;
}

export interface WasmZstd {
  readonly decoder: ZSTDDecoder;
  readonly exports: ZstdExports;
}

let loaded: Promise<WasmZstd> | null = null;

/** Loaded with the first frame, because most inputs are not zstd. */
export function loadWasmZstd(): Promise<WasmZstd> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<WasmZstd> {
  const { ZSTDDecoder } = await import('zstddec/stream');
  let exports: ZstdExports | null = null;
  class OpenDecoder extends ZSTDDecoder {
    override _init(result: Parameters<ZSTDDecoder['_init']>[0]): void {
      exports = (result as unknown as { instance: { exports: ZstdExports } }).instance.exports;
      super._init(result);
    }
  }
  const decoder = new OpenDecoder();
  await decoder.init();
  return { decoder, exports: exports! };
}

/** A buffer of libzstd: place, size and position, 32 bits each. */
const BUFFER_BYTES = 12;
/** Results from here on are errors: `(size_t)-ZSTD_error_maxCode`. */
const FIRST_ERROR = 2 ** 32 - 120;

/** The text of a frame whose packed bytes come in parts. Throws if libzstd refuses them. */
export async function* streamByWasm(
  packed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { exports } = await loadWasmZstd();
  const outBytes = exports.ZSTD_DStreamOutSize();
  const places = [exports.malloc(outBytes), exports.malloc(BUFFER_BYTES), exports.malloc(BUFFER_BYTES)];
  const [out, output, input] = places;
  const decoder = exports.ZSTD_createDCtx();
  // The memory moves when it grows, so it is looked up for each access.
  const view = () => new DataView(exports.memory.buffer);
  const setBuffer = (buffer: number, place: number, size: number) => {
    view().setUint32(buffer, place, true);
    view().setUint32(buffer + 4, size, true);
    view().setUint32(buffer + 8, 0, true);
  };
  const positionOf = (buffer: number) => view().getUint32(buffer + 8, true);
  let left = 1;
  try {
    for await (const part of packed) {
      const source = exports.malloc(part.length);
      try {
        new Uint8Array(exports.memory.buffer).set(part, source);
        setBuffer(input, source, part.length);
        for (let isFull = true; isFull || positionOf(input) < part.length; ) {
          setBuffer(output, out, outBytes);
          left = exports.ZSTD_decompressStream(decoder, output, input) >>> 0;
          if (left >= FIRST_ERROR) throw new Error('Cannot unpack: libzstd refused the data');
          const made = positionOf(output);
          // A full output says that there may be more of it without further input.
          isFull = made === outBytes && left !== 0;
          if (made > 0) yield Uint8Array.from(new Uint8Array(exports.memory.buffer, out, made));
          if (left === 0) break;
        }
      } finally {
        exports.free(source);
      }
    }
    if (left !== 0) throw new Error('Cannot unpack: libzstd expected more data');
  } finally {
    exports.ZSTD_freeDCtx(decoder);
    for (const place of places) exports.free(place);
  }
}
