/**
 * One trial: build a filter, fill it, ask it, code it, and return whole numbers.
 *
 * Nothing here is random. Keys are counters, and only the seed differs from trial to trial. So
 * every run gives the same numbers, on any machine and with any number of threads.
 *
 * The papers draw k positions for each element independently and uniformly. The filters here are
 * the library's, and their positions come from its hash. That the tables come out the same is part
 * of the result. Trials use only what the library exports, so the result holds for the library that
 * people install.
 */

import { BloomFilter, CountingBloomFilter, HashList, type PackedKeys, StaticFilter } from 'bloomery';
import { payloadOf } from 'bloomery/frames';
import { encodeBits, encodePiece } from 'bloomery/wire';
import { type TurnoverShape, turnoverTrial } from './turnover-trial.ts';

interface Shape {
  /** A name, unique in a run: it is the key of the results. */
  readonly id: string;
  readonly bits: number;
  readonly hashes: number;
  readonly keys: number;
  /** Number of non-member keys that the filter is asked. */
  readonly strangers: number;
}

/**
 * A filter of `keys` keys, or the difference between two of them that have all but `replaced` keys
 * in common.
 */
interface FilterJob extends Shape {
  readonly kind: 'filter';
  readonly replaced: number;
  readonly partitioned: boolean;
  /** Whether the bits are coded. */
  readonly code: boolean;
}

/** A counting filter: its fullest counter. */
interface CountersJob extends Shape {
  readonly kind: 'counters';
}

/** Two filters of `keys` keys, `shared` of them in both. */
interface PairJob extends Shape {
  readonly kind: 'pair';
  readonly shared: number;
}

/** A filter, its half, and the filter that has half the bits from the start. */
interface HalvingJob extends Shape {
  readonly kind: 'halving';
}

/** A static filter with fingerprints of `hashes` bits. */
interface StaticJob extends Shape {
  readonly kind: 'static';
}

/** A sorted list of hashes: a filter with one hash and `bits` possible values. */
interface ListJob extends Shape {
  readonly kind: 'list';
}

/** A counting filter whose set turns over. */
interface TurnoverJob extends Shape, TurnoverShape {
  readonly kind: 'turnover';
}

export type Job = FilterJob | CountersJob | PairJob | HalvingJob | StaticJob | ListJob | TurnoverJob;

/** The numbers that a trial leaves, by kind, in this order. */
export const COLUMNS = {
  filter: ['ones', 'positives', 'payloadBytes', 'codeBytes'],
  counters: ['most'],
  pair: ['ones1', 'ones2', 'onesAnd'],
  halving: ['same', 'positives', 'positivesOfHalf'],
  static: ['storedBits', 'positives'],
  list: ['storedBits', 'positives'],
  turnover: ['crossings', 'overflowStep', 'lossSteps', 'firstLoss', 'lost', 'denied', 'stuck'],
} as const satisfies Record<Job['kind'], readonly string[]>;

export type Column = (typeof COLUMNS)[Job['kind']][number];

/** Runs the trial of a job with this seed. */
export function runTrial(job: Job, seed: number): readonly number[] {
  switch (job.kind) {
    case 'filter':
      return filterTrial(job, seed);
    case 'counters':
      return [fullestCounter(job, seed)];
    case 'pair': {
      const first = filled(job, seed, 0);
      const second = filled(job, seed, job.keys - job.shared);
      return [first.onesCount(), second.onesCount(), first.sharedOnesCount(second)];
    }
    case 'halving': {
      const whole = filled(job, seed, 0);
      const half = whole.halve();
      const same = half.equals(filled({ ...job, bits: job.bits / 2 }, seed, 0));
      return [same ? 1 : 0, positives(whole, job), positives(half, job)];
    }
    case 'static': {
      const filter = StaticFilter.from(counters(job.keys, 0), { fingerprintBits: job.hashes, seed });
      return [8 * filter.byteLength, positives(filter, job)];
    }
    case 'list': {
      const list = new HashList({ bits: job.bits, hashes: job.hashes, seed });
      list.addMany(counters(job.keys, 0));
      return [8 * payloadOf(list.encode()).length, positives(list, job)];
    }
    case 'turnover':
      return turnoverTrial(job, seed);
  }
}

function filterTrial(job: FilterJob, seed: number): readonly number[] {
  const filter = filled(job, seed, 0);
  const asked = positives(filter, job);
  let ones = filter.onesCount();
  if (!job.code && job.replaced === 0) return [ones, asked, 0, 0];
  const words = wordsOf(filter);
  if (job.replaced > 0) {
    const later = filled(job, seed, job.replaced);
    ones += later.onesCount() - 2 * filter.sharedOnesCount(later);
    const others = wordsOf(later);
    for (let i = 0; i < words.length; i++) words[i] ^= others[i];
  }
  if (!job.code) return [ones, asked, 0, 0];
  // One piece that holds all: a single range code, without the header.
  const whole = { bits: job.bits, ones, coding: 'range', pieceLog: Math.ceil(Math.log2(job.bits)) } as const;
  const code = encodePiece(whole, words, 0).code.length;
  return [ones, asked, encodeBits(words, job.bits, 'small').length, code];
}

/** A filter of the keys `first` to `first + keys - 1`. */
function filled(job: Shape & { readonly partitioned?: boolean }, seed: number, first: number): BloomFilter {
  const { bits, hashes } = job;
  const filter = new BloomFilter({ bits, hashes, seed, layout: job.partitioned ? 'partitioned' : 'classic' });
  filter.addMany(counters(job.keys, first));
  return filter;
}

function fullestCounter({ bits, hashes, keys }: Shape, seed: number): number {
  const filter = new CountingBloomFilter({ counters: bits, hashes, counterBits: 4, seed });
  filter.addMany(counters(keys, 0));
  // Two counters in each byte.
  let most = 0;
  for (const byte of payloadOf(filter.encode())) most = Math.max(most, byte & 15, byte >>> 4);
  return most;
}

function positives(filter: { hasMany(keys: PackedKeys): Uint8Array }, { strangers }: Shape): number {
  if (strangers === 0) return 0;
  let sum = 0;
  for (const answer of filter.hasMany(counters(strangers, 0, 1))) sum += answer;
  return sum;
}

/** The bits of a filter. */
function wordsOf(filter: BloomFilter): Uint32Array {
  const words = new Uint32Array(Math.ceil(filter.bits / 32));
  new Uint8Array(words.buffer).set(payloadOf(filter.encode()));
  return words;
}

const made = new Map<string, PackedKeys>();

/**
 * `count` keys of 8 bytes: a counter from `first` on, and a tag that keeps non-member keys apart.
 */
function counters(count: number, first: number, tag = 0): PackedKeys {
  const name = `${count} ${first} ${tag}`;
  const known = made.get(name);
  if (known !== undefined) return known;
  const words = new Uint32Array(2 * count);
  const offsets = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++) {
    words[2 * i] = first + i;
    words[2 * i + 1] = tag;
    offsets[i + 1] = 8 * (i + 1);
  }
  const keys = { bytes: new Uint8Array(words.buffer), offsets };
  made.set(name, keys);
  return keys;
}
