/**
 * `npm run bench:cuckoo`: how many of the keys that it accepted a cuckoo filter loses, next to the
 * structures of this library that can delete or be rebuilt (docs/guide/cuckoo.md).
 *
 * Each filter is made by its own sizing for n keys at 1 %, and gets n keys. A key counts as
 * accepted unless `add` returned false or threw. It is lost if `has` then answers "no". The second
 * half of the keys is then deleted where the filter can delete, and the first half is asked again.
 * A filter of this library has all of its keys replaced ten times, one by one, as a cache does. The
 * peers are left out there: a run with them was stopped after ten minutes. There is no clock. Each
 * run has other keys; the least and the most of all runs are given.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createCuckooFilter } from '@libp2p/utils';
import bloomFilters from 'bloom-filters';
import { BlockedBloomFilter, CountingBloomFilter, StaticFilter } from 'bloomery';
import { asMarkdown, asText, type Table } from '../shared/report.ts';

const HELP = `npm run bench:cuckoo -- [options]

  --keys N           keys (4096)
  --runs N           runs of each filter (5)
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    keys: { type: 'string', default: '4096' },
    runs: { type: 'string', default: '5' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

interface Deletable {
  /** Returns whether the filter accepted the key. */
  add(key: string): boolean;
  has(key: string): boolean;
  delete?(key: string): void;
  /** Bits of memory, if the filter says so. */
  bits?(): number;
}

interface Way {
  readonly name: string;
  /** Left out of the replacing. */
  readonly slow?: true;
  make(keys: readonly string[]): Deletable;
}

const RATE = 0.01;

const WAYS: readonly Way[] = [
  {
    name: '`@libp2p/utils` 7.4.1, `createCuckooFilter`',
    slow: true,
    make: (keys) => {
      const filter = createCuckooFilter(keys.length, RATE);
      return {
        add: (key) => (filter.add(key) as unknown) !== false,
        has: (key) => filter.has(key),
        delete: (key) => filter.remove!(key),
      };
    },
  },
  {
    name: '`bloom-filters` 3.0.4, `CuckooFilter.create`',
    slow: true,
    make: (keys) => {
      const filter = bloomFilters.CuckooFilter.create(keys.length, RATE);
      return {
        add: (key) => filter.add(key),
        has: (key) => filter.has(key),
        delete: (key) => filter.remove(key),
      };
    },
  },
  counting(4),
  counting(2),
  {
    name: '`BlockedBloomFilter`, rebuilt to delete',
    make: (keys) => {
      const filter = BlockedBloomFilter.forCapacity({ capacity: keys.length, falsePositiveRate: RATE });
      return {
        add: (key) => {
          filter.add(key);
          return true;
        },
        has: (key) => filter.has(key),
        bits: () => filter.bits,
      };
    },
  },
  {
    name: '`StaticFilter`, rebuilt to change',
    make: (keys) => {
      const filter = StaticFilter.from([...keys], { falsePositiveRate: RATE });
      return { add: () => true, has: (key) => filter.has(key), bits: () => 8 * filter.byteLength };
    },
  },
];

function counting(counterBits: 2 | 4): Way {
  return {
    name: `\`CountingBloomFilter\`, counters of ${counterBits} bits`,
    make: (keys) => {
      const filter = CountingBloomFilter.forCapacity({
        capacity: keys.length,
        falsePositiveRate: RATE,
        counterBits,
      });
      return {
        add: (key) => {
          filter.add(key);
          return true;
        },
        has: (key) => filter.has(key),
        delete: (key) => filter.delete(key),
        bits: () => 8 * filter.byteLength,
      };
    },
  };
}

interface Outcome {
  readonly refused: number;
  readonly lost: number;
  readonly lostAfterDeleting: number | undefined;
  readonly wrong: number;
  readonly replaced: { readonly lost: number; readonly wrong: number } | undefined;
  readonly bitsPerKey: number | undefined;
}

function outcomeOf(way: Way, count: number, run: number): Outcome {
  const keys = keysOf(run, 0, count);
  const filter = way.make(keys);
  const accepted = keys.filter((key) => accepts(filter, key));
  const lost = lostOf(filter, accepted);
  const wrong = wrongOf(filter, run);
  const bitsPerKey = filter.bits === undefined ? undefined : filter.bits() / count;
  let lostAfterDeleting: number | undefined;
  if (filter.delete !== undefined) {
    const kept = accepted.slice(0, accepted.length / 2);
    for (const key of accepted.slice(kept.length)) filter.delete(key);
    lostAfterDeleting = lostOf(filter, kept);
  }
  const replaced = afterReplacing(way, count, run);
  return { refused: count - accepted.length, lost, lostAfterDeleting, wrong, replaced, bitsPerKey };
}

/** Replaces every key ten times, and counts what is lost and what is wrongly found in the end. */
function afterReplacing(way: Way, count: number, run: number): Outcome['replaced'] {
  let keys = keysOf(run, 0, count);
  const filter = way.make(keys);
  if (filter.delete === undefined || way.slow) return undefined;
  keys = keys.filter((key) => accepts(filter, key));
  for (let turn = 1; turn <= TURNS; turn++) {
    keys = keysOf(run, turn, count).filter((key, i) => {
      if (i < keys.length) filter.delete!(keys[i]);
      return accepts(filter, key);
    });
  }
  return { lost: lostOf(filter, keys), wrong: wrongOf(filter, run) };
}

function keysOf(run: number, turn: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `key-${run}-${turn}-${i}`);
}

/** A peer that throws when it is full has refused the key. */
function accepts(filter: Deletable, key: string): boolean {
  try {
    return filter.add(key);
  } catch {
    return false;
  }
}

function lostOf(filter: Deletable, keys: readonly string[]): number {
  return keys.filter((key) => !filter.has(key)).length;
}

function wrongOf(filter: Deletable, run: number): number {
  let wrong = 0;
  for (let i = 0; i < STRANGERS; i++) if (filter.has(`other-${run}-${i}`)) wrong++;
  return wrong;
}

const TURNS = 10;

/** Non-member keys that each filter is asked for. */
const STRANGERS = 20_000;

function span(values: readonly number[], of: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const share = (value: number) => `${((100 * value) / of).toFixed(value === 0 ? 0 : 1)} %`;
  return low === high ? share(low) : `${share(low)} to ${share(high)}`;
}

function tableOf(count: number, runs: number): Table {
  const rows = WAYS.map((way) => {
    const outcomes = Array.from({ length: runs }, (_, run) => outcomeOf(way, count, run));
    const of = (count: (one: Outcome) => number | undefined, all: number) => {
      const counts = outcomes.map(count);
      return counts.some((one) => one === undefined) ? '' : span(counts as number[], all);
    };
    return [
      way.name,
      of((one) => one.refused, count),
      of((one) => one.lost, count),
      of((one) => one.wrong, STRANGERS),
      of((one) => one.lostAfterDeleting, count / 2),
      of((one) => one.replaced?.lost, count),
      of((one) => one.replaced?.wrong, STRANGERS),
      outcomes[0].bitsPerKey?.toFixed(1) ?? 'objects',
    ];
  });
  return {
    title: `${count} keys at 1 %, ${runs} runs`,
    head: [
      'filter',
      'refused',
      'accepted and lost',
      'false positives',
      'lost of the rest after deleting half',
      'lost after replacing all ten times',
      'false positives then',
      'bits per key',
    ],
    rows,
    notes: [
      `By the formula of Fan et al. 2014, a cuckoo filter with 4 slots per bucket that is 95 % full takes ${leastBits().toFixed(1)} bits per key at 1 %. The number of buckets is a power of two, so the table can be up to twice as large: ${(2 * leastBits()).toFixed(1)}.`,
    ],
  };
}

/** (log2(1/p) + 3) / 0.95, section 5.1 there: a key is compared with up to eight fingerprints. */
function leastBits(): number {
  return (Math.log2(1 / RATE) + 3) / 0.95;
}

if (options.help) {
  console.log(HELP);
} else {
  const table = tableOf(Number(options.keys), Number(options.runs));
  console.log(asText(table));
  if (options.markdown !== undefined) {
    const head = '# Cuckoo filters\n\nWritten by `npm run bench:cuckoo`; its head says what is counted.\n\n';
    writeFileSync(options.markdown, `${head}${asMarkdown(table)}\n`);
  }
}
