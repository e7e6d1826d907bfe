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

/** The functions of the Web Crypto API that verify signatures. None of them is random. */
export interface SubtleCryptoLike {
  digest(algorithm: string, bytes: Uint8Array): Promise<ArrayBuffer>;
  importKey(
    format: 'raw',
    bytes: Uint8Array,
    algorithm: { readonly name: string },
    extractable: boolean,
    usages: readonly string[],
  ): Promise<object>;
  verify(
    algorithm: { readonly name: string },
    key: object,
    signature: Uint8Array,
    message: Uint8Array,
  ): Promise<boolean>;
}

interface Platform {
  TextEncoder: new () => TextEncoderLike;
  WebAssembly?: WebAssemblyLike;
  readonly CompressionStream: new (format: string) => ByteTransform;
  readonly DecompressionStream: new (format: string) => ByteTransform;
  atob(base64: string): string;
  /** Browsers have `subtle` only in pages that came over HTTPS or from the machine itself. */
  readonly crypto?: { readonly subtle?: SubtleCryptoLike };
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
