/**
 * The keys of a source in batches, until a signal is aborted. It ends at once also while the source
 * waits for its store. Between batches the event loop gets a turn now and then, because a source
 * that has its keys in memory would never give it one.
 *
 * Each wait has a promise of its own. `Promise.race` with one promise for the whole source would
 * keep some 100 bytes for every key until the end.
 */

import type { Key } from 'bloomery';

const KEYS_PER_BATCH = 1024;
/** About 5 ms of hashing. */
const BATCHES_PER_TURN = 64;

export async function* keyBatches(
  source: AsyncIterable<Key> | Iterable<Key>,
  signal: AbortSignal,
): AsyncGenerator<Key[]> {
  // The caller's turn ends first: it may be an add in the middle of a request.
  await turn();
  signal.throwIfAborted();
  const batches =
    Symbol.asyncIterator in source ? asyncBatches(source, signal) : plainBatches(source as Iterable<Key>);
  let count = 0;
  for await (const batch of batches) {
    yield batch;
    if (++count % BATCHES_PER_TURN === 0) await turn();
    signal.throwIfAborted();
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function* plainBatches(source: Iterable<Key>): Generator<Key[]> {
  let batch: Key[] = [];
  for (const key of source) {
    if (batch.push(key) < KEYS_PER_BATCH) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

async function* asyncBatches(source: AsyncIterable<Key>, signal: AbortSignal): AsyncGenerator<Key[]> {
  let giveUp: (reason: unknown) => void = () => {};
  const abort = () => giveUp(signal.reason);
  signal.addEventListener('abort', abort);
  const keys = source[Symbol.asyncIterator]();
  const next = () =>
    new Promise<IteratorResult<Key>>((resolve, reject) => {
      giveUp = reject;
      keys.next().then(resolve, reject);
    });
  let batch: Key[] = [];
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await next();
      if (done) break;
      if (batch.push(value) < KEYS_PER_BATCH) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  } finally {
    signal.removeEventListener('abort', abort);
    // A source that waits does not end before its wait does, so its end is not awaited.
    void Promise.resolve(keys.return?.()).catch(() => {});
  }
}
