/**
 * The two directions of a connection, in the forms that platforms have: web streams, async
 * iterables such as Node's streams, and functions that send.
 */

/** The reading half: a web stream, or any async iterable of bytes. */
export type ByteSource = AsyncIterable<Uint8Array> | ByteStream;

/** The writing half: a web stream, or a function that sends and may return a promise. */
export type ByteSink = ByteTarget | ((bytes: Uint8Array) => unknown);

export interface ByteDuplex {
  readonly readable: ByteSource;
  readonly writable: ByteSink;
}

/** The part of a `ReadableStream` that is used. */
interface ByteStream {
  getReader(): {
    read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
    releaseLock(): void;
  };
}

/** The part of a `WritableStream` that is used. */
interface ByteTarget {
  getWriter(): {
    readonly ready: Promise<unknown>;
    write(bytes: Uint8Array): Promise<unknown>;
    releaseLock(): void;
  };
}

export interface OpenSource {
  /** The next bytes, or null at the end. */
  next(): Promise<Uint8Array | null>;
  /** Gives the source back. Web streams stay open; an iterable is told that no more is wanted. */
  release(): void;
}

export function openSource(source: ByteSource): OpenSource {
  if ('getReader' in source) {
    const reader = source.getReader();
    return {
      next: async () => {
        const { done, value } = await reader.read();
        return done ? null : (value ?? null);
      },
      release: () => reader.releaseLock(),
    };
  }
  const iterator = source[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done, value } = await iterator.next();
      return done ? null : value;
    },
    release: () => {
      iterator.return?.().catch(() => undefined);
    },
  };
}

export interface OpenSink {
  /** Resolves when the next bytes may be sent. */
  send(bytes: Uint8Array): Promise<unknown>;
  release(): void;
}

export function openSink(sink: ByteSink): OpenSink {
  if (typeof sink === 'function') {
    return { send: async (bytes) => sink(bytes), release: () => undefined };
  }
  const writer = sink.getWriter();
  return {
    send: async (bytes) => {
      await writer.ready;
      const written = writer.write(bytes);
      // A failed write is reported by `ready`, or by the end of the other direction.
      written.catch(() => undefined);
      await writer.ready;
    },
    release: () => writer.releaseLock(),
  };
}
