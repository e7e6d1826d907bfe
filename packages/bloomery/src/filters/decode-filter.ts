/** Reads a frame of any structure with the class that its head names. */

import { CODED_PAYLOAD } from '../frames/check-frame.ts';
import { refuse } from '../frames/envelope.ts';
import { readFrameHead, type StructureName } from '../frames/frame-head.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import { checkOptions } from '../keys/check-options.ts';
import { AttenuatedBloomFilter } from './attenuated-bloom-filter.ts';
import { BlockedBloomFilter } from './blocked-bloom-filter.ts';
import { BloomFilter } from './bloom-filter.ts';
import { BloomierFilter } from './bloomier-filter.ts';
import { CountMinSketch } from './count-min/count-min-sketch.ts';
import { CountingBloomFilter } from './counting/counting-bloom-filter.ts';
import { HashList } from './hash-list/hash-list.ts';
import { HeavyHitters } from './heavy-hitters/heavy-hitters.ts';
import { RangeSketch } from './ranges/range-sketch.ts';
import { RotatingBloomFilter } from './rotating/rotating-bloom-filter.ts';
import { ScalableBloomFilter } from './scalable-bloom-filter.ts';
import { SpectralBloomFilter } from './spectral/spectral-bloom-filter.ts';
import { StaticFilter } from './static-filter.ts';

/** A filter or sketch of any structure; `instanceof` tells which. */
export type AnyFilter = (typeof CLASSES)[StructureName]['prototype'];

export interface DecodeFilterOptions {
  /** The secret key of a keyed filter. */
  readonly key?: SecretKey;
}

/**
 * Reads a plain frame of any structure. Throws a `FrameError` if the frame is invalid; a keyed
 * filter needs its key.
 */
export function decodeFilter(bytes: Uint8Array, options: DecodeFilterOptions = {}): AnyFilter {
  checkOptions('decodeFilter', options, ['key']);
  const { structure, coded, start } = readFrameHead(bytes);
  if (coded) refuse('payload', start, 'a plain payload', CODED_PAYLOAD);
  return CLASSES[structure].decode(bytes, options);
}

/** The class of each structure, under the name that frames give it. */
const CLASSES = {
  BloomFilter,
  BlockedBloomFilter,
  CountingBloomFilter,
  SpectralBloomFilter,
  CountMinSketch,
  BloomierFilter,
  StaticFilter,
  HashList,
  ScalableBloomFilter,
  RotatingBloomFilter,
  AttenuatedBloomFilter,
  HeavyHitters,
  RangeSketch,
} satisfies Record<StructureName, { decode(bytes: Uint8Array, options: DecodeFilterOptions): unknown }>;
