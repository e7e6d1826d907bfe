/**
 * Locks, recovers and reads filter files, with the warnings and errors of the command. A crash may
 * have interrupted a change of such a file, and another process may be changing it. The work is
 * done by @bloomery/files.
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
import { holdSignals, undoAtSignal } from '../terminal/orderly-end.ts';
import { inWords, warnOfJournal, warnOfWaiting } from './file-words.ts';

/**
 * Takes the lock of a file (by its real path, with links resolved), and waits for it if necessary.
 * A signal ends the wait, and releases the lock before it ends the process. Taking a lock makes
 * several files one after the other, so a signal meanwhile is held back until all are made or none.
 */
export async function lockFile(place: string, { waitMs }: { readonly waitMs: number }): Promise<FileLock> {
  const signals = holdSignals();
  const waiting = (holder: LockHolder) => warnOfWaiting(place, holder);
  try {
    const taken = (await worded(() => lock(place, { waitMs, waiting, signal: signals.stop })))!;
    const cancel = undoAtSignal(() => taken.release());
    return {
      release() {
        taken.release();
        cancel();
      },
    };
  } finally {
    signals.close();
  }
}

/** Finishes or discards a change that a crash interrupted. */
export function recoverFile(path: string, { waitMs }: { readonly waitMs?: number } = {}): Promise<void> {
  return worded(() => recover(path, { waitMs, ...warnings(path) }));
}

/** The same for a file whose lock the caller holds. */
export function settleFile(place: string): void {
  settle(place, warnOfJournal);
}

/** Reads all bytes of a file, never a mixture of the states before and after a change in place. */
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
