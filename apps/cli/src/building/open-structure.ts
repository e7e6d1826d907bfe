/**
 * Structures that are open for keys: which parameters each needs beforehand, and how keys are
 * added. Most structures take hashes, which workers compute. `heavy-hitters`, `range-sketch` and
 * `bloomier` need the keys themselves, or more than one key per record, and are built on one
 * thread.
 */

import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  type CounterBits,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  type HashScheme,
  HeavyHitters,
  hashScheme,
  type KeyBatch,
  type KeyHashes,
  RangeSketch,
  RotatingBloomFilter,
  ScalableBloomFilter,
  type SecretKey,
  SpectralBloomFilter,
  type SpectralMethod,
  StaticFilter,
} from 'bloomery';
import { plan } from 'bloomery/math';
import type { OwnFilter, StructureOption } from '../files/structures.ts';
import { integersOf } from '../keys/integer-keys.ts';
import { DEFAULT_RATE } from '../planning/default-structure.ts';
import { UsageError } from '../usage-error.ts';

export interface BuildParameters {
  readonly structure: StructureOption;
  readonly capacity?: number | undefined;
  readonly rate?: number | undefined;
  readonly bits?: number | undefined;
  readonly hashes?: number | undefined;
  readonly layout?: string | undefined;
  readonly seed?: bigint | undefined;
  readonly hash?: string | undefined;
  readonly key?: SecretKey | undefined;
  readonly halvings?: number | undefined;
  readonly counterBits?: number | undefined;
  readonly method?: string | undefined;
  readonly error?: number | undefined;
  readonly confidence?: number | undefined;
  readonly threshold?: number | undefined;
  readonly valueBits?: number | undefined;
  readonly universeBits?: number | undefined;
  /** The number of input files: levels of an attenuated filter, generations of a rotating one. */
  readonly files: number;
}

/** A structure that takes keys until it is finished. */
export interface OpenStructure {
  /** The scheme that hashes the keys. */
  readonly scheme: HashScheme;
  /** Adds keys of file number `file`, with a value per key if the structure has values. */
  add(keys: KeyBatch, file: number, values?: readonly number[]): void;
  /** Whether `finish` reads the added hashes again, so that their memory must not be reused. */
  readonly keepsHashes?: boolean;
  finish(): OwnFilter;
}

/** Whether the number of keys must be known before the first key is added. */
export function needsCapacity({ structure, bits, capacity }: BuildParameters): boolean {
  if (capacity !== undefined) return false;
  if (structure === 'attenuated' || structure === 'rotating') return true;
  return SIZED.includes(structure) && bits === undefined;
}

/** Whether hashes suffice, so that workers can compute them. */
export function takesHashes({ structure }: BuildParameters): boolean {
  return structure !== 'heavy-hitters' && structure !== 'bloomier' && structure !== 'range-sketch';
}

/** Makes an empty structure. `capacity` must be given if `needsCapacity` says so. */
export function openStructure(parameters: BuildParameters): OpenStructure {
  checkFit(parameters);
  const open = OPENERS[parameters.structure];
  return open(parameters);
}

const SIZED: readonly StructureOption[] = ['bloom', 'blocked', 'counting', 'spectral', 'hash-list'];

/** The options that each structure understands. Any other option is refused, not ignored. */
const MEANT: Readonly<Record<StructureOption, readonly string[]>> = {
  bloom: ['capacity', 'rate', 'bits', 'hashes', 'layout', 'halvings'],
  blocked: ['capacity', 'rate', 'bits', 'hashes', 'layout', 'halvings'],
  counting: ['capacity', 'rate', 'bits', 'hashes', 'layout', 'counterBits'],
  spectral: ['capacity', 'rate', 'bits', 'hashes', 'counterBits', 'method'],
  static: ['rate', 'bits'],
  'hash-list': ['capacity', 'rate'],
  scalable: ['capacity', 'rate', 'layout'],
  rotating: ['capacity', 'rate', 'layout'],
  attenuated: ['capacity', 'rate', 'layout'],
  bloomier: ['rate', 'valueBits'],
  'count-min': ['error', 'confidence', 'counterBits', 'method'],
  'heavy-hitters': ['threshold', 'error', 'confidence', 'counterBits', 'method'],
  'range-sketch': ['universeBits', 'error', 'confidence', 'counterBits', 'method'],
};

const OPTION_NAMES: Record<string, string> = {
  counterBits: 'counter-bits',
  valueBits: 'value-bits',
  universeBits: 'universe-bits',
};

function checkFit(parameters: BuildParameters): void {
  const meant = MEANT[parameters.structure];
  for (const name of Object.keys(OPTION_OF)) {
    if ((parameters as unknown as Record<string, unknown>)[name] === undefined || meant.includes(name))
      continue;
    const options = Object.keys(MEANT) as StructureOption[];
    const takers = options.filter((option) => MEANT[option].includes(name));
    throw new UsageError(
      `--${OPTION_NAMES[name] ?? name} means nothing for --structure ${parameters.structure}; it is for ${takers.join(', ')}`,
    );
  }
}

const OPTION_OF: Record<string, true> = Object.fromEntries(
  [...new Set(Object.values(MEANT).flat())].map((name) => [name, true]),
);

const OPENERS: Readonly<Record<StructureOption, (parameters: BuildParameters) => OpenStructure>> = {
  bloom: (p) => {
    const layout = layoutOf(p, ['classic', 'partitioned'], 'classic');
    const { bits, capacity, halvings } = p;
    if (bits === undefined) {
      const sized = { capacity: capacity!, falsePositiveRate: p.rate ?? DEFAULT_RATE, layout, ...hashing(p) };
      return adding(
        BloomFilter.forCapacity({ ...sized, ...given('hashes', p.hashes), ...given('halvings', halvings) }),
      );
    }
    const hashes = p.hashes ?? hashesFor(p, layout);
    const whole = layout === 'partitioned' ? Math.ceil(bits / hashes) * hashes : bits;
    return adding(
      new BloomFilter({ bits: whole, hashes, layout, ...given('capacity', capacity), ...hashing(p) }),
    );
  },
  blocked: (p) => {
    const layout = layoutOf(p, ['blocked', 'split-block'], 'blocked') as 'blocked' | 'split-block';
    const scheme = layout === 'split-block' ? {} : hashing(p);
    const parquet = p.seed === undefined && p.key === undefined && (p.hash ?? 'xxh64') === 'xxh64';
    if (layout === 'split-block' && !parquet) {
      throw new UsageError(
        '--layout split-block has a hash of its own (Parquet): neither --seed nor --key-file nor --hash forge64',
      );
    }
    const { bits, capacity, hashes, halvings } = p;
    if (bits === undefined) {
      const sized = { capacity: capacity!, falsePositiveRate: p.rate ?? DEFAULT_RATE, layout, ...scheme };
      return adding(
        BlockedBloomFilter.forCapacity({
          ...sized,
          ...given('hashes', hashes),
          ...given('foldings', halvings),
        }),
      );
    }
    const blocks = Math.ceil(bits / (layout === 'blocked' ? 512 : 256));
    return adding(
      new BlockedBloomFilter({
        blocks,
        layout,
        ...given('hashes', hashes),
        ...given('capacity', capacity),
        ...scheme,
      }),
    );
  },
  counting: (p) => {
    const layout = layoutOf(p, ['classic', 'partitioned'], 'classic');
    const common = {
      layout,
      ...given('counterBits', p.counterBits as CounterBits | undefined),
      ...hashing(p),
    };
    if (p.bits !== undefined) {
      const hashes = p.hashes ?? hashesFor(p, layout);
      const counters = layout === 'partitioned' ? Math.ceil(p.bits / hashes) * hashes : p.bits;
      return adding(
        new CountingBloomFilter({ counters, hashes, ...given('capacity', p.capacity), ...common }),
      );
    }
    const sized = { capacity: p.capacity!, falsePositiveRate: p.rate ?? DEFAULT_RATE };
    return adding(CountingBloomFilter.forCapacity({ ...sized, ...given('hashes', p.hashes), ...common }));
  },
  spectral: (p) => {
    const method = choice(p.method, METHODS, '--method') as SpectralMethod | undefined;
    const common = {
      ...given('method', method),
      ...given('counterBits', p.counterBits as 8 | 16 | 32 | undefined),
      ...hashing(p),
    };
    if (p.bits !== undefined) {
      const hashes = p.hashes ?? hashesFor(p, 'classic');
      return adding(
        new SpectralBloomFilter({ counters: p.bits, hashes, ...given('capacity', p.capacity), ...common }),
      );
    }
    const sized = { capacity: p.capacity!, falsePositiveRate: p.rate ?? DEFAULT_RATE };
    return adding(SpectralBloomFilter.forCapacity({ ...sized, ...given('hashes', p.hashes), ...common }));
  },
  'hash-list': (p) =>
    adding(
      HashList.forCapacity({
        capacity: p.capacity!,
        falsePositiveRate: p.rate ?? DEFAULT_RATE,
        ...hashing(p),
      }),
    ),
  scalable: (p) =>
    adding(
      new ScalableBloomFilter({
        falsePositiveRate: p.rate ?? DEFAULT_RATE,
        ...given('initialCapacity', p.capacity),
        layout: layoutOf(p, ['classic', 'partitioned'], 'classic'),
        ...hashing(p),
      }),
    ),
  rotating: (p) => {
    const filter = new RotatingBloomFilter({
      generations: Math.max(2, p.files),
      capacity: p.capacity!,
      falsePositiveRate: p.rate ?? DEFAULT_RATE,
      layout: layoutOf(p, ['classic', 'partitioned'], 'classic'),
      ...hashing(p),
    });
    let newest = 0;
    return {
      scheme: filter.scheme,
      add: (keys, file) => {
        for (; newest < file; newest++) filter.rotate();
        filter.addMany(keys);
      },
      finish: () => filter,
    };
  },
  attenuated: (p) => {
    const filter = AttenuatedBloomFilter.forCapacity({
      levels: p.files,
      capacity: p.capacity!,
      falsePositiveRate: p.rate ?? DEFAULT_RATE,
      layout: layoutOf(p, ['classic', 'partitioned'], 'classic'),
      ...hashing(p),
    });
    return { scheme: filter.scheme, add: (keys, file) => filter.addMany(keys, file), finish: () => filter };
  },
  static: (p) => {
    const scheme = hashScheme(hashing(p));
    const parts: Int32Array[] = [];
    const sized =
      p.bits === undefined ? { falsePositiveRate: p.rate ?? DEFAULT_RATE } : { fingerprintBits: p.bits };
    return {
      scheme,
      keepsHashes: true,
      add: (keys) => parts.push((keys as KeyHashes).words),
      finish: () => StaticFilter.from(joinHashes(parts, scheme), { ...sized, ...hashing(p) }),
    };
  },
  bloomier: (p) => {
    const scheme = hashScheme(hashing(p));
    const parts: Int32Array[] = [];
    const values: number[] = [];
    return {
      scheme,
      add: (keys, _, given) => {
        parts.push((keys as KeyHashes).words);
        for (const value of given!) values.push(value);
      },
      finish: () => {
        const most = values.reduce((largest, value) => Math.max(largest, value), 1);
        const valueBits = p.valueBits ?? Math.ceil(Math.log2(most + 1));
        const sized = { valueBits, ...given('falsePositiveRate', p.rate), ...hashing(p) };
        return BloomierFilter.fromColumns(joinHashes(parts, scheme), values, sized);
      },
    };
  },
  'count-min': (p) =>
    adding(
      CountMinSketch.forError({
        epsilon: p.error ?? 0.0001,
        delta: 1 - (p.confidence ?? 0.99),
        ...given('update', choice(p.method, UPDATES, '--method') as 'plain' | 'conservative' | undefined),
        ...given('counterBits', p.counterBits as 32 | 64 | undefined),
        ...hashing(p),
      }),
    ),
  'heavy-hitters': (p) =>
    adding(
      HeavyHitters.forThreshold({
        threshold: p.threshold ?? 0.001,
        ...given('epsilon', p.error),
        ...given('delta', p.confidence === undefined ? undefined : 1 - p.confidence),
        ...given('update', choice(p.method, UPDATES, '--method') as 'plain' | 'conservative' | undefined),
        ...given('counterBits', p.counterBits as 32 | 64 | undefined),
        ...hashing(p),
      }),
    ),
  'range-sketch': (p) => {
    const sketch = RangeSketch.forError({
      universeBits: p.universeBits ?? 32,
      epsilon: p.error ?? 0.01,
      delta: 1 - (p.confidence ?? 0.99),
      ...given('update', choice(p.method, UPDATES, '--method') as 'plain' | 'conservative' | undefined),
      ...given('counterBits', p.counterBits as 32 | 64 | undefined),
      ...hashing(p),
    });
    return {
      scheme: sketch.scheme,
      add: (keys) => sketch.addMany(integersOf(keys, sketch.largestKey)),
      finish: () => sketch,
    };
  },
};

const METHODS = ['minimum-selection', 'minimal-increase', 'recurring-minimum'];
const UPDATES = ['plain', 'conservative'];

/** A structure that adds each batch at once. */
function adding(filter: OwnFilter & { addMany(keys: KeyBatch): unknown; scheme: HashScheme }): OpenStructure {
  return {
    scheme: filter.scheme,
    add: (keys) => {
      filter.addMany(keys);
    },
    finish: () => filter,
  };
}

function hashing({ seed, hash, key }: BuildParameters): { seed?: bigint; hash?: string; key?: SecretKey } {
  if (key !== undefined) return { key };
  return { ...given('seed', seed), ...given('hash', hash) };
}

/**
 * An object with the option if it has a value, otherwise an empty one: the library refuses options
 * that are undefined.
 */
function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): Partial<Record<Name, Exclude<Value, undefined>>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, Exclude<Value, undefined>>);
}

function layoutOf<Layout extends string>(
  { layout, structure }: BuildParameters,
  possible: readonly Layout[],
  usual: Layout,
): Layout {
  if (layout === undefined) return usual;
  if (possible.includes(layout as Layout)) return layout as Layout;
  throw new UsageError(`--layout for --structure ${structure} is ${possible.join(' or ')}, got ${layout}`);
}

function choice(value: string | undefined, possible: readonly string[], option: string): string | undefined {
  if (value === undefined || possible.includes(value)) return value;
  throw new UsageError(`${option} is ${possible.join(' or ')}, got ${value}`);
}

/** The best number of hashes for a given size. */
function hashesFor({ bits, capacity }: BuildParameters, layout: 'classic' | 'partitioned'): number {
  if (capacity === undefined) {
    throw new UsageError('--bits needs --capacity or --hashes, to know how many hashes are best');
  }
  return plan({ capacity, bits: bits!, layout }).hashes;
}

function joinHashes(parts: readonly Int32Array[], scheme: HashScheme): KeyHashes {
  const words = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    words.set(part, at);
    at += part.length;
  }
  return { scheme, words, length: words.length / 2 };
}
