/** Facts of each structure of the library. */

import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  type HeavyHitters,
  RangeSketch,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
  scalableSizeEstimate,
} from 'bloomery';
import { candidatesOf, readFrameHead } from 'bloomery/frames';
import { atLeastOne, type PlanLayout, plan } from 'bloomery/math';
import { keyNumbers } from '../checking/key-numbers.ts';
import type { OwnFile } from '../files/filter-file.ts';
import type { FilterDetails, FilterPart } from './describe-filter.ts';
import { describeSize, isOverfull } from './size-estimate.ts';

export function describeOwn(file: OwnFile): FilterDetails {
  const { hash, seed } = hashOf(file);
  const numbers = keyNumbers(file.filter);
  const tells = numbers && { command: numbers.command, what: numbers.words };
  const { parameters, ...details } = detailsOf(file);
  return {
    hash,
    seed,
    parameters: { ...parameters, ...(file.coded ? { coded: true } : {}) },
    ...details,
    tells,
  };
}

/** Reads the hash from the frame, because the filter may have been read without its key. */
function hashOf({ frame }: OwnFile): { hash: string; seed?: string } {
  const { hash, parameters } = readFrameHead(frame);
  // The seed of split blocks is always 0, and the one of a keyed filter is no seed.
  const fixed = hash.keyed || ('layout' in parameters && parameters.layout === 'split-block');
  return fixed ? { hash: hash.name } : { hash: hash.name, seed: String(hash.seed) };
}

type Details = Omit<FilterDetails, 'hash' | 'seed'>;

function detailsOf({ filter, frame }: OwnFile): Details {
  if (filter instanceof BloomFilter) {
    const { bits, hashes, layout } = filter;
    return {
      ...bitDetails(filter),
      parameters: { layout, bits, hashes },
      fill: filter.fill(),
      entropyBits: bits,
    };
  }
  if (filter instanceof BlockedBloomFilter) {
    const { bits, hashes, layout, blocks } = filter;
    const parameters = { layout, bits, blocks, hashes };
    return { ...bitDetails(filter), parameters, fill: filter.fill(), entropyBits: bits };
  }
  if (filter instanceof CountingBloomFilter) {
    const { counters, counterBits, hashes, layout } = filter;
    const parameters = { layout, counters, counterBits, hashes, saturatedCounters: filter.saturatedCount() };
    return { ...bitDetails(filter), parameters, fill: filter.fill() };
  }
  if (filter instanceof SpectralBloomFilter) {
    const { counters, secondary, counterBits, hashes, method, total } = filter;
    const parameters = { method, counters, secondaryCounters: secondary, counterBits, hashes, total };
    return { ...bitDetails(filter), parameters, fill: filter.fill() };
  }
  if (filter instanceof HashList) {
    const { bits, hashes } = filter;
    const fill = filter.onesCount() / bits;
    return { ...bitDetails(filter), parameters: { bits, hashes }, fill, entropyBits: bits };
  }
  if (filter instanceof StaticFilter) {
    const { size, fingerprintBits, falsePositiveRate: rate } = filter;
    const parameters = { fingerprintBits, bitsPerKey: rounded(filter.bitsPerKey) };
    return {
      parameters,
      size,
      promisedFalsePositiveRate: rate,
      estimatedFalsePositiveRate: size === 0 ? 0 : rate,
    };
  }
  if (filter instanceof BloomierFilter) {
    const { size, valueBits, checkBits, falsePositiveRate: rate } = filter;
    const parameters = { valueBits, checkBits, bitsPerKey: rounded(filter.bitsPerKey) };
    return {
      parameters,
      size,
      promisedFalsePositiveRate: rate,
      estimatedFalsePositiveRate: size === 0 ? 0 : rate,
    };
  }
  if (filter instanceof ScalableBloomFilter) return scalableDetails(filter);
  if (filter instanceof RotatingBloomFilter) return rotatingDetails(filter);
  if (filter instanceof AttenuatedBloomFilter) return attenuatedDetails(filter);
  if (filter instanceof RangeSketch) return rangeDetails(filter);
  return sketchDetails(filter, frame);
}

interface BitFilter {
  readonly bits: number;
  readonly hashes: number;
  readonly layout: PlanLayout;
  readonly capacity: number | undefined;
  onesCount(): number;
  estimatedFalsePositiveRate(): number;
}

/** Facts of every structure that is an array of bits to a lookup. */
function bitDetails(filter: BitFilter) {
  const { capacity } = filter;
  const estimatedSize = describeSize(filter);
  return {
    capacity,
    promisedFalsePositiveRate: rateAtCapacity(filter),
    ones: filter.onesCount(),
    estimatedSize,
    estimatedFalsePositiveRate: filter.estimatedFalsePositiveRate(),
    overfull: isOverfull(estimatedSize, capacity),
  };
}

/** The true rate of these parameters when the filter holds as many keys as it was made for. */
function rateAtCapacity({
  bits,
  hashes,
  layout,
  capacity,
}: Omit<BitFilter, 'onesCount' | 'estimatedFalsePositiveRate'>) {
  return capacity === undefined ? undefined : plan({ bits, hashes, layout, capacity }).falsePositiveRate;
}

function scalableDetails(filter: ScalableBloomFilter): Details {
  const { falsePositiveRate, growth, tightening, layout, initialCapacity, stages } = filter;
  const { value, low, high, standardError } = scalableSizeEstimate(filter);
  return {
    parameters: { layout, initialCapacity, growth, tightening, stages: stages.length },
    promisedFalsePositiveRate: falsePositiveRate,
    estimatedSize: { value, low, high, standardError },
    estimatedFalsePositiveRate: filter.estimatedFalsePositiveRate(),
    parts: stages.map(({ capacity, count, bits, hashes, estimatedFalsePositiveRate }, i) => ({
      name: `stage ${i + 1}`,
      bits,
      hashes,
      capacity,
      estimatedSize: count,
      estimatedFalsePositiveRate,
    })),
  };
}

function rotatingDetails(filter: RotatingBloomFilter): Details {
  const { generations, bits, hashes, layout, capacity, rotation, ttlMs, turn } = filter;
  const filters = Array.from({ length: generations }, (_, age) => filter.generation(age));
  return {
    parameters: {
      layout,
      bits,
      hashes,
      generations,
      rotation,
      ...(ttlMs === undefined ? {} : { ttlMs }),
      turn,
    },
    capacity: capacity * generations,
    promisedFalsePositiveRate: together(rateAtCapacity(filter), generations),
    estimatedSize: describeSize(filter.flattened()),
    estimatedFalsePositiveRate: filter.estimatedFalsePositiveRate(),
    overfull: filters.some((one) => isOverfull(describeSize(one), capacity)),
    parts: filters.map((one, age) => partOf(`generation ${age + 1}`, one)),
  };
}

function attenuatedDetails(filter: AttenuatedBloomFilter): Details {
  const { levels, bits, hashes, layout, capacity } = filter;
  const filters = Array.from({ length: levels }, (_, distance) => filter.level(distance));
  return {
    parameters: {
      layout,
      bits,
      hashes,
      levels,
      ...(capacity === undefined ? {} : { capacityOfLevel: capacity }),
    },
    promisedFalsePositiveRate: together(rateAtCapacity(filter), levels),
    estimatedFalsePositiveRate: filter.estimatedFalsePositiveRate(),
    overfull:
      capacity === undefined ? undefined : filters.some((one) => isOverfull(describeSize(one), capacity)),
    parts: filters.map((one, distance) => partOf(`distance ${distance}`, one)),
  };
}

/** The rate of several filters together, where a single "maybe" is enough. */
function together(rate: number | undefined, filters: number): number | undefined {
  return rate === undefined ? undefined : atLeastOne(rate, filters);
}

function partOf(name: string, filter: BloomFilter): FilterPart {
  const { bits, hashes, capacity } = filter;
  const estimatedFalsePositiveRate = filter.estimatedFalsePositiveRate();
  return { name, bits, hashes, capacity, estimatedSize: filter.estimatedSize(), estimatedFalsePositiveRate };
}

function sketchDetails(sketch: CountMinSketch | HeavyHitters, frame: Uint8Array): Details {
  const { width, depth, counterBits, update, total } = sketch;
  // Cormode and Muthukrishnan 2005: a count is too high by at most ε·total, except for a share δ of
  // the keys.
  const common = {
    update,
    width,
    depth,
    counterBits,
    total,
    epsilon: rounded(Math.E / width),
    delta: rounded(Math.exp(-depth)),
  };
  if (sketch instanceof CountMinSketch) return { parameters: common };
  const heavy = candidatesOf(frame).filter(({ count }) => count >= sketch.threshold * total);
  const keys = heavy
    .toSorted((a, b) => b.count - a.count)
    .slice(0, MOST_HEAVY)
    .map(({ key, count, atLeast }) => ({ key: Buffer.from(key).toString(), count, atLeast }));
  return { parameters: { threshold: sketch.threshold, ...common, heavyKeys: heavy.length }, heavy: keys };
}

function rangeDetails(sketch: RangeSketch): Details {
  const { universeBits, exactBits, update, width, depth, counterBits, total, epsilon, delta } = sketch;
  const error = { epsilon: rounded(epsilon), delta: rounded(delta) };
  return {
    parameters: { update, universeBits, exactBits, width, depth, counterBits, total, ...error },
  };
}

/** The most heavy keys in a description; `bloomery top` prints all of them. */
const MOST_HEAVY = 10;

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
