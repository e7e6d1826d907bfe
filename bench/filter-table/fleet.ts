/** The filters and the table that are compared, the keys that are asked, and the ways to ask. */

import {
  BloomFilter,
  FilterTable,
  type HashScheme,
  type KernelChoice,
  type KeyHash,
  type KeyHashes,
} from 'bloomery';
import { planTable, type TablePlan } from 'bloomery/math';
import { probeIndex } from '../../packages/bloomery/src/kernel/bits/classic.ts';
import { randomWords } from '../hashes/random-words.ts';

export interface Fleet {
  readonly plan: TablePlan;
  readonly scheme: HashScheme;
  readonly filters: readonly BloomFilter[];
  readonly table: FilterTable;
  /** Keys that all filters hold. */
  readonly shared: KeyHashes;
  /** The other keys of each filter. */
  readonly own: readonly KeyHashes[];
  /** The bits of all filters, one after the other. */
  readonly bits: Uint32Array;
}

/** How many filters hold the keys that are asked for. */
export const ASKED = ['none', 'one', 'all'] as const;
export type Asked = (typeof ASKED)[number];

/** `columns` filters of `keys` keys each, a fifth of which all of them hold. */
export function fleetOf(columns: number, keys: number, scheme: HashScheme): Fleet {
  const plan = planTable({ columns, keysPerColumn: keys });
  const shared = randomHashes(keys / 5, scheme, 1);
  const own: KeyHashes[] = [];
  const filters = Array.from({ length: columns }, (_, c) => {
    const filter = new BloomFilter({ bits: plan.rows, hashes: plan.hashes });
    filter.addMany(shared);
    own.push(randomHashes(keys - shared.length, scheme, c + 2));
    filter.addMany(own[c]);
    return filter;
  });
  const width = Math.ceil(plan.rows / 32);
  const bits = new Uint32Array(width * columns);
  for (const [c, filter] of filters.entries()) bits.set(wordsOf(filter, width), c * width);
  return { plan, scheme, filters, table: FilterTable.fromFilters(filters), shared, own, bits };
}

/** Keys to ask for. Each slice of the run asks for other ones. */
export function askedKeys(fleet: Fleet, asked: Asked, slice: number, count: number): KeyHash[] {
  const { scheme, shared, own } = fleet;
  const at = (hashes: KeyHashes, i: number): KeyHash => ({
    scheme,
    low: hashes.words[2 * (i % hashes.length)] >>> 0,
    high: hashes.words[2 * (i % hashes.length) + 1] >>> 0,
  });
  const absent = asked === 'none' ? randomHashes(count, scheme, 0x10000 + slice) : shared;
  return Array.from({ length: count }, (_, i) =>
    asked === 'one'
      ? at(own[(7 * i) % own.length], slice * count + i)
      : at(absent, asked === 'none' ? i : slice * count + i),
  );
}

/** A way to ask all filters. It writes one bit per filter to an array, and counts the ones. */
export interface Way {
  readonly kernel: KernelChoice;
  /** Lookups in one round. */
  readonly lookups: number;
  readonly ask: (hash: KeyHash, out: Uint32Array) => number;
}

export function waysToAsk({ filters, table, plan, bits }: Fleet): Record<string, Way> {
  const { rows, hashes } = plan;
  const words = new Int32Array(hashes);
  const masks = new Int32Array(hashes);
  const width = Math.ceil(rows / 32);
  const candidates = (hash: KeyHash, out: Uint32Array) => table.candidates(hash, out);
  return {
    hasHash: {
      kernel: 'auto',
      lookups: 100,
      ask: (hash, out) => {
        let found = 0;
        out.fill(0);
        for (let c = 0; c < filters.length; c++) {
          if (!filters[c].hasHash(hash)) continue;
          out[c >>> 5] |= 1 << (c & 31);
          found++;
        }
        return found;
      },
    },
    loop: {
      kernel: 'auto',
      lookups: 200,
      ask: ({ low, high }, out) => {
        let found = 0;
        out.fill(0);
        for (let i = 0; i < hashes; i++) {
          const index = probeIndex(low | 0, high | 0, i, rows);
          words[i] = index >>> 5;
          masks[i] = 1 << (index & 31);
        }
        // The first two probes are out of the inner loop: nine in ten filters end there.
        const [w0, m0, w1, m1] = [words[0], masks[0], words[1], masks[1]];
        for (let c = 0, base = 0; c < filters.length; c++, base += width) {
          if ((bits[base + w0] & m0) === 0 || (bits[base + w1] & m1) === 0) continue;
          let i = 2;
          while (i < hashes && (bits[base + words[i]] & masks[i]) !== 0) i++;
          if (i < hashes) continue;
          out[c >>> 5] |= 1 << (c & 31);
          found++;
        }
        return found;
      },
    },
    'table, JavaScript': { kernel: 'javascript', lookups: 2000, ask: candidates },
    table: { kernel: 'auto', lookups: 2000, ask: candidates },
  };
}

export function randomHashes(count: number, scheme: HashScheme, seed: number): KeyHashes {
  return { scheme, words: new Int32Array(randomWords(seed, 2 * count).buffer), length: count };
}

/** The words of a filter's bits, which a frame holds before its checksum of four bytes. */
function wordsOf(filter: BloomFilter, width: number): Uint32Array {
  const frame = filter.encode();
  const words = new Uint32Array(width);
  const length = Math.ceil(filter.bits / 8);
  new Uint8Array(words.buffer).set(frame.subarray(frame.length - 4 - length, frame.length - 4));
  return words;
}
