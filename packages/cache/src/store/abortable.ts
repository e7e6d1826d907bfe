/**
 * Signals for work that takes a while. A function that takes one looks at it before it begins and
 * between its steps, and rejects with its reason. Work that must not stop half-way (a removal that
 * has begun, a step of the store) looks at it only before it begins.
 */

export interface AbortOptions {
  /** Gives up: the promise rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits for a promise, or until the signal is aborted. The work behind the promise goes on, so this
 * is for waits that change nothing.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let aborted: () => void = () => {};
  const abortion = new Promise<never>((_resolve, reject) => {
    aborted = () => reject(signal.reason);
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  });
  try {
    return await Promise.race([abortion, work]);
  } finally {
    signal.removeEventListener('abort', aborted);
  }
}
