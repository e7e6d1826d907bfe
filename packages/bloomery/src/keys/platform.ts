/**
 * The few globals that the library uses beyond ECMAScript. It compiles with `types: []`, so
 * everything that it takes from its environment is declared here and nowhere else. Each may be
 * absent; the callers define what happens then.
 */

interface TextEncoderLike {
  encode(text: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, target: Uint8Array): { read: number; written: number };
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface WebAssemblyLike {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: object };
  Memory: new (descriptor: { initial: number; maximum?: number }) => WasmMemory;
}

/** A pair of Web streams, as far as the library uses them. */
export interface ByteTransform {
  readonly writable: { getWriter(): { write(chunk: Uint8Array): Promise<void>; close(): Promise<void> } };
  readonly readable: {
    getReader(): {
      read(): Promise<{ done: false; value: Uint8Array } | { done: true; value?: undefined }>;
      cancel(): Promise<void>;
    };
  };
}

interface Platform {
  TextEncoder: new () => TextEncoderLike;
  WebAssembly?: WebAssemblyLike;
  readonly CompressionStream: new (format: string) => ByteTransform;
  readonly DecompressionStream: new (format: string) => ByteTransform;
  atob(base64: string): string;
  readonly console?: { warn(message: string): void };
}

export const platform = globalThis as unknown as Platform;

/**
 * Encodes UTF-8 as the Encoding standard defines it: a lone surrogate becomes U+FFFD (EF BF BD).
 */
let encoder: TextEncoderLike | undefined;
export function textEncoder(): TextEncoderLike {
  encoder ??= new platform.TextEncoder();
  return encoder;
}
