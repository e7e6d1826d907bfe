/**
 * The lanes: one process for each subject. Two reasons. What V8 inlines, and what it gives up
 * inlining, depends on everything a function has been called with, so two filters in one process
 * slow each other down in ways no user of one filter sees (and the JavaScript kernel beside the
 * WebAssembly one more than any). And a garbage collection caused by one subject would fall into
 * another one's time.
 */

import { type Lane, READING } from '../shared/bench.ts';
import type { LibraryOptions } from './library.ts';

export const REFERENCE = 'bloomfilter';

const peers = () => import('./peers.ts');

export const LANES: readonly Lane[] = [
  { name: READING, maxKeys: 1e8, make: async () => (await peers()).readingTheKey() },
  { name: REFERENCE, maxKeys: 1e8, make: async (n) => (await peers()).bloomfilter(n) },
  { name: 'bloom-filters', slow: true, maxKeys: 1e7, make: async (n) => (await peers()).bloomFiltersPeer(n) },
  {
    name: '@libp2p/utils bloom',
    slow: true,
    maxKeys: 1e7,
    make: async (n) => (await peers()).libp2pBloom(n),
  },
  {
    name: '@libp2p/utils cuckoo',
    slow: true,
    maxKeys: 1e6,
    fullOnly: true,
    make: async (n) => (await peers()).libp2pCuckoo(n),
  },
  { name: 'Set', maxKeys: 1e7, make: async () => (await peers()).builtInSet() },
  bloomery('bloomery classic', { layout: 'classic', kernel: 'wasm' }, { maxKeys: 1e8 }),
  bloomery('bloomery partitioned', { layout: 'partitioned', kernel: 'wasm' }, { fullOnly: true }),
  bloomery('bloomery blocked', { layout: 'blocked', kernel: 'wasm' }, { maxKeys: 1e8 }),
  bloomery('bloomery split-block', { layout: 'split-block', kernel: 'wasm' }, { maxKeys: 1e8 }),
  bloomery('bloomery classic, keyed', { layout: 'classic', kernel: 'wasm', keyed: true }, { fullOnly: true }),
  bloomery('bloomery blocked, keyed', { layout: 'blocked', kernel: 'wasm', keyed: true }),
  bloomery('bloomery classic, JavaScript', { layout: 'classic', kernel: 'javascript' }),
  bloomery(
    'bloomery partitioned, JavaScript',
    { layout: 'partitioned', kernel: 'javascript' },
    { fullOnly: true },
  ),
  bloomery('bloomery blocked, JavaScript', { layout: 'blocked', kernel: 'javascript' }),
  bloomery(
    'bloomery split-block, JavaScript',
    { layout: 'split-block', kernel: 'javascript' },
    { fullOnly: true },
  ),
  bloomery(
    'bloomery blocked, keyed, JavaScript',
    { layout: 'blocked', kernel: 'javascript', keyed: true },
    { fullOnly: true },
  ),
];

function bloomery(
  name: string,
  options: LibraryOptions,
  { maxKeys = 1e7, fullOnly = false }: { maxKeys?: number; fullOnly?: boolean } = {},
): Lane {
  return { name, maxKeys, fullOnly, make: async (n) => (await import('./library.ts')).library(n, options) };
}
