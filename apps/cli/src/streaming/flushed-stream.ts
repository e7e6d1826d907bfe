/**
 * Takes the parts of a stream as they come, and writes from time to time (flush-pacing.ts). The
 * stream may pause for hours, so the wait for its next part ends when a write is due, and when the
 * process is asked to end. At the end of the stream, and at an orderly signal, the rest is written.
 * After an error in the stream the rest is dropped: `flush` is not called again.
 */

import type { Clock } from '@bloomery/transport';
import { letSignalsIn } from '../terminal/orderly-end.ts';
import { untilAborted } from '../terminal/until-aborted.ts';
import type { FlushPacing } from './flush-pacing.ts';

export interface FlushedStream<T> {
  readonly parts: AsyncIterable<T>;
  /** Takes a part. Returns how many keys now wait to be written, and their bytes. */
  take(part: T): { readonly keys: number; readonly bytes: number };
  /** Writes all keys that wait. */
  flush(): Promise<void>;
  readonly pacing: FlushPacing;
  readonly clock: Clock;
  /** Ends the reading when it is aborted. */
  readonly stop: AbortSignal;
}

export async function runFlushed<T>({
  parts,
  take,
  flush,
  pacing,
  clock,
  stop,
}: FlushedStream<T>): Promise<void> {
  const write = async () => {
    const began = clock.monotonic();
    await flush();
    pacing.flushed(began, clock.monotonic());
  };
  const reader = parts[Symbol.asyncIterator]();
  let next = reader.next();
  try {
    for (;;) {
      const found = await first(next, pacing.dueInMs(clock.monotonic()), clock, stop);
      if (found === undefined || (found !== 'due' && found.done)) break;
      if (found !== 'due') {
        const { keys, bytes } = take(found.value);
        pacing.add(keys, bytes, clock.monotonic());
        next = reader.next();
        await letSignalsIn();
        if (pacing.dueInMs(clock.monotonic()) !== 0) continue;
      }
      await write();
    }
    await write();
  } finally {
    // A part that is still awaited may never come.
    next.catch(() => {});
    void Promise.resolve(reader.return?.()).catch(() => {});
  }
}

/** The next part, or `due` when the time is over, or undefined when the signal is aborted. */
async function first<T>(
  next: Promise<T>,
  waitMs: number | undefined,
  clock: Clock,
  stop: AbortSignal,
): Promise<T | 'due' | undefined> {
  if (waitMs === undefined) return untilAborted(next, stop);
  let cancel = () => {};
  const due = new Promise<'due'>((resolve) => {
    cancel = clock.after(waitMs, () => resolve('due'));
  });
  try {
    return await untilAborted(Promise.race([next, due]), stop);
  } finally {
    cancel();
  }
}
