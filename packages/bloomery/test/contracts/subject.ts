/**
 * The demands of the contracts on a structure under test. A structure's own test file describes it
 * once as a `Subject` and runs the contracts that fit: membership, mergeable, codec, rate.
 */

import { afterAll, beforeAll, describe } from 'vitest';
import type {
  DecodeOptions,
  Estimate,
  EstimateOptions,
  HashScheme,
  Key,
  KeyBatch,
  KeyHash,
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
  addMany(keys: KeyBatch): number;
  hasMany(keys: KeyBatch): Uint8Array;
  addHash(hash: KeyHash): boolean;
  hasHash(hash: KeyHash): boolean;
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
  /**
   * False where there is no fixed size that could be overfull: no `overfull` option, never
   * saturated.
   */
  readonly fixedSize?: boolean;
  /** True where adding a key twice is not the same as adding it once. */
  readonly multiset?: boolean;
  /** The size with an interval; by default `sizeEstimate`. */
  readonly sizeEstimate?: (filter: F, options: EstimateOptions) => Estimate;
  /** The rate of this very filter, from its bits; by default `estimatedFalsePositiveRate`. */
  readonly ownRate?: (filter: F) => number;
  /** The rate that theory gives a filter like this one with n keys in it. */
  readonly theory: (filter: F, n: number) => number;
}

/**
 * The demands of the codec contract on a structure, which need not be a filter that keys can be
 * added to.
 */
export interface CodecSubject<S extends { encode(): Uint8Array; readonly scheme: HashScheme }> {
  readonly name: string;
  readonly seedable: boolean;
  /** A structure of these keys (at least one), sized for exactly as many at the rate. */
  readonly build: (keys: readonly string[], options: Omit<CreateOptions, 'capacity'>) => S;
  readonly decode: (bytes: Uint8Array, options?: DecodeOptions) => S;
  /** Answers for the keys: 0, false or undefined for "no". */
  readonly answers: (structure: S, keys: readonly string[]) => readonly unknown[];
}

export function codecSubject<F extends Membership>(subject: Subject<F>): CodecSubject<F> {
  const { name, seedable, create, decode } = subject;
  return {
    name,
    seedable,
    decode,
    build: (keys, options) => {
      const filter = create({ ...options, capacity: keys.length });
      filter.addMany(keys);
      return filter;
    },
    answers: (filter, keys) => [...filter.hasMany(keys)],
  };
}

/** Runs a suite once in each kernel. */
export function inBothKernels(title: string, suite: (kernel: 'wasm' | 'javascript') => void): void {
  describe.each(['wasm', 'javascript'] as const)(`${title} in %s`, (kernel) => {
    beforeAll(() => useKernel(kernel));
    afterAll(() => useKernel('auto'));
    suite(kernel);
  });
}
