/**
 * Signals for the functions of the library that wait: for chunks of a stream, or for the platform
 * to compress bytes. They look at the signal before they begin and between chunks, and reject with
 * its reason.
 */

/** The part of the platform's `AbortSignal` that the library uses. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface AbortOptions {
  /** Gives up: the promise rejects with its reason. */
  readonly signal?: AbortSignalLike | undefined;
}

/** Throws the reason of the signal if it is aborted. */
export function throwIfAborted(signal: AbortSignalLike | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

/**
 * Yields the items until the signal is aborted, even if the next item never comes. The source is
 * told that no more is wanted, but not waited for then: one that hangs would hang its reader.
 */
export async function* untilAborted<T>(
  items: Iterable<T> | AsyncIterable<T>,
  signal: AbortSignalLike,
): AsyncGenerator<T> {
  throwIfAborted(signal);
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  let giveUp: (reason: unknown) => void = () => {};
  const aborted = () => giveUp(signal.reason);
  signal.addEventListener('abort', aborted);
  let ended = false;
  try {
    for (;;) {
      const next = new Promise<IteratorResult<T>>((resolve, reject) => {
        giveUp = reject;
        Promise.resolve(iterator.next()).then(resolve, reject);
      });
      const { done, value } = await next.catch((error: unknown) => {
        ended = !signal.aborted;
        throw error;
      });
      ended = done === true;
      if (ended) return;
      yield value;
      throwIfAborted(signal);
    }
  } finally {
    signal.removeEventListener('abort', aborted);
    const closing = ended ? undefined : Promise.resolve(iterator.return?.());
    if (signal.aborted) closing?.catch(() => undefined);
    else await closing;
  }
}
