/**
 * Changes a filter file by the keys of a stream that may never end, such as `tail -f`. Keys are
 * gathered and written in batches. Each batch is a change of its own: it takes the lock, is written
 * completely or not at all, and lets other writers in before the next.
 *
 * At SIGINT, SIGTERM or SIGHUP the keys that were read are written, and the process ends by the
 * signal. After an error in the stream the batch that was being gathered is dropped, and the error
 * says how many keys were written before.
 */

import { systemClock } from '@bloomery/transport';
import type { Update } from '../in-place/update-file.ts';
import type { KeyChunk } from '../keys/key-source.ts';
import { formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { UsageError } from '../usage-error.ts';
import { type FlushLimits, FlushPacing } from './flush-pacing.ts';
import { runFlushed } from './flushed-stream.ts';

/** Changes a file by all keys of a stream. `change` changes it by one batch. */
export async function updateByStream(
  chunks: AsyncIterable<KeyChunk>,
  limits: FlushLimits,
  change: (batch: readonly KeyChunk[]) => Promise<Update>,
  report: (update: Update) => void,
): Promise<void> {
  let waiting: KeyChunk[] = [];
  let total = await change([]); // a file that cannot be changed is refused before keys are read
  const signals = holdSignals();
  const pacing = new FlushPacing(limits);
  try {
    await runFlushed({
      parts: chunks,
      take(chunk) {
        waiting.push(chunk);
        return { keys: chunk.count, bytes: chunk.records.length };
      },
      async flush() {
        if (waiting.length === 0) return;
        const batch = waiting;
        waiting = [];
        total = together(total, await change(batch));
      },
      pacing,
      clock: systemClock,
      stop: signals.stop,
    });
    report(total);
  } catch (error) {
    if (total.keys > 0 && error instanceof UsageError) {
      const before = `${formatCount(total.keys)} keys before it were written`;
      throw new UsageError(`${error.message}; ${before}`, { cause: error });
    }
    throw error;
  } finally {
    process.stdin.destroy(); // it would keep the process alive after an error
    signals.close();
  }
}

/** The report of two changes of the same file, one after the other. */
function together(before: Update, after: Update): Update {
  const effective =
    before.effective === undefined || after.effective === undefined
      ? undefined
      : before.effective + after.effective;
  return {
    ...after,
    keys: before.keys + after.keys,
    effective,
    written: after.written === 'nothing' ? before.written : after.written,
    pagesRead: before.pagesRead + after.pagesRead,
    pagesWritten: before.pagesWritten + after.pagesWritten,
    bytesRead: before.bytesRead + after.bytesRead,
    bytesWritten: before.bytesWritten + after.bytesWritten,
  };
}
