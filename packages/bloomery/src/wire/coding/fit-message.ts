/**
 * A filter in a message of limited size: a packet, a header, a budget that was planned for.
 *
 * The size of a coded filter varies a little from set to set (by some bytes in ten thousand; `fitProbability` of
 * bloomery/math gives the chance that it fits). When it does not fit, the filter is halved until it does: fewer
 * bits, the same keys, a higher rate (make it with `halvings` so that it can be). When it cannot be halved any
 * further, or not that far, what is sent is a filter of a single one, which answers "maybe" to everything: useless, and
 * never wrong.
 */

import { BloomFilter } from '../../filters/bloom-filter.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { checkInteger } from '../../math/checks.ts';
import { type CompressOptions, compressFrame } from './compressed-frame.ts';

export interface FittedMessage {
  /** A coded frame of at most `maxBytes`. */
  readonly message: Uint8Array;
  /** The filter that is in it. */
  readonly filter: BloomFilter;
  /** How often it was halved; 0 as planned. */
  readonly halvings: number;
  /** True if nothing fitted and the message says "maybe" to everything. */
  readonly saturated: boolean;
}

export function fitMessage(
  filter: BloomFilter,
  { maxBytes, ...options }: CompressOptions & { readonly maxBytes: number },
): FittedMessage {
  if (!(filter instanceof BloomFilter)) throw new TypeError('filter must be a BloomFilter');
  checkInteger('maxBytes', maxBytes, LEAST_BYTES);
  let smaller = filter;
  for (let halvings = 0; ; halvings++) {
    const message = compressFrame(smaller.encode(), options);
    if (message.length <= maxBytes) return { message, filter: smaller, halvings, saturated: false };
    const range = smaller.layout === 'partitioned' ? smaller.bits / smaller.hashes : smaller.bits;
    if (range % 2 !== 0) break;
    smaller = smaller.halve();
  }
  const { capacity } = filter;
  const full = new BloomFilter(
    { bits: 1, hashes: 1, capacity },
    new BitStore(Uint32Array.of(1)),
    filter.scheme,
  );
  return { message: compressFrame(full.encode(), options), filter: full, halvings: 0, saturated: true };
}

/** The header, the parameters and the checksum of a coded Bloom filter, and the byte that says "full". */
const LEAST_BYTES = 33;
