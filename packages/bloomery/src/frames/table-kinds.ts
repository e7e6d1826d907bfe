/**
 * The frames whose payload consists of packed fields: the slots of BloomierFilter and StaticFilter,
 * the positions of HashList. They are separate from the classes that write them, so that a program
 * can check such a frame without those classes.
 */

import { positionWidth } from '../kernel/lists/sorted-list.ts';
import { isSoundBand } from '../kernel/tables/band.ts';
import { isSoundTable } from '../kernel/tables/fuse.ts';
import { MAX_BITS } from '../math/checks.ts';
import { checkParameters, type FrameKind } from './frame.ts';

/** The number of bits in a slot of a BloomierFilter that select the key's own slot. */
export const INDEX_BITS = 2;
export const MOST_CHECK_BITS = 30;
export const MOST_VALUE_BITS = 32;
export const MOST_FINGERPRINT_BITS = 32;

/** Parameters: size, check bits, value bits, attempt, segments, length of a segment. */
export const BLOOMIER_FRAME: FrameKind = {
  code: 6,
  name: 'BloomierFilter',
  widths: [4, 1, 1, 1, 3, 3],
  payloadBits: (variant, parameters) => {
    const [size, checkBits, valueBits, ...table] = parameters;
    const sound =
      checkBits >= 1 && checkBits <= MOST_CHECK_BITS && valueBits >= 1 && valueBits <= MOST_VALUE_BITS;
    return tableBits(variant, parameters, sound, size, INDEX_BITS + checkBits + valueBits, table);
  },
};

/**
 * Parameters: size, fingerprint bits, attempt, segments, length of a segment. Variant 1 is a band:
 * it has 0 segments, and its columns instead of the length.
 */
export const STATIC_FRAME: FrameKind = {
  code: 7,
  name: 'StaticFilter',
  widths: [4, 1, 1, 3, 3],
  payloadBits: (variant, parameters) => {
    const [size, width, ...table] = parameters;
    const sound = width >= 1 && width <= MOST_FINGERPRINT_BITS;
    if (variant !== 1) return tableBits(variant, parameters, sound, size, width, table);
    const [attempt, segments, columns] = table;
    checkParameters(
      sound && segments === 0 && isSoundBand(size, columns, attempt),
      `a band with the parameters ${parameters.join(', ')}`,
    );
    return columns * width;
  },
};

/** Parameters: bits, hashes, capacity (0 if there is none), number of ones. */
export const HASH_LIST_FRAME: FrameKind = {
  code: 8,
  name: 'HashList',
  widths: [5, 1, 6, 5],
  payloadBits: (variant, [bits, hashes, , count]) => {
    const sound = variant === 0 && bits > 0 && bits <= MAX_BITS && hashes > 0 && count <= bits;
    checkParameters(sound, `variant ${variant}, ${bits} bits, ${hashes} hashes and ${count} positions`);
    return count * positionWidth(bits);
  },
};

/** Checks the shape of a table. Returns the number of bits of its slots. */
function tableBits(
  variant: number,
  parameters: readonly number[],
  soundWidths: boolean,
  size: number,
  stride: number,
  [attempt, segments, segmentLength]: readonly number[],
): number {
  const sound =
    variant === 0 && soundWidths && isSoundTable(size, { segments, segmentLength }, attempt, stride);
  checkParameters(sound, `variant ${variant} and the parameters ${parameters.join(', ')}`);
  return (segments + 3) * segmentLength * stride;
}
