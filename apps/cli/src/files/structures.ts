/**
 * The structures of the library by their names on the command line (`--structure`). Frames store
 * the name of their structure.
 */

import type { AnyFilter, StructureName } from 'bloomery/frames';

export type OwnFilter = AnyFilter;

export interface Structure {
  /** The name of the class, and of the structure in the head of a frame. */
  readonly name: StructureName;
  /** The name on the command line. */
  readonly option: StructureOption;
}

const OPTIONS = {
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
  RangeSketch: 'range-sketch',
} as const satisfies Record<StructureName, string>;

/** The name of a structure on the command line. Tables by structure are typed by it. */
export type StructureOption = (typeof OPTIONS)[StructureName];

export const STRUCTURES: readonly Structure[] = Object.entries(OPTIONS).map(([name, option]) => ({
  name: name as StructureName,
  option,
}));

export function structureOf(name: StructureName): Structure {
  return { name, option: OPTIONS[name] };
}

/**
 * The name of a filter's class, from the line that it prints. `constructor.name` is another one in
 * the bundle of this command, which renames classes.
 */
export function className(filter: object): string {
  return String(filter).split('(', 1)[0];
}

/** Whether `bloomery convert --to bloom` turns it into a BloomFilter with the same keys. */
export function becomesBloom({ option }: Structure): boolean {
  return ['counting', 'spectral', 'hash-list', 'rotating'].includes(option);
}
