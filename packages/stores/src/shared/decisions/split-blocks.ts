/**
 * The bits of a key in a filter on the server: Parquet's split blocks of 256 bits, one bit in each
 * of eight words. One key needs one block, so the function on the server reads and writes 32 bytes
 * per key instead of setting seven bits by seven commands.
 *
 * The bit numbers are computed here, because Lua has no 32-bit product; the block is computed
 * there, because it depends on the size of the stage. A probe has 12 bytes: the upper half of the
 * hash, little-endian, and the eight bit numbers.
 */

import { sizeBlocked } from 'bloomery/math';
import { type StageSize, stageSize } from './stage-plan.ts';

export const PROBE_BYTES = 12;
export const BLOCK_BYTES = 32;
/**
 * Blocks of one stage: 64 MiB. The product of the upper half and the number of blocks is then exact
 * in a double, which is what Lua has.
 */
export const MOST_BLOCKS = 2 ** 21;

/** Parquet's constants, one for each word (Parquet format, BloomFilter.md). */
const SALT = Int32Array.of(
  ...[0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31],
);

/** The probes of hashes, given as low and high halves in turn. */
export function packProbes(words: Int32Array): Uint8Array {
  const keys = words.length / 2;
  const bytes = new Uint8Array(PROBE_BYTES * keys);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < keys; i++) {
    const at = PROBE_BYTES * i;
    view.setInt32(at, words[2 * i + 1], true);
    for (let word = 0; word < 8; word++) bytes[at + 4 + word] = Math.imul(words[2 * i], SALT[word]) >>> 27;
  }
  return bytes;
}

export interface ServerStage {
  readonly blocks: number;
  /** Keys for which the stage keeps its rate. */
  readonly capacity: number;
}

/** Stage `stage` of a filter of this size. A stage that would be too large takes fewer keys. */
export function serverStage(size: StageSize, stage: number): ServerStage {
  const { capacity, falsePositiveRate } = stageSize(size, stage);
  const { blocks } = sizeBlocked({ capacity, falsePositiveRate, layout: 'split-block' });
  if (blocks <= MOST_BLOCKS) return { blocks, capacity };
  return { blocks: MOST_BLOCKS, capacity: Math.floor((capacity * MOST_BLOCKS) / blocks) };
}
