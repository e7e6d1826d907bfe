/** A wait that the caller can end: node's own wait rejects with an `AbortError` of its own. */

import { setTimeout as sleep } from 'node:timers/promises';

/** Waits. Rejects with the reason of the signal when it is aborted. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
