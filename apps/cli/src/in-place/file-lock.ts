/**
 * The lock of a filter file (@bloomery/files), in the words of the command: it says once on standard error that it waits,
 * and a lock that did not become free is a usage error that names `--wait`.
 */

import { describeHolder, type FileLock, FileLockedError, lockName, lockFile as take } from '@bloomery/files';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export interface LockOptions {
  /** How long to wait for a holder that is alive. */
  readonly waitMs: number;
  /** Ends the wait without the lock when it gives true. */
  readonly until?: () => boolean;
}

/** Takes the lock of a file (its real place, no link), waiting if need be; undefined if `until` ended the wait. */
export async function lockFile(
  place: string,
  options: LockOptions & { until: () => boolean },
): Promise<FileLock | undefined>;
export async function lockFile(place: string, options: LockOptions): Promise<FileLock>;
export async function lockFile(place: string, options: LockOptions): Promise<FileLock | undefined> {
  try {
    return await take(place, {
      ...options,
      waiting: (holder) => warn(`${place} is being changed by ${describeHolder(holder)}; waiting for it`),
    });
  } catch (error) {
    throw error instanceof FileLockedError ? busy(error) : error;
  }
}

function busy({ path, holder, waitMs }: FileLockedError): UsageError {
  const isSeen = holder.where === 'here' && holder.pid !== undefined;
  const hint = isSeen ? '' : `; if that one is gone, remove ${lockName(path)}`;
  return new UsageError(
    `${path} is being changed by ${describeHolder(holder)} and was not free within ${waitMs / 1000} s; ` +
      `nothing was changed, try again later or with a longer --wait${hint}`,
  );
}
