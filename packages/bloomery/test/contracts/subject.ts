/**
 * What the contracts ask of a structure under test. A structure's own test file describes it once as a
 * `Subject` and runs the contracts that fit: membership, mergeable, codec, rate.
 */

import { afterAll, beforeAll, describe } from 'vitest';
import type {
  DecodeOptions,
  HashScheme,
  Key,
  KeyHash,
  KeyHashes,
  PackedKeys,
  SecretKey,
} from '../../src/index.ts';
import { useKernel } from '../../src/index.ts';

export interface CreateOptions {
  readonly capacity: number;
  readonly falsePositiveRate: number;
  readonly seed?: number | bigint;
  readonly key?: SecretKey;
  readonly shared?: boolean;
  readonly overfull?: 'allow' | 'warn' | 'throw';
}

export interface Membership {
  readonly scheme: HashScheme;
  add(key: Key): boolean;
  has(key: Key): boolean;
  addMany(keys: Iterable<Key> | PackedKeys): number;
  hasMany(keys: Iterable<Key> | PackedKeys): Uint8Array;
  addLines(bytes: Uint8Array): number;
  hasLines(bytes: Uint8Array): Uint8Array;
  addHash(hash: KeyHash): boolean;
  hasHash(hash: KeyHash): boolean;
  addHashes(hashes: KeyHashes): number;
  hasHashes(hashes: KeyHashes): Uint8Array;
  clear(): void;
  encode(): Uint8Array;
  estimatedSize(): number;
  estimatedFalsePositiveRate(): number;
}

export interface Mergeable<F> {
  copy(): F;
  merge(other: F): F;
  union(other: F): F;
  intersection(other: F): F;
  isSubsetOf(other: F): boolean;
  equals(other: F): boolean;
  sharedOnesCount(other: F): number;
  onesCount(): number;
}

export interface Subject<F extends Membership> {
  readonly name: string;
  readonly create: (options: CreateOptions) => F;
  readonly decode: (bytes: Uint8Array, options?: DecodeOptions) => F;
  /** Whether the layout takes a seed and a key. */
  readonly seedable: boolean;
  /** The rate of this very filter, from its bits; by default `estimatedFalsePositiveRate`. */
  readonly ownRate?: (filter: F) => number;
  /** The rate that theory gives a filter like this one with n keys in it. */
  readonly theory: (filter: F, n: number) => number;
}

/** Runs a suite once in each kernel. */
export function inBothKernels(title: string, suite: (kernel: 'wasm' | 'javascript') => void): void {
  describe.each(['wasm', 'javascript'] as const)(`${title} in %s`, (kernel) => {
    beforeAll(() => useKernel(kernel));
    afterAll(() => useKernel('auto'));
    suite(kernel);
  });
}
