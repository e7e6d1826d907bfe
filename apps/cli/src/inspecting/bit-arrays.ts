/**
 * The bit arrays inside a filter file, for the picture. Of counters, which of them are not 0. None for fingerprints (static
 * and Bloomier filters): those are noise by design, and a picture of noise says nothing.
 */

import type { BloomFilter } from 'bloomery';
import { countersOf, nestedFrames, payloadOf, readFrameHead } from 'bloomery/frames';
import type { FilterFile, ForeignFile, OwnFile } from '../files/filter-file.ts';
import { onesBetween } from '../terminal/bit-picture.ts';

export interface BitArray {
  /** Which of several it is. */
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

/** The bits of a frame of a BloomFilter. */
function bitsOf(frame: Uint8Array): number {
  const head = readFrameHead(frame);
  return head.structure === 'BloomFilter' ? head.parameters.bits : 0;
}

/** A bit for each counter of a sketch, 1 where it is not 0. */
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
 * Most formats end with their bits, DCSO's with free data behind them. Whether that is so here is checked: as many ones as the
 * filter says, or no picture (JSON, chunks, gzip, byte orders that leave gaps).
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

/** Bits of a hash list, which has few ones in many: 256 MB. */
const LARGEST_UNPACKED = 2 ** 31;
