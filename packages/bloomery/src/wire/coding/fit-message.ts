/**
 * Fits a filter into a message of limited size: a packet, a header, a planned budget.
 *
 * The size of a coded filter varies a little from set to set (by some bytes in ten thousand;
 * `fitProbability` of bloomery/math gives the probability that it fits). If it does not fit, the
 * filter is halved until it does: fewer bits, the same keys, a higher rate (make it with `halvings`
 * so that this is possible). If it cannot be halved far enough, the message is a filter of a single
 * bit that is 1, which answers "maybe" to everything. That is useless, but never wrong.
 */

import { BloomFilter } from '../../filters/bloom-filter.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { typeName } from '../../keys/key.ts';
import { checkInteger } from '../../math/checks.ts';
import { type CompressOptions, compressFrame } from './compressed-frame.ts';

export interface FittedMessage {
  /** A coded frame of at most `maxBytes`. */
  readonly message: Uint8Array;
  /** The filter that the message contains. */
  readonly filter: BloomFilter;
  /** How often the filter was halved; 0 if the message went as planned. */
  readonly halvings: number;
  /** True if no halving fitted and the message answers "maybe" to everything. */
  readonly saturated: boolean;
}

export function fitMessage(
  filter: BloomFilter,
  { maxBytes, ...options }: CompressOptions & { readonly maxBytes: number },
): FittedMessage {
  if (!(filter instanceof BloomFilter)) {
    throw new TypeError(`Cannot use filter: expected a BloomFilter, got ${typeName(filter)}`);
  }
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

/**
 * The number of bytes of the header, the parameters and the checksum of a coded Bloom filter, and
 * of the byte that says "full".
 */
const LEAST_BYTES = 33;
