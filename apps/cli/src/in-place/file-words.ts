/** The warnings and errors of @bloomery/files, in the words of the command. */

import { statSync } from 'node:fs';
import {
  describeHolder,
  FileError,
  FileLockedError,
  type JournalOutcome,
  journalName,
  type LockHolder,
  lockName,
} from '@bloomery/files';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

/** Warns that the command waits for another process that is changing the file. */
export function warnOfWaiting(place: string, holder: LockHolder): void {
  warn(`${place} is being changed by ${describeHolder(holder)}; waiting for it`);
}

/** Warns about a journal that was found, and says what was done with it. */
export function warnOfJournal(outcome: JournalOutcome, place: string): void {
  warn(JOURNAL_WORDS[outcome](place));
}

const JOURNAL_WORDS: Record<JournalOutcome, (place: string) => string> = {
  finished: (place) => `${place}: finished a change that had been interrupted`,
  'not begun': (place) =>
    `${place}: removed the journal of a change that was not begun; the file is as it was`,
  'of another file': (place) =>
    `${place}: removed the journal of a change that belonged to another file; the file is as it was`,
  'not ours': (place) => `${journalName(place)} belongs to another user and was left alone`,
};

/** Returns the error to show to the user. Errors without a text here are returned unchanged. */
export function inWords(error: unknown): unknown {
  if (error instanceof FileLockedError) return busy(error);
  if (!(error instanceof FileError)) return error;
  const { code, path } = error;
  const reason = error.cause instanceof Error ? error.cause.message : '';
  const words: Partial<Record<typeof code, () => string>> = {
    unfinished: () =>
      `${path}: the change is written down beside it but could not be carried out (${reason}); it will be at the next use`,
    interrupted: () =>
      `${path} has a change that was interrupted (${journalName(path)}), and you may not write there; ` +
      'a user who may finishes it by opening the filter once: bloomery info',
    replaced: () => `${path} was replaced by another process in the meantime; nothing was changed`,
    changing: () => `${path} changes faster than it can be read; try again when its writers have finished`,
    size: () => `${path} has ${statSync(path).size} bytes, more than this machine can hold at once`,
  };
  return new UsageError(words[code]?.() ?? error.message, { cause: error });
}

function busy({ path, holder, waitMs }: FileLockedError): UsageError {
  const isSeen = holder.where === 'here' && holder.pid !== undefined;
  const hint = isSeen ? '' : `; if that one is gone, remove ${lockName(path)}`;
  return new UsageError(
    `${path} is being changed by ${describeHolder(holder)} and was not free within ${waitMs / 1000} s; ` +
      `nothing was changed, try again later or with a longer --wait${hint}`,
  );
}
