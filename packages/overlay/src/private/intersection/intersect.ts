/**
 * An intersection over a connection. The work is done in small pieces, between which the platform
 * can do other things: a thousand keys take tenths of a second, a hundred thousand a minute.
 */

import type { AbortSignalLike } from 'bloomery';
import { IntersectionError } from './intersection-error.ts';
import {
  type IntersectionOptions,
  type IntersectionResult,
  IntersectionSession,
} from './intersection-session.ts';
import type { RandomSource } from './shuffle.ts';

export interface IntersectionChannel {
  /** The bytes of the peer: a Node stream, a web stream, or any other async iterable. */
  readonly readable: AsyncIterable<Uint8Array>;
  /** Sends bytes. A promise that it returns is awaited before the next ones. */
  send(bytes: Uint8Array): unknown;
}

export interface IntersectOptions extends Omit<IntersectionOptions, 'random'> {
  /** Default: `crypto.getRandomValues` of the platform. */
  readonly random?: RandomSource;
  /** Gives up: the promise rejects with its reason. */
  readonly signal?: AbortSignalLike | undefined;
}

/** Bytes that are worked on at once: 64 points. */
const SLICE = 2048;

/** The globals that are used beyond ECMAScript. */
const platform = globalThis as unknown as {
  readonly crypto: { getRandomValues(bytes: Uint8Array): Uint8Array };
  setTimeout(work: () => void, ms: number): void;
  readonly setImmediate?: (work: () => void) => void;
};

/**
 * Runs a session. The sending half stays open, and the iterable is told that no more is wanted:
 * `stream.iterator({ destroyOnReturn: false })` keeps a Node stream open after that.
 *
 * @example
 * ```ts
 * const group = await ristretto255();
 * const { common } = await intersect(addresses, channel, { role: 'initiator', group });
 * ```
 */
export async function intersect(
  keys: Iterable<string | Uint8Array>,
  channel: IntersectionChannel,
  {
    signal,
    random = (length) => platform.crypto.getRandomValues(new Uint8Array(length)),
    ...rest
  }: IntersectOptions,
): Promise<IntersectionResult> {
  if (signal?.aborted) throw signal.reason;
  const session = new IntersectionSession(keys, { ...rest, random });
  const abort = abortion(signal);
  const source = channel.readable[Symbol.asyncIterator]();
  let coming: Promise<IteratorResult<Uint8Array>> | null = null;
  try {
    for (;;) {
      // The next bytes are asked for before anything is sent. Otherwise the last message of a
      // program that ends would be lost.
      coming ??= source.next();
      coming.catch(() => undefined);
      for (let bytes = session.pull(); bytes !== null; bytes = session.pull()) {
        await Promise.race([channel.send(bytes), abort.promise]);
        await turn();
        if (signal?.aborted) throw signal.reason;
      }
      if (session.done) return session.result;
      const arrival = await Promise.race([coming, abort.promise]);
      coming = null;
      if (arrival.done)
        throw new IntersectionError('closed', 'expected more bytes, got the end of the stream');
      for (let at = 0; at < arrival.value.length; at += SLICE) {
        session.receive(arrival.value.subarray(at, at + SLICE));
        await turn();
        if (signal?.aborted) throw signal.reason;
      }
    }
  } finally {
    abort.forget();
    source.return?.().catch(() => undefined);
  }
}

/** Lets the platform deliver what has arrived, which microtasks alone would not. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (platform.setImmediate !== undefined) platform.setImmediate(() => resolve());
    else platform.setTimeout(() => resolve(), 0);
  });
}

/** A promise that rejects when the signal is aborted. */
function abortion(signal: AbortSignalLike | undefined): { promise: Promise<never>; forget(): void } {
  let listener = () => {};
  const promise = new Promise<never>((_, reject) => {
    listener = () => reject(signal?.reason);
  });
  promise.catch(() => undefined);
  signal?.addEventListener('abort', listener);
  return { promise, forget: () => signal?.removeEventListener('abort', listener) };
}
