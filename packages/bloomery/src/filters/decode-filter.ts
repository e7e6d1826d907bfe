/** Reads a frame of any structure with the class that its head names. */

import { CODED_PAYLOAD } from '../frames/check-frame.ts';
import { refuse } from '../frames/envelope.ts';
import { readFrameHead, type StructureName } from '../frames/frame-head.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import { AttenuatedBloomFilter } from './attenuated-bloom-filter.ts';
import { BlockedBloomFilter } from './blocked-bloom-filter.ts';
import { BloomFilter } from './bloom-filter.ts';
import { BloomierFilter } from './bloomier-filter.ts';
import { CountMinSketch } from './count-min/count-min-sketch.ts';
import { CountingBloomFilter } from './counting/counting-bloom-filter.ts';
import { HashList } from './hash-list/hash-list.ts';
import { HeavyHitters } from './heavy-hitters/heavy-hitters.ts';
import { RotatingBloomFilter } from './rotating/rotating-bloom-filter.ts';
import { ScalableBloomFilter } from './scalable-bloom-filter.ts';
import { checkOptions } from './shared/options.ts';
import { SpectralBloomFilter } from './spectral/spectral-bloom-filter.ts';
import { StaticFilter } from './static-filter.ts';

/** The classes by the names of their structures. */
interface FilterByName {
  readonly BloomFilter: BloomFilter;
  readonly BlockedBloomFilter: BlockedBloomFilter;
  readonly CountingBloomFilter: CountingBloomFilter;
  readonly SpectralBloomFilter: SpectralBloomFilter;
  readonly CountMinSketch: CountMinSketch;
  readonly BloomierFilter: BloomierFilter;
  readonly StaticFilter: StaticFilter;
  readonly HashList: HashList;
  readonly ScalableBloomFilter: ScalableBloomFilter;
  readonly RotatingBloomFilter: RotatingBloomFilter;
  readonly AttenuatedBloomFilter: AttenuatedBloomFilter;
  readonly HeavyHitters: HeavyHitters;
}

/** A filter or sketch of any structure; `instanceof` tells which. */
export type AnyFilter = FilterByName[StructureName];

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
  return DECODERS[structure](bytes, options);
}

type Decoders = {
  readonly [S in StructureName]: (bytes: Uint8Array, options: DecodeFilterOptions) => FilterByName[S];
};

const DECODERS: Decoders = {
  BloomFilter: (bytes, options) => BloomFilter.decode(bytes, options),
  BlockedBloomFilter: (bytes, options) => BlockedBloomFilter.decode(bytes, options),
  CountingBloomFilter: (bytes, options) => CountingBloomFilter.decode(bytes, options),
  SpectralBloomFilter: (bytes, options) => SpectralBloomFilter.decode(bytes, options),
  CountMinSketch: (bytes, options) => CountMinSketch.decode(bytes, options),
  BloomierFilter: (bytes, options) => BloomierFilter.decode(bytes, options),
  StaticFilter: (bytes, options) => StaticFilter.decode(bytes, options),
  HashList: (bytes, options) => HashList.decode(bytes, options),
  ScalableBloomFilter: (bytes, options) => ScalableBloomFilter.decode(bytes, options),
  RotatingBloomFilter: (bytes, options) => RotatingBloomFilter.decode(bytes, options),
  AttenuatedBloomFilter: (bytes, options) => AttenuatedBloomFilter.decode(bytes, options),
  HeavyHitters: (bytes, options) => HeavyHitters.decode(bytes, options),
};
