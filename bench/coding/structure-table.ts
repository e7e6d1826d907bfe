/**
 * Coded frames and deltas of every structure at realistic loads, beside the entropy of their
 * contents and beside the general compressors. Sizes only, of payloads without the head: they do
 * not depend on the machine. 100,000 keys; streams have a million events whose keys follow Zipf's
 * law.
 */

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
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';
import { CHECKSUM, payloadOf, readFrameHead } from 'bloomery/frames';
import { plan } from 'bloomery/math';
import { applyDelta, compressFrame, expandFrame, makeDelta } from 'bloomery/wire';
import { changeEntropy, payloadEntropy } from './entropy.ts';

/** A general compressor. */
export interface Compressor {
  readonly name: string;
  readonly encode: (bytes: Uint8Array) => Uint8Array;
}

/** The heading of this part of the results, which is the last one. */
export const STRUCTURES_HEADING = '## Structures';

export function structureLines(compressors: readonly Compressor[], onRow: (name: string) => void): string[] {
  const subjects = SUBJECTS.map(({ name, make }) => {
    onRow(name);
    return { name, ...make() };
  });
  return [
    STRUCTURES_HEADING,
    '',
    'Bytes of the payload, without the head. The entropy is of zeroth order and of the very contents. Each frame was',
    'expanded again and compared. Stored: a part that would not become smaller stays as it is.',
    '',
    `| structure | plain | entropy | small | over the entropy | of plain | fast | ${compressors.map(({ name }) => name).join(' | ')} |`,
    `|---|---|---|---|---|---|---|${compressors.map(() => '---').join('|')}|`,
    ...subjects.map(({ name, from }) => frameRow(name, from, compressors)),
    '',
    '## Deltas',
    '',
    'The same structures after a change. The entropy is that of the XOR for bits; for counters, that of the differences',
    'given the number of binary digits of the old counter; not defined for the others (–). Each delta was applied and',
    'compared. "Of coded" is the share of the coded frame that would be sent instead.',
    '',
    '| structure | change | entropy of the change | delta, small | over it | delta, fast | coded frame | of coded |',
    '|---|---|---|---|---|---|---|---|',
    ...subjects.flatMap(({ name, change, from, to }) =>
      to === undefined ? [] : [deltaRow(name, change, from, to)],
    ),
    '',
  ];
}

function frameRow(name: string, frame: Uint8Array, compressors: readonly Compressor[]): string {
  const payload = payloadOf(frame);
  const [small, fast] = (['small', 'fast'] as const).map((effort) => {
    const coded = compressFrame(frame, { effort });
    if (Buffer.compare(expandFrame(coded), frame) !== 0) throw new Error(`${name} does not come back`);
    return coded.length - overheadOf(frame);
  });
  const entropy = payloadEntropy(frame);
  const others = compressors.map(({ encode }) => count(encode(payload).length));
  return `| ${name} | ${count(payload.length)} | ${count(entropy)} | ${count(small)} | ${percent(small / entropy - 1)} | ${percent(small / payload.length)} | ${count(fast)} | ${others.join(' | ')} |`;
}

function deltaRow(name: string, change: string, from: Uint8Array, to: Uint8Array): string {
  const [small, fast] = (['small', 'fast'] as const).map((effort) => {
    const delta = makeDelta(from, to, { effort });
    if (Buffer.compare(applyDelta(from, delta), to) !== 0)
      throw new Error(`${name}: the delta leads elsewhere`);
    return delta.length - DELTA_OVERHEAD;
  });
  const entropy = changeEntropy(from, to);
  const coded = compressFrame(to).length - overheadOf(to);
  const [bound, over] = entropy === undefined ? ['–', '–'] : [count(entropy), percent(small / entropy - 1)];
  return `| ${name} | ${change} | ${bound} | ${count(small)} | ${over} | ${count(fast)} | ${count(coded)} | ${percent(small / coded)} |`;
}

/** Bytes of a delta besides its changes. */
const DELTA_OVERHEAD = 25;

function overheadOf(frame: Uint8Array): number {
  return readFrameHead(frame).start + CHECKSUM;
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

interface Made {
  readonly from: Uint8Array;
  readonly change: string;
  readonly to?: Uint8Array;
}

interface Subject {
  readonly name: string;
  readonly make: () => Made;
}

const KEYS = 100_000;
const EVENTS = 1_000_000;
const SIZE = { capacity: KEYS, falsePositiveRate: 0.01 };

function keys(amount: number, first = 0): string[] {
  return Array.from({ length: amount }, (_, i) => `https://example.org/${first + i}`);
}

/** Events by Zipf's law of exponent 1 over `KEYS` keys, from a fixed seed. */
function* zipf(amount: number, seed: number): Generator<string> {
  let state = seed;
  for (let i = 0; i < amount; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    yield `page-${Math.floor(KEYS ** ((state >>> 0) / 2 ** 32))}`;
  }
}

/** A filter with `KEYS` keys, and the same with a twentieth more. */
function grown<F extends { addMany(keys: Iterable<string>): unknown; encode(): Uint8Array }>(
  filter: F,
): Made {
  filter.addMany(keys(KEYS * 0.95));
  const from = filter.encode();
  filter.addMany(keys(KEYS * 0.05, KEYS * 0.95));
  return { from, change: '5 % more keys', to: filter.encode() };
}

/** A counting filter of `KEYS` keys, of which a twentieth is replaced. */
function replaced(filter: CountingBloomFilter): Made {
  filter.addMany(keys(KEYS));
  const from = filter.encode();
  filter.deleteMany(keys(KEYS * 0.05));
  filter.addMany(keys(KEYS * 0.05, KEYS));
  return { from, change: '5 % of the keys replaced', to: filter.encode() };
}

function counted<F extends { addMany(keys: Iterable<string>): unknown; encode(): Uint8Array }>(
  filter: F,
): Made {
  filter.addMany(zipf(EVENTS, 7));
  const from = filter.encode();
  filter.addMany(zipf(EVENTS / 100, 11));
  return { from, change: '1 % more events', to: filter.encode() };
}

function plannedCounting(): CountingBloomFilter {
  const { bits, hashes } = plan({
    ...SIZE,
    structure: 'counting',
    goal: 'transmission',
    maxBits: 20 * KEYS,
  });
  return new CountingBloomFilter({ counters: bits, hashes });
}

const SUBJECTS: readonly Subject[] = [
  { name: 'BloomFilter, half full', make: () => grown(BloomFilter.forCapacity(SIZE)) },
  {
    name: 'BloomFilter, 14 bits per key, k = 2',
    make: () => grown(new BloomFilter({ bits: 14 * KEYS, hashes: 2 })),
  },
  { name: 'BlockedBloomFilter', make: () => grown(BlockedBloomFilter.forCapacity(SIZE)) },
  { name: 'CountingBloomFilter, 1 %', make: () => replaced(CountingBloomFilter.forCapacity(SIZE)) },
  { name: 'CountingBloomFilter, 1 %, planned for transmission', make: () => replaced(plannedCounting()) },
  {
    name: 'SpectralBloomFilter, minimal increase',
    make: () => counted(SpectralBloomFilter.forCapacity({ ...SIZE, method: 'minimal-increase' })),
  },
  {
    name: 'SpectralBloomFilter, recurring minimum',
    make: () => counted(SpectralBloomFilter.forCapacity({ ...SIZE, method: 'recurring-minimum' })),
  },
  {
    name: 'CountMinSketch, ε = 0.0001',
    make: () => counted(CountMinSketch.forError({ epsilon: 1e-4, delta: 0.01 })),
  },
  {
    name: 'CountMinSketch, conservative, 64 bits',
    make: () =>
      counted(new CountMinSketch({ width: 27_183, depth: 5, update: 'conservative', counterBits: 64 })),
  },
  {
    name: 'HeavyHitters, 0.1 %',
    make: () => counted(HeavyHitters.forThreshold({ threshold: 0.001, epsilon: 0.0005, delta: 0.01 })),
  },
  {
    name: 'HashList, 0.1 %',
    make: () => grown(HashList.forCapacity({ capacity: KEYS, falsePositiveRate: 0.001 })),
  },
  {
    name: 'StaticFilter, 8 bits',
    make: () => ({
      from: StaticFilter.from(keys(KEYS), { fingerprintBits: 8 }).encode(),
      change: '5 % of the keys replaced',
      to: StaticFilter.from(keys(KEYS, KEYS * 0.05), { fingerprintBits: 8 }).encode(),
    }),
  },
  {
    name: 'BloomierFilter, 8 + 8 bits',
    make: () => {
      const values = (shift: number) => Array.from({ length: KEYS }, (_, i) => (i + shift) % 256);
      const made = (shift: number) =>
        BloomierFilter.fromColumns(keys(KEYS), values(shift), { valueBits: 8, checkBits: 8 }).encode();
      return { from: made(0), change: 'other values', to: made(1) };
    },
  },
  {
    name: 'ScalableBloomFilter, 5 stages',
    make: () => grown(new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 5000 })),
  },
  {
    name: 'RotatingBloomFilter, 4 generations',
    make: () => {
      const filter = new RotatingBloomFilter({
        capacity: KEYS / 4,
        falsePositiveRate: 0.01,
        generations: 4,
        ttlMs: 4000,
        nowMs: 0,
      });
      for (let hour = 0; hour < 3; hour++) {
        filter.advance(1000 * hour + 1);
        filter.addMany(keys(KEYS / 4, (hour * KEYS) / 4));
      }
      const from = filter.encode();
      filter.advance(3500);
      filter.addMany(keys(KEYS / 20, KEYS));
      return { from, change: 'a rotation, 5 % of the keys new', to: filter.encode() };
    },
  },
  {
    name: 'AttenuatedBloomFilter, 3 levels',
    make: () => {
      const filter = AttenuatedBloomFilter.forCapacity({ ...SIZE, levels: 3 });
      filter.addMany(keys(KEYS / 50), 0);
      filter.addMany(keys(KEYS / 8), 1);
      filter.addMany(keys(KEYS), 2);
      const from = filter.encode();
      filter.addMany(keys(KEYS / 100, KEYS), 1);
      return { from, change: '1 % more keys at level 1', to: filter.encode() };
    },
  },
];
