/** The operator's choices for a store. All except the folder and its size have a default. */

import type { AbortOptions } from '../abortable.ts';

/** `signal` ends the opening, not a store that is open. */
export interface DiskStoreOptions extends AbortOptions {
  /** The folder; created if it does not exist. */
  readonly folder: string;
  /** Limit for all bytes in the folder, of any kind. */
  readonly capacityBytes: number;
  /** A longer body passes through and is not kept. Default: a quarter of the capacity. */
  readonly maxObjectBytes?: number;
  /**
   * Bodies up to this length are stored with their heads. Default 64 KiB, at most a 64th of the
   * capacity.
   */
  readonly inlineBytes?: number;
  /** Memory for recently read heads. Default 8 MiB. */
  readonly headCacheBytes?: number;
  /** Maximum number of open body files, for reading or writing. Default 512. */
  readonly openBodies?: number;
  /** The oldest variant is removed when there is one more. Default 16. */
  readonly variantsPerKey?: number;
  /**
   * Removals are synced to the disk before they resolve, so that they survive a power failure and
   * not only a crash of the process. Default false.
   */
  readonly syncRemovals?: boolean;
  /**
   * Called when the volume turns out to have no room for `capacityBytes`, with the bytes that the
   * store uses at most from now on.
   */
  readonly onSmaller?: (bytes: number) => void;
  /** A monotonic clock in milliseconds, by which the volume is measured again. */
  readonly monotonic?: () => number;
}

/** Throws if an option is invalid. */
export function checkDiskStoreOptions({ folder, capacityBytes, ...others }: DiskStoreOptions): void {
  if (typeof folder !== 'string' || folder === '')
    throw new TypeError(`Cannot open a store: expected the path of a folder, got ${folder}`);
  if (!(Number.isSafeInteger(capacityBytes) && capacityBytes > 0)) {
    throw new RangeError(
      `Cannot open a store: expected capacityBytes to be a whole number above 0, got ${capacityBytes}`,
    );
  }
  for (const [name, value] of Object.entries(others)) {
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0)) {
      throw new RangeError(
        `Cannot open a store: expected ${name} to be a whole number from 0 on, got ${value}`,
      );
    }
  }
}
