/**
 * The formats that `convert` can write, and the sources for each. There are two ways.
 *
 * A bridge needs no keys, because the bits stay the same and only their form changes. The source is
 * another file of the same hash and size, or a structure that contains the bits (a counter above 0
 * is a one). All bridges are exact: the new file answers every question as the old one does.
 *
 * Between different hashes the keys are needed (`cannotConvert` of the library says why). `create`
 * makes an empty filter for them, with the target's own sizing.
 */

import {
  BlockedBloomFilter,
  BloomFilter,
  CountingBloomFilter,
  HashList,
  type KeyBatch,
  type SecretKey,
} from 'bloomery';
import type { ForeignFormat } from 'bloomery/formats';
import { BinaryFuseFile } from 'bloomery/formats/binary-fuse';
import { DataSketchesFilter } from 'bloomery/formats/datasketches';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { GuavaFilter, type GuavaFunnel } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { SparkFilter } from 'bloomery/formats/spark';
import { SquidDigest } from 'bloomery/formats/squid';
import { rateAsymptotic } from 'bloomery/math';
import { compressFrame } from 'bloomery/wire';
import type { FilterFile } from '../files/filter-file.ts';
import { eachKey } from '../keys/each-key.ts';
import { UsageError } from '../usage-error.ts';
import { bloomFilterOf } from './comparable-files.ts';
import type { AnyFilter, Design } from './filter-facts.ts';
import { funnelOfBytes, guavaKey, textOf } from './guava-keys.ts';
import { loadCommands } from './load-commands.ts';

/** A new filter, empty at first, to which the keys are added. */
interface NewFilter {
  readonly filter: AnyFilter;
  addMany(keys: KeyBatch): void;
  encode(): Uint8Array | Promise<Uint8Array>;
}

/** Names that the user gave for the new file. */
interface TargetNames {
  /** The key in Redis, for commands that load a filter. */
  readonly redisKey?: string | undefined;
}

export interface CreateOptions extends Design, TargetNames {
  readonly funnel: GuavaFunnel;
  /**
   * For the library's own structures: the hash and its seed, or the secret key, of the filter that
   * is converted.
   */
  readonly hash?: string;
  readonly seed?: bigint;
  readonly key?: SecretKey | undefined;
}

export interface Target {
  readonly name: string;
  readonly what: string;
  /** The sources that need no keys, for `--list`. */
  readonly bridges: string;
  /**
   * The hash and how indices come from it, for the error that says why bits cannot be converted.
   */
  readonly hash: string;
  /** Returns the new file if no keys are needed, otherwise undefined. */
  bridge(file: FilterFile, names: TargetNames): Uint8Array | Promise<Uint8Array> | undefined;
  /** Creates an empty filter for the keys; undefined if this target is never built from keys. */
  readonly create?: (options: CreateOptions) => NewFilter;
}

/** All targets, in the order of `--list`. */
export const TARGETS: readonly Target[] = [
  {
    name: 'bloomery',
    what: 'a plain file of the same structure',
    bridges: 'all of bloomery, coded or not; parquet',
    hash: 'forge64 classic',
    bridge: ({ filter, format }) => {
      if (filter instanceof ParquetFilter) return filter.filter.encode();
      return format === 'bloomery' ? filter.encode() : undefined;
    },
    create: (options) => own(BloomFilter.forCapacity(sizing(options))),
  },
  {
    name: 'coded',
    what: 'as bloomery encode makes it',
    bridges: 'all of bloomery',
    hash: 'forge64',
    bridge: (file) => (file.format === 'bloomery' ? compressFrame(file.frame) : undefined),
  },
  {
    name: 'bloom',
    what: 'BloomFilter',
    bridges: 'bloom, counting, spectral, hash-list, rotating',
    hash: 'forge64 classic',
    bridge: ({ filter }) => bloomFilterOf(filter)?.encode(),
    create: (options) => own(BloomFilter.forCapacity(sizing(options))),
  },
  {
    name: 'hash-list',
    what: 'HashList',
    bridges: 'the same, with the classic layout',
    hash: 'forge64 classic',
    bridge: ({ filter }) => {
      if (filter instanceof HashList) return filter.encode();
      const bloom = bloomFilterOf(filter);
      return bloom?.layout === 'classic' ? HashList.fromFilter(bloom).encode() : undefined;
    },
    create: (options) => own(HashList.forCapacity(sizing(options))),
  },
  {
    name: 'counting',
    what: 'CountingBloomFilter',
    bridges: 'counting',
    hash: 'forge64 counters',
    bridge: ({ filter }) => (filter instanceof CountingBloomFilter ? filter.encode() : undefined),
    create: (options) => own(CountingBloomFilter.forCapacity(sizing(options))),
  },
  {
    name: 'blocked',
    what: 'BlockedBloomFilter',
    bridges: 'blocked',
    hash: 'forge64 blocked',
    bridge: ({ filter }) => blockedLike(filter, 'blocked')?.encode(),
    create: (options) => own(BlockedBloomFilter.forCapacity(sizing(options))),
  },
  {
    name: 'split-block',
    what: "BlockedBloomFilter, Parquet's layout",
    bridges: 'split-block, parquet',
    hash: 'xxh64/0 split-block',
    bridge: ({ filter }) => blockedLike(filter, 'split-block')?.encode(),
    create: ({ capacity, falsePositiveRate }) =>
      own(BlockedBloomFilter.forCapacity({ capacity, falsePositiveRate, layout: 'split-block' })),
  },
  {
    name: 'parquet',
    what: "Parquet's filter with its header",
    bridges: 'parquet, split-block',
    hash: 'xxh64/0 split-block',
    bridge: ({ filter }) => {
      const blocks = blockedLike(filter, 'split-block');
      return blocks && new ParquetFilter(blocks).encode();
    },
    create: ({ capacity, falsePositiveRate }) => {
      const filter = ParquetFilter.create({ capacity, falsePositiveRate });
      return {
        filter,
        addMany: (keys) => {
          filter.filter.addMany(keys);
        },
        encode: () => filter.encode(),
      };
    },
  },
  {
    name: 'guava',
    what: "Guava's BloomFilter (Java), --funnel",
    bridges: 'guava',
    hash: 'murmur3-x64-128/MURMUR128_MITZ_64',
    bridge: ({ filter }) => (filter instanceof GuavaFilter ? filter.encode() : undefined),
    create: ({ capacity, falsePositiveRate, funnel }) =>
      foreign(
        GuavaFilter.create({ capacity, falsePositiveRate, funnel: funnelOfBytes(funnel) }),
        guavaKey(funnel),
      ),
  },
  {
    name: 'redisbloom',
    what: 'chunks of BF.SCANDUMP in one file',
    bridges: 'redisbloom',
    hash: 'murmur64a/c6a4a7935bd1e995',
    bridge: ({ filter }) => (filter instanceof RedisBloomFilter ? filter.encode() : undefined),
    create: ({ capacity, falsePositiveRate }) =>
      foreign(RedisBloomFilter.create({ capacity, falsePositiveRate }), asIs),
  },
  {
    name: 'redis-cli',
    what: 'BF.LOADCHUNK commands for redis-cli --pipe',
    bridges: 'redisbloom',
    hash: 'murmur64a/c6a4a7935bd1e995',
    bridge: ({ filter }, { redisKey }) =>
      filter instanceof RedisBloomFilter ? loadCommands(filter, keyOf(redisKey)) : undefined,
    create: ({ capacity, falsePositiveRate, redisKey }) => {
      const filter = RedisBloomFilter.create({ capacity, falsePositiveRate });
      const key = keyOf(redisKey);
      return { ...foreign(filter, asIs), encode: () => loadCommands(filter, key) };
    },
  },
  {
    name: 'dcso',
    what: "DCSO's bloom, flor, fleur",
    bridges: 'dcso, gzip or not',
    hash: 'fnv1-64/dcso',
    bridge: ({ filter }) => (filter instanceof DcsoFilter ? filter.encode() : undefined),
    create: ({ capacity, falsePositiveRate }) =>
      foreign(DcsoFilter.create({ capacity, falsePositiveRate }), asIs),
  },
  {
    name: 'dcso-gzip',
    what: 'the same in gzip',
    bridges: 'dcso, gzip or not',
    hash: 'fnv1-64/dcso',
    bridge: ({ filter }) => (filter instanceof DcsoFilter ? filter.encodeGzip() : undefined),
    create: ({ capacity, falsePositiveRate }) => {
      const filter = DcsoFilter.create({ capacity, falsePositiveRate });
      return { ...foreign(filter, asIs), encode: () => filter.encodeGzip() };
    },
  },
  {
    name: 'go-bloom',
    what: 'bits-and-blooms/bloom (Go), binary',
    bridges: 'go-bloom, binary or JSON',
    hash: 'murmur3-x64-128/bits-and-blooms',
    bridge: ({ filter }) => (filter instanceof GoBloomFilter ? filter.encode('binary') : undefined),
    create: ({ capacity, falsePositiveRate }) =>
      foreign(GoBloomFilter.create({ capacity, falsePositiveRate }), asIs),
  },
  {
    name: 'go-bloom-json',
    what: 'the same as JSON',
    bridges: 'go-bloom, binary or JSON',
    hash: 'murmur3-x64-128/bits-and-blooms',
    bridge: ({ filter }) => (filter instanceof GoBloomFilter ? filter.encode('json') : undefined),
    create: ({ capacity, falsePositiveRate }) => {
      const filter = GoBloomFilter.create({ capacity, falsePositiveRate });
      return { ...foreign(filter, asIs), encode: () => filter.encode('json') };
    },
  },
  {
    name: 'squid',
    what: "Squid's Cache Digest; keys are URLs",
    bridges: 'squid',
    hash: 'md5/squid',
    bridge: ({ filter }) => (filter instanceof SquidDigest ? filter.encode() : undefined),
    create: ({ capacity, falsePositiveRate }) =>
      foreign(SquidDigest.create({ capacity, bitsPerEntry: squidBits(falsePositiveRate) }), textOf),
  },
  sparkTarget('spark', 2, "Spark's BloomFilter, from Spark 4.1 on"),
  sparkTarget('spark-v1', 1, 'the same for earlier Sparks'),
  {
    name: 'datasketches',
    what: 'Apache DataSketches, seed 9001',
    bridges: 'datasketches',
    hash: 'xxh64/2329 datasketches',
    bridge: ({ filter }) => (filter instanceof DataSketchesFilter ? filter.encode() : undefined),
    create: ({ capacity, falsePositiveRate }) =>
      foreign(DataSketchesFilter.create({ capacity, falsePositiveRate }), javaText),
  },
  fuseTarget('binary-fuse', 'go', 'FastFilter in Go; keys are integers'),
  fuseTarget('binary-fuse-c', 'c', 'the same in C'),
];

function keyOf(redisKey: string | undefined): string {
  if (redisKey === undefined)
    throw new UsageError('--to redis-cli needs --redis-key, the key that the filter gets in Redis');
  return redisKey;
}

/** Formats that can be read, but written only in the form in which they were read. */
export const READ_ONLY: readonly { readonly name: ForeignFormat; readonly what: string }[] = [
  { name: 'cassandra', what: "Cassandra's Filter.db" },
  { name: 'pybloom', what: 'pybloom-live (Python)' },
];

/**
 * Binary fuse filters are built from all keys at once. The rate chooses the width of a fingerprint:
 * 8, 16 or 32 bits.
 */
function fuseTarget(name: string, layout: 'go' | 'c', what: string): Target {
  return {
    name,
    what,
    bridges: layout === 'go' ? 'binary-fuse of Go' : 'binary-fuse of C',
    hash: 'murmur3-finaliser fuse',
    bridge: ({ filter }) =>
      filter instanceof BinaryFuseFile && filter.layout === layout ? filter.encode() : undefined,
    create: ({ falsePositiveRate }) => {
      const fingerprintBits = fuseWidth(falsePositiveRate, layout);
      const integers: bigint[] = [];
      let built: BinaryFuseFile | undefined;
      const build = () => {
        built ??= BinaryFuseFile.from(integers, { layout, fingerprintBits });
        return built;
      };
      return {
        get filter() {
          return build();
        },
        addMany: (keys) => {
          for (const key of eachKey(keys)) integers.push(integerKey(textOf(key), name));
        },
        encode: () => build().encode(),
      };
    },
  };
}

function fuseWidth(rate: number, layout: 'go' | 'c'): 8 | 16 | 32 {
  if (rate >= 2 ** -8) return 8;
  if (rate >= 2 ** -16) return 16;
  if (rate >= 2 ** -32 && layout === 'go') return 32;
  const least = layout === 'go' ? '2.4e-10' : '1.6e-5';
  throw new UsageError(`binary fuse filters of ${layout} have no rate below ${least}; --rate sets another`);
}

function integerKey(text: string, target: string): bigint {
  const digits = text.trim();
  const value = /^-?\d+$/.test(digits) ? BigInt(digits) : undefined;
  if (value !== undefined && (BigInt.asUintN(64, value) === value || BigInt.asIntN(64, value) === value)) {
    return value;
  }
  throw new UsageError(
    `--to ${target} takes integers of 64 bits as keys, got ${JSON.stringify(text.slice(0, 40))}`,
  );
}

/** Both versions have their own indices, so a filter of one never becomes a filter of the other. */
function sparkTarget(name: string, version: 1 | 2, what: string): Target {
  return {
    name,
    what,
    bridges: version === 1 ? 'spark of version 1' : 'spark of version 2',
    hash: `spark-murmur3/0 version ${version}`,
    bridge: ({ filter }) =>
      filter instanceof SparkFilter && filter.version === version ? filter.encode() : undefined,
    create: ({ capacity, falsePositiveRate }) =>
      foreign(SparkFilter.create({ capacity, falsePositiveRate, version }), javaText),
  };
}

type Adding = AnyFilter & { addMany(keys: KeyBatch): unknown; encode(): Uint8Array };

function own(filter: Adding): NewFilter {
  return {
    filter,
    addMany: (keys) => {
      filter.addMany(keys);
    },
    encode: () => filter.encode(),
  };
}

function foreign<K>(
  filter: { add(key: K): boolean; encode(): Uint8Array },
  keyOf: (key: Uint8Array) => K,
): NewFilter {
  return {
    filter: filter as unknown as AnyFilter,
    addMany: (keys) => {
      for (const key of eachKey(keys)) filter.add(keyOf(key));
    },
    encode: () => filter.encode(),
  };
}

/** The text of a line, as `check` asks for it: a byte order mark stays a part of the key. */
function javaText(key: Uint8Array): string {
  return JAVA_TEXT.decode(key);
}

const JAVA_TEXT = new TextDecoder('utf-8', { ignoreBOM: true });

function asIs(key: Uint8Array): Uint8Array {
  return key;
}

function sizing({ capacity, falsePositiveRate, hash, seed, key }: CreateOptions) {
  const hashing =
    key !== undefined ? { key } : hash !== undefined && seed !== undefined ? { hash, seed } : {};
  return { capacity, falsePositiveRate, ...hashing };
}

function blockedLike(filter: AnyFilter, layout: string): BlockedBloomFilter | undefined {
  const blocked = filter instanceof ParquetFilter ? filter.filter : filter;
  return blocked instanceof BlockedBloomFilter && blocked.layout === layout ? blocked : undefined;
}

/** The smallest number of bits per entry that keeps the rate with Squid's four hashes. */
function squidBits(rate: number): number {
  for (let bits = 1; bits <= 255; bits++) if (rateAsymptotic(bits * 1e6, 4, 1e6) <= rate) return bits;
  throw new UsageError(
    `a digest of Squid has 4 hashes and at most 255 bits an entry: rates below ${rateAsymptotic(255e6, 4, 1e6).toExponential(1)} are out of reach`,
  );
}
