/**
 * Adding keys that arrive over time: from an async iterable, or from a web stream.
 *
 * `addMany` is synchronous, and stays so: a function that returns a number for some arguments and a
 * promise for others is easy to call without `await`. Here keys are collected into batches of 1024,
 * the size of a chunk of the kernel, and each batch goes through `addMany`. So a filter that
 * refuses a key (`overfull: 'throw'`) rejects the promise, and the keys before it are in. A source
 * that waits holds up to 1023 keys that are not in the filter yet; `flush` says after how many they
 * go in. Web streams without an async iterator (Safari) are read through their reader.
 */

import type { KeyBatch } from '../kernel/batches/batch.ts';
import { CHUNK_KEYS } from '../kernel/wasm/chunk.ts';
import { type AbortOptions, untilAborted } from '../keys/abort.ts';
import { checkOptions } from '../keys/check-options.ts';
import type { Key } from '../keys/key.ts';
import { checkInteger } from '../math/checks.ts';

/** A web stream: the part of `ReadableStream` that is used. */
export interface KeyStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Key | undefined }>;
    cancel(reason?: unknown): Promise<unknown>;
    releaseLock(): void;
  };
}

export interface AddFromOptions extends AbortOptions {
  /** How many keys are collected before they are added, from 1 to 1024. Default 1024. */
  readonly flush?: number;
}

/**
 * Adds all keys of a source to a filter, as they come. Resolves to the number of keys that were
 * certainly absent before. A failure of the source rejects; the keys before it are in.
 */
export async function addFrom(
  filter: { addMany(keys: KeyBatch): number },
  source: AsyncIterable<Key> | Iterable<Key> | KeyStream,
  options: AddFromOptions = {},
): Promise<number> {
  checkOptions('addFrom', options, ['flush', 'signal']);
  const flush = checkInteger('flush', options.flush ?? CHUNK_KEYS, 1, CHUNK_KEYS);
  const keys = keysOf(source);
  let [fresh, batch] = [0, [] as Key[]];
  try {
    for await (const key of options.signal ? untilAborted(keys, options.signal) : keys) {
      // A source may read its next key into the same buffer.
      if (batch.push(key instanceof Uint8Array ? key.slice() : key) < flush) continue;
      const full = batch;
      batch = [];
      fresh += filter.addMany(full);
    }
  } finally {
    fresh += filter.addMany(batch);
  }
  return fresh;
}

function keysOf(source: AsyncIterable<Key> | Iterable<Key> | KeyStream): AsyncIterable<Key> | Iterable<Key> {
  if (typeof source === 'object' && source !== null && !(source instanceof Uint8Array)) {
    if (Symbol.asyncIterator in source || Symbol.iterator in source) return source;
    if ('getReader' in source) return readAll(source);
  }
  const got = source instanceof Uint8Array ? 'a Uint8Array' : typeof source;
  throw new TypeError(`Cannot add keys: expected an iterable, async or not, or a web stream, got ${got}`);
}

async function* readAll(stream: KeyStream): AsyncGenerator<Key> {
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      ended = done;
      if (done) return;
      yield value as Key;
    }
  } finally {
    if (!ended) await reader.cancel();
    reader.releaseLock();
  }
}
