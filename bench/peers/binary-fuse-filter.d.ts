/** The parts of binary-fuse-filter 1.0.0 that are used here, for a machine without it. */

export interface BinaryFuse8 {
  readonly Fingerprints: ArrayLike<number>;
  contains(key: bigint): boolean;
}

export function populateBinaryFuse8(keys: bigint[]): [BinaryFuse8, Error | null];
