/** The structures of the library by their names on the command line (`--structure`). Frames name their structure themselves. */

import type { AnyFilter, StructureName } from 'bloomery/frames';

export type OwnFilter = AnyFilter;

export interface Structure {
  /** The name of the class, and of the structure in heads of frames. */
  readonly name: StructureName;
  /** The name on the command line. */
  readonly option: string;
}

const OPTIONS: Readonly<Record<StructureName, string>> = {
  BloomFilter: 'bloom',
  BlockedBloomFilter: 'blocked',
  CountingBloomFilter: 'counting',
  SpectralBloomFilter: 'spectral',
  CountMinSketch: 'count-min',
  BloomierFilter: 'bloomier',
  StaticFilter: 'static',
  HashList: 'hash-list',
  ScalableBloomFilter: 'scalable',
  RotatingBloomFilter: 'rotating',
  AttenuatedBloomFilter: 'attenuated',
  HeavyHitters: 'heavy-hitters',
};

export const STRUCTURES: readonly Structure[] = Object.entries(OPTIONS).map(([name, option]) => ({
  name: name as StructureName,
  option,
}));

export function structureOf(name: StructureName): Structure {
  return { name, option: OPTIONS[name] };
}

/** Whether `bloomery convert --to bloom` makes a BloomFilter of the same keys from it. */
export function becomesBloom({ option }: Structure): boolean {
  return ['counting', 'spectral', 'hash-list', 'rotating'].includes(option);
}
