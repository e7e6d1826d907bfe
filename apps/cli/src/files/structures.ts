/** The structures of the library by the code in their frames, and how each is read. docs/spec/frame.md lists the codes. */

import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  RotatingBloomFilter,
  ScalableBloomFilter,
  type SecretKey,
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';

export type OwnFilter =
  | BloomFilter
  | BlockedBloomFilter
  | CountingBloomFilter
  | SpectralBloomFilter
  | CountMinSketch
  | BloomierFilter
  | StaticFilter
  | HashList
  | ScalableBloomFilter
  | RotatingBloomFilter
  | AttenuatedBloomFilter
  | HeavyHitters;

export interface Structure {
  /** The code in byte 5 of a frame. */
  readonly code: number;
  /** The name of the class. */
  readonly name: string;
  /** The name on the command line (`--structure`). */
  readonly option: string;
  decode(bytes: Uint8Array, options: { key?: SecretKey }): OwnFilter;
}

export const STRUCTURES: readonly Structure[] = [
  { code: 1, name: 'BloomFilter', option: 'bloom', decode: (b, o) => BloomFilter.decode(b, o) },
  {
    code: 2,
    name: 'BlockedBloomFilter',
    option: 'blocked',
    decode: (b, o) => BlockedBloomFilter.decode(b, o),
  },
  {
    code: 3,
    name: 'CountingBloomFilter',
    option: 'counting',
    decode: (b, o) => CountingBloomFilter.decode(b, o),
  },
  {
    code: 4,
    name: 'SpectralBloomFilter',
    option: 'spectral',
    decode: (b, o) => SpectralBloomFilter.decode(b, o),
  },
  { code: 5, name: 'CountMinSketch', option: 'count-min', decode: (b, o) => CountMinSketch.decode(b, o) },
  { code: 6, name: 'BloomierFilter', option: 'bloomier', decode: (b, o) => BloomierFilter.decode(b, o) },
  { code: 7, name: 'StaticFilter', option: 'static', decode: (b, o) => StaticFilter.decode(b, o) },
  { code: 8, name: 'HashList', option: 'hash-list', decode: (b, o) => HashList.decode(b, o) },
  {
    code: 9,
    name: 'ScalableBloomFilter',
    option: 'scalable',
    decode: (b, o) => ScalableBloomFilter.decode(b, o),
  },
  {
    code: 10,
    name: 'RotatingBloomFilter',
    option: 'rotating',
    decode: (b, o) => RotatingBloomFilter.decode(b, o),
  },
  {
    code: 11,
    name: 'AttenuatedBloomFilter',
    option: 'attenuated',
    decode: (b, o) => AttenuatedBloomFilter.decode(b, o),
  },
  { code: 12, name: 'HeavyHitters', option: 'heavy-hitters', decode: (b, o) => HeavyHitters.decode(b, o) },
];

export function structureByCode(code: number): Structure | undefined {
  return STRUCTURES.find((structure) => structure.code === code);
}
