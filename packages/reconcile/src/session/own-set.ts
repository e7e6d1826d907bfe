/**
 * One side's set as a session sees it: keys to hash, and perhaps symbols that were kept from before
 * (`KeySet`). It does not change while the session runs.
 */

import type { HashScheme } from 'bloomery';
import type { HashedKeys } from '../sets/hashed-keys.ts';
import type { KeySource } from '../sets/key-source.ts';
import type { SymbolBlocks } from '../symbols/symbol-source.ts';

export interface OwnSet {
  readonly source: KeySource;
  readonly kept: KeptSymbols | null;
}

/** Bytes of an id in kept symbols: enough for 4000 differences of a million keys. */
export const KEPT_ID_BYTES = 5;

export interface KeptSymbols {
  /** The standing key, whose check value names it to the other side. */
  readonly scheme: HashScheme;
  readonly hashed: HashedKeys;
  readonly sum: bigint;
  readonly counters: Uint8Array;
  /** The symbols with ids of 5 bytes, from symbol 0 on. */
  blocks(): SymbolBlocks;
  /** The keys with these ids, as `findIds` gives them. Null if bits are too few. */
  find(ids: Int32Array, bits: number): Int32Array | null;
}
