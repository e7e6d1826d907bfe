/**
 * A wait that a signal ends. The promise for the abortion is made for each wait: a promise that
 * lives as long as the process keeps the result of each `Promise.race` that it took part in.
 * `digestd` kept 97 % of all bytes of its pipe in memory by one such promise.
 */

/** Waits for a promise. Returns undefined if the signal is aborted earlier. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let end = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
