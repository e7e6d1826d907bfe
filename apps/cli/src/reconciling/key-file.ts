/**
 * The keys of a file, packed end to end, because a session hashes them again for each salt. Memory
 * is about that of the unpacked file, twice while it is read.
 */

import { type KeyBatch, type PackedKeys, packKeys } from 'bloomery';
import { eachKey } from '../keys/each-key.ts';
import { bytesOf, inputsOf } from '../keys/input.ts';
import { type KeyOptions, readKeys } from '../keys/key-source.ts';
import { letSignalsIn } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';

export async function readKeyFile(
  path: string,
  options: KeyOptions & { readonly json?: boolean | undefined },
  signal: AbortSignal,
): Promise<PackedKeys> {
  const progress = startProgress({
    what: `reading ${path}`,
    total: bytesOf(inputsOf([path])),
    enabled: !options.json,
  });
  const batches: KeyBatch[] = [];
  try {
    for await (const { keys } of readKeys([path], options, (bytes) => progress.advance(bytes))) {
      batches.push(keys);
      await letSignalsIn();
      signal.throwIfAborted();
    }
  } finally {
    progress.stop();
  }
  return packKeys(keysOf(batches));
}

function* keysOf(batches: readonly KeyBatch[]): Generator<Uint8Array> {
  for (const batch of batches) yield* eachKey(batch);
}
