/**
 * Several Bloom filters in the payload of one frame: how structures that consist of filters are
 * written and read. frames/nested-kinds.ts describes the bytes. The inner frames repeat parameters
 * of the outer frame, and both must agree. Filters of another hash scheme are refused here; each
 * structure refuses the other contradictions.
 */

import { decoding, FrameError } from '../../frames/envelope.ts';
import { joinFrames, NOTE_BYTES, splitFrames } from '../../frames/nested-kinds.ts';
import type { HashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { BloomFilter } from '../bloom-filter.ts';

export interface NestedFilter {
  readonly filter: BloomFilter;
  /** An integer from 0 to 2^48 - 1. */
  readonly note: number;
}

export function joinFilters(filters: readonly NestedFilter[]): Uint8Array<ArrayBuffer> {
  return joinFrames(filters.map(({ filter, note }) => ({ frame: filter.encode(), note })));
}

export interface NestedContent {
  readonly payload: Uint8Array;
  /** Offset of the payload in the outer frame. Errors carry offsets in that frame. */
  readonly start: number;
  readonly count: number;
  /** The hash scheme of the outer frame, and the key that opened it. */
  readonly scheme: HashScheme;
  readonly key: SecretKey | undefined;
}

/**
 * Reads `count` filters, which must fill the payload. `at` is the offset of each filter's note in
 * the outer frame.
 */
export function splitFilters(content: NestedContent): (NestedFilter & { readonly at: number })[] {
  const { payload, start: base, count, scheme, key } = content;
  return splitFrames(payload, base, count).map(({ start, end, note }, i) => {
    const at = base + start;
    const what = `filter ${i + 1} of ${count}`;
    const options = key === undefined ? {} : { key };
    const filter = decoding(
      'frame',
      () => BloomFilter.decode(payload.subarray(start, end), options),
      `${what}: `,
      at,
    );
    if (filter.scheme.id !== scheme.id) {
      throw new FrameError('payload', at, `expected ${what} by ${scheme.id}, got ${filter.scheme.id}`);
    }
    return { filter, note, at: at - NOTE_BYTES };
  });
}

/** Throws if a nested filter contradicts the rest of the frame. */
export function checkNested(sound: boolean, at: number, message: string): void {
  if (!sound) throw new FrameError('payload', at, message);
}
