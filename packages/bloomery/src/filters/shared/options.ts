/**
 * Options that several structures share. No value is clamped, and a misspelt option is an error.
 */

import type { HashOptions } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';

/** The reaction to adding keys to a filter that holds more of them than it was made for. */
export type OverfullPolicy = 'allow' | 'warn' | 'throw';

/** Options that all filters share. */
export interface FilterOptions extends HashOptions {
  /** Puts the bits into a SharedArrayBuffer, for use by several threads; see `share`. */
  readonly shared?: boolean;
  /**
   * The shared buffer of another filter with the same parameters. Both then work on the same bits.
   */
  readonly buffer?: SharedArrayBuffer;
  /** 'allow' (default), 'warn' (once, on the console) or 'throw' (an `OverfullError`). */
  readonly overfull?: OverfullPolicy;
}

/** Options of every `decode`. */
export interface DecodeOptions {
  /** The secret key of a keyed filter. */
  readonly key?: SecretKey;
  readonly shared?: boolean;
  readonly overfull?: OverfullPolicy;
}

export const FILTER_OPTIONS = ['seed', 'key', 'hash', 'shared', 'buffer', 'overfull'] as const;
