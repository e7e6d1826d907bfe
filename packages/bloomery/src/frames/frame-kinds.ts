/**
 * The frames whose payload is an array of bits or counters. They are separate from the classes that
 * write them, because `bloomery/wire` codes and compares such frames and should not carry the
 * filters.
 */

import { BLOCK_BITS, SPLIT_BLOCK_BITS } from '../kernel/bits/blocked.ts';
import { MAX_BITS } from '../math/checks.ts';
import { checkParameters, type FrameKind } from './frame.ts';

/**
 * Parameters: bits, hashes, capacity (0 if there is none). The variant is the layout: classic,
 * partitioned.
 */
export const BLOOM_FRAME: FrameKind = {
  code: 1,
  name: 'BloomFilter',
  widths: [5, 1, 6],
  payloadBits: (variant, [bits, hashes]) => {
    const sound =
      variant < 2 && bits > 0 && bits <= MAX_BITS && hashes > 0 && (variant === 0 || bits % hashes === 0);
    checkParameters(sound, `layout ${variant}, ${bits} bits and ${hashes} hashes`);
    return bits;
  },
};

/**
 * Parameters: blocks, hashes, capacity (0 if there is none). The variant is the layout: blocked,
 * split-block.
 */
export const BLOCKED_FRAME: FrameKind = {
  code: 2,
  name: 'BlockedBloomFilter',
  widths: [4, 1, 6],
  payloadBits: (variant, [blocks, hashes]) => {
    const bits = blocks * (variant === 0 ? BLOCK_BITS : SPLIT_BLOCK_BITS);
    const soundHashes = variant === 0 ? hashes > 0 && hashes <= MAX_BLOCK_HASHES : hashes === 8;
    const sound = variant < 2 && bits > 0 && bits <= MAX_BITS && soundHashes;
    checkParameters(sound, `layout ${variant}, ${blocks} blocks and ${hashes} hashes`);
    return bits;
  },
};

/**
 * Parameters: counters, hashes, bits of a counter, capacity (0 if there is none). The variant is
 * the layout.
 */
export const COUNTING_FRAME: FrameKind = {
  code: 3,
  name: 'CountingBloomFilter',
  widths: [5, 1, 1, 6],
  payloadBits: (variant, [counters, hashes, counterBits]) => {
    const sound =
      variant < 2 &&
      [2, 4, 8, 16].includes(counterBits) &&
      counters > 0 &&
      counters * counterBits <= MAX_BITS &&
      hashes > 0 &&
      (variant === 0 || counters % hashes === 0);
    checkParameters(
      sound,
      `layout ${variant}, ${counters} counters of ${counterBits} bits and ${hashes} hashes`,
    );
    return counters * counterBits;
  },
};

/** Upper limit of the hashes in a block of 512 bits. */
export const MAX_BLOCK_HASHES = 24;
