/**
 * Reconciles over a connection. The streams are left open, so that the two sides can go on to send
 * the items themselves.
 *
 * After a broken connection, call it again: with the token that `onBroken` was given it goes on
 * from where it was, and without one from the beginning. The responder needs no token.
 */

import type { AbortSignalLike } from 'bloomery';
import { ReconcileError } from '../reconcile-error.ts';
import type { ReconcileKeys, ReconcileResult } from '../reconciler.ts';
import {
  type ResumableOptions,
  type ResumableProgress,
  ResumableReconciler,
} from '../resumable-reconciler.ts';
import { type ByteDuplex, openSink, openSource } from './byte-duplex.ts';

export interface ReconcileOptions extends Omit<ResumableOptions, 'random'> {
  /** 8 random bytes. Default: from `crypto.getRandomValues` of the platform. */
  readonly random?: Uint8Array;
  /** Gives up: the promise rejects with its reason. */
  readonly signal?: AbortSignalLike | undefined;
  /** Called after each message that was sent or received. */
  readonly onProgress?: (progress: ResumableProgress) => void;
  /**
   * Called with a token for `resume` before the promise rejects, for the initiator. It is not
   * called if nothing had been received, or if the other side broke the rules.
   */
  readonly onBroken?: (token: Uint8Array) => void;
}

export interface ReconcileOutcome extends ReconcileResult {
  readonly progress: ResumableProgress;
  /** Bytes that were read and came after the end of the session. */
  readonly rest: Uint8Array;
}

/** The globals that are used beyond ECMAScript. */
const platform = globalThis as unknown as {
  readonly crypto: { getRandomValues(bytes: Uint8Array): Uint8Array };
  readonly setImmediate?: (work: () => void) => void;
  setTimeout(work: () => void, ms: number): void;
};

/**
 * Runs a session over a pair of streams. One side is the initiator, the other one the responder.
 *
 * @example
 * ```ts
 * const { onlyHere } = await reconcile(keys, connection, { role: 'initiator' });
 * for (const key of onlyHere) send(key);
 * ```
 */
export async function reconcile(
  keys: ReconcileKeys,
  duplex: ByteDuplex,
  options: ReconcileOptions,
): Promise<ReconcileOutcome> {
  const {
    signal,
    onProgress,
    onBroken,
    random = platform.crypto.getRandomValues(new Uint8Array(8)),
    ...rest
  } = options;
  if (signal?.aborted) throw signal.reason;
  const session = new ResumableReconciler(keys, { ...rest, random });
  const source = openSource(duplex.readable);
  const sink = openSink(duplex.writable);
  const abort = abortion(signal);
  let sending: Promise<null> | null = null;
  let coming: Promise<Arrival> | null = null;
  try {
    for (;;) {
      if (sending === null) {
        const bytes = session.pull();
        if (bytes !== null) sending = sink.send(bytes).then(turn);
        else if (session.done) break;
      }
      // Bytes may come while we send: the other side says when it has enough symbols, and both
      // sides send keys at the same time.
      if (coming === null && session.expects) coming = source.next().then((bytes) => ({ bytes }));
      const arrival = await Promise.race([sending, coming, abort.promise].filter((each) => each !== null));
      if (arrival === null) sending = null;
      else {
        coming = null;
        if (arrival.bytes === null)
          throw new ReconcileError('closed', 'expected more bytes, got the end of the stream');
        session.receive(arrival.bytes);
      }
      onProgress?.(session.progress);
    }
    return { ...session.result, progress: session.progress, rest: session.rest };
  } catch (error) {
    const broken = !(error instanceof ReconcileError) || error.code === 'closed';
    const token = broken ? session.token() : null;
    if (token !== null) onBroken?.(token);
    throw error;
  } finally {
    abort.forget();
    sending?.catch(() => undefined);
    coming?.catch(() => undefined);
    source.release();
    sink.release();
  }
}

interface Arrival {
  readonly bytes: Uint8Array | null;
}

/** Lets the platform deliver what has arrived, which microtasks alone would not. */
function turn(): Promise<null> {
  return new Promise((resolve) => {
    if (platform.setImmediate !== undefined) platform.setImmediate(() => resolve(null));
    else platform.setTimeout(() => resolve(null), 0);
  });
}

/** A promise that rejects when the signal is aborted. */
function abortion(signal: AbortSignalLike | undefined): { promise: Promise<never>; forget(): void } {
  let listener = () => {};
  const promise = new Promise<never>((_, reject) => {
    listener = () => reject(signal?.reason);
  });
  signal?.addEventListener('abort', listener);
  return { promise, forget: () => signal?.removeEventListener('abort', listener) };
}
