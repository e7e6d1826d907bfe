/** What the operator of a store chooses. Everything but the folder and its size has a default. */

export interface DiskStoreOptions {
  /** Made if it is not there. */
  readonly folder: string;
  /** All bytes in the folder, whatever they are. */
  readonly capacityBytes: number;
  /** A body above it is let through, not kept. Default: a quarter of the capacity. */
  readonly maxObjectBytes?: number;
  /** Bodies up to this are kept with their heads. Default 64 KiB, at most a 64th of the capacity. */
  readonly inlineBytes?: number;
  /** Of memory, for heads read lately. Default 8 MiB. */
  readonly headCacheBytes?: number;
  /** Body files that are open at the same time, for reading or writing. Default 512. */
  readonly openBodies?: number;
  /** The oldest goes when there is one more. Default 16. */
  readonly variantsPerKey?: number;
  /** Removals are on the platter before they resolve, not only out of reach of a crash of the process. Default false. */
  readonly syncRemovals?: boolean;
}

/** Throws if something is not what it should be. */
export function checkDiskStoreOptions({ folder, capacityBytes, ...others }: DiskStoreOptions): void {
  if (typeof folder !== 'string' || folder === '')
    throw new TypeError(`Expected the path of a folder, got ${folder}`);
  if (!(Number.isSafeInteger(capacityBytes) && capacityBytes > 0)) {
    throw new RangeError(`capacityBytes must be a whole number above 0, got ${capacityBytes}`);
  }
  for (const [name, value] of Object.entries(others)) {
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0)) {
      throw new RangeError(`${name} must be a whole number, got ${value}`);
    }
  }
}
