/**
 * The lanes of the other structures, by the question they answer. As in filters/lanes.ts, each is a
 * process of its own.
 */

import { LANES } from '../filters/lanes.ts';
import type { Lane } from '../shared/bench.ts';
import { DELTA, EPSILON } from '../shared/count-errors.ts';
import type { Subject } from '../shared/subject.ts';

export const COUNTING_REFERENCE = 'bloom-filters CountingBloomFilter';
export const STATIC_REFERENCE = 'binary-fuse-filter';
export const FREQUENCY_REFERENCE = 'bloom-filters CountMinSketch';

const peers = () => import('./structure-peers.ts');
const structures = () => import('./structures.ts');

const COUNTING = lane('bloomery CountingBloomFilter', async (n) => (await structures()).counting(n));
const STATIC = lane('bloomery StaticFilter', async () => (await structures()).staticFilter());

const BLOOMIER = lane('bloomery BloomierFilter', async () => (await structures()).bloomier());

/** Keys can be removed again. */
export const COUNTING_LANES: readonly Lane[] = [
  {
    name: COUNTING_REFERENCE,
    slow: true,
    maxKeys: 1e6,
    make: async (n) => (await peers()).bloomFiltersCounting(n),
  },
  {
    name: '@libp2p/utils cuckoo, deleting',
    slow: true,
    maxKeys: 1e6,
    make: async (n) => (await peers()).libp2pCuckooDeleting(n),
  },
  COUNTING,
];

/** The keys are known beforehand. */
export const STATIC_LANES: readonly Lane[] = [
  { name: STATIC_REFERENCE, maxKeys: 1e6, make: async () => (await peers()).binaryFuse() },
  {
    name: 'bloom-filters XorFilter',
    slow: true,
    fullOnly: true,
    maxKeys: 1e4,
    make: async () => (await peers()).bloomFiltersXor(),
  },
  lane('bloomery StaticFilter, integers', async () => (await structures()).staticIntegers()),
  STATIC,
  BLOOMIER,
];

/** How often, not whether: on a stream. */
export const FREQUENCY_LANES: readonly Lane[] = [
  {
    name: FREQUENCY_REFERENCE,
    slow: true,
    maxKeys: 1e6,
    make: async () => (await peers()).bloomFiltersCountMin(EPSILON, DELTA),
  },
  lane('bloomery CountMinSketch', async () => (await structures()).countMin(EPSILON, DELTA, 'plain')),
  lane('bloomery CountMinSketch, conservative', async () =>
    (await structures()).countMin(EPSILON, DELTA, 'conservative'),
  ),
  ...(['minimum-selection', 'minimal-increase', 'recurring-minimum'] as const).map((method) =>
    lane(`bloomery SpectralBloomFilter, ${method}`, async (n) => (await structures()).spectral(n, method)),
  ),
  { name: 'Map', maxKeys: 1e7, make: async () => (await peers()).builtInMap() },
];

/** All that answer "is it in?", for orientation. */
export const OVERVIEW_LANES: readonly Lane[] = [
  LANES.find(({ name }) => name === 'Set')!,
  lane('bloomery BloomFilter', async (n) =>
    (await import('../filters/library.ts')).library(n, { layout: 'classic', kernel: 'wasm' }),
  ),
  lane('bloomery BlockedBloomFilter', async (n) =>
    (await import('../filters/library.ts')).library(n, { layout: 'blocked', kernel: 'wasm' }),
  ),
  COUNTING,
  STATIC,
  BLOOMIER,
  lane('bloomery ScalableBloomFilter', async () => (await structures()).scalable()),
  lane('bloomery RotatingBloomFilter', async (n) => (await structures()).rotating(n)),
  lane('bloomery AttenuatedBloomFilter', async (n) => (await structures()).attenuated(n)),
  lane('bloomery HashList', async (n) => (await structures()).hashList(n)),
];

export const STRUCTURE_LANES: readonly Lane[] = [
  ...COUNTING_LANES,
  ...STATIC_LANES,
  ...FREQUENCY_LANES,
  ...OVERVIEW_LANES,
];

function lane(name: string, make: (capacity: number) => Promise<Subject>): Lane {
  return { name, maxKeys: 1e7, make };
}
