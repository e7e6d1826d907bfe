/**
 * Filter files that a crash may have interrupted and that others may be changing: locked, recovered and read by
 * @bloomery/files, with the warnings and errors of the command.
 */

import {
  type FileLock,
  type LockHolder,
  lockFile as lock,
  placeOf,
  readSettled as read,
  recoverFile as recover,
  settle,
} from '@bloomery/files';
import { inWords, warnOfJournal, warnOfWaiting } from './file-words.ts';

/** Takes the lock of a file (its real place, no link), and waits for it if need be. */
export async function lockFile(place: string, { waitMs }: { readonly waitMs: number }): Promise<FileLock> {
  const taken = await worded(() =>
    lock(place, { waitMs, waiting: (holder) => warnOfWaiting(place, holder) }),
  );
  return taken!;
}

/** Finishes or forgets a change that a crash interrupted. */
export function recoverFile(path: string, { waitMs }: { readonly waitMs?: number } = {}): Promise<void> {
  return worded(() => recover(path, { waitMs, ...warnings(path) }));
}

/** The same for a file whose lock the caller holds. */
export function settleFile(place: string): void {
  settle(place, warnOfJournal);
}

/** All bytes of a file, never a mixture of what was there before a change in place and after it. */
export function readSettled(path: string): Promise<Uint8Array<ArrayBuffer>> {
  return worded(() => read(path, warnings(path)));
}

function warnings(path: string) {
  const waiting = (holder: LockHolder) => warnOfWaiting(placeOf(path) ?? path, holder);
  return { report: warnOfJournal, waiting };
}

async function worded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw inWords(error);
  }
}
