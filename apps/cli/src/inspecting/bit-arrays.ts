/**
 * The bit arrays inside a filter file, for the picture. For counters, each bit says whether a
 * counter is above 0. Fingerprints (static and Bloomier filters) have no picture, because they look
 * random by design.
 */

import type { BloomFilter } from 'bloomery';
import { countersOf, nestedFrames, payloadOf, readFrameHead } from 'bloomery/frames';
import type { FilterFile, ForeignFile, OwnFile } from '../files/filter-file.ts';
import { onesBetween } from '../terminal/bit-picture.ts';

export interface BitArray {
  /** Name of this array among several. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly bits: number;
}

export function bitArraysOf(file: FilterFile): BitArray[] {
  return file.format === 'bloomery' ? ownArrays(file) : foreignArrays(file);
}

function ownArrays({ filter, frame, structure }: OwnFile): BitArray[] {
  switch (structure.option) {
    case 'bloom':
    case 'blocked':
      return 'bits' in filter ? [{ name: '', bytes: payloadOf(frame), bits: filter.bits }] : [];
    case 'counting':
      return 'snapshot' in filter ? [ofFilter(filter.snapshot())] : [];
    case 'spectral':
      return 'toBloomFilter' in filter ? [ofFilter(filter.toBloomFilter())] : [];
    case 'hash-list':
      return 'toFilter' in filter && filter.bits <= LARGEST_UNPACKED ? [ofFilter(filter.toFilter())] : [];
    case 'count-min':
    case 'heavy-hitters':
    case 'range-sketch':
      return 'width' in filter ? counterRows(frame, filter) : [];
    default:
      return nestedFrames(frame).map(({ start, end }, i) => {
        const inner = frame.subarray(start, end);
        return { name: String(i + 1), bytes: payloadOf(inner), bits: bitsOf(inner) };
      });
  }
}

function ofFilter(filter: BloomFilter): BitArray {
  return { name: '', bytes: payloadOf(filter.encode()), bits: filter.bits };
}

/** Number of bits in a frame of a BloomFilter; 0 for other structures. */
function bitsOf(frame: Uint8Array): number {
  const head = readFrameHead(frame);
  return head.structure === 'BloomFilter' ? head.parameters.bits : 0;
}

/** The rows of a sketch, with a bit for each counter, which is 1 if the counter is not 0. */
function counterRows(
  frame: Uint8Array,
  { width, depth, counterBits }: { width: number; depth: number; counterBits: number },
): BitArray[] {
  const counters = countersOf(frame);
  const size = counterBits / 8;
  return Array.from({ length: depth }, (_, row) => {
    const bytes = new Uint8Array(Math.ceil(width / 8));
    for (let column = 0; column < width; column++) {
      const at = (row * width + column) * size;
      for (let i = 0; i < size; i++) if (counters[at + i] !== 0) bytes[column >> 3] |= 1 << (column & 7);
    }
    return { name: String(row + 1), bytes, bits: width };
  });
}

/**
 * Finds the bits at the end of the file, where most formats have them. DCSO has free data after
 * them. The number of ones is compared with that of the filter; if it differs, there is no picture
 * (JSON, chunks, gzip, byte orders that leave gaps).
 */
function foreignArrays({ filter, bytes, format }: ForeignFile): BitArray[] {
  if (!('onesCount' in filter) || typeof filter.onesCount !== 'function') return [];
  const behind = 'data' in filter && filter.data instanceof Uint8Array ? filter.data.length : 0;
  const end = bytes.length - behind;
  const start = end - (format === 'squid' ? Math.ceil(filter.bits / 8) : filter.byteLength);
  if (start < 0) return [];
  const array = bytes.subarray(start, end);
  return onesBetween(array, 0, 8 * array.length) === filter.onesCount()
    ? [{ name: '', bytes: array, bits: 8 * array.length }]
    : [];
}

/**
 * The most bits of a hash list that are expanded for the picture: 256 MB. A hash list has few ones
 * among many bits.
 */
const LARGEST_UNPACKED = 2 ** 31;
