import { withEffort } from '@bloomery/testkit/effort';
import * as files from '@bloomery/testkit/golden/foreign-files';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { BloomFilter } from '../filters/bloom-filter.ts';
import { DcsoFilter } from './dcso.ts';
import { GuavaFilter } from './guava.ts';
import { RedisBloomFilter } from './redisbloom.ts';
import { cannotConvert } from './shared/foreign-filter.ts';
import { sniffFormat } from './sniff.ts';
import { SquidDigest } from './squid.ts';

const FILES = [
  ['guava', files.GUAVA_UTF8],
  ['guava', files.GUAVA_UTF16],
  ['redisbloom', files.REDISBLOOM],
  ['redisbloom', files.REDISBLOOM_CHAIN],
  ['parquet', files.PARQUET_XXHASH],
  ['dcso', files.DCSO],
  ['gzip', files.DCSO_GZIP],
  ['go-bloom', files.GO_BINARY],
  ['go-bloom', files.GO_JSON],
  ['squid', files.SQUID],
  ['binary-fuse', files.FUSE8_GO],
  ['binary-fuse', files.FUSE8_C],
  ['binary-fuse', files.FUSE16_C],
  ['spark', files.SPARK_V1],
  ['spark', files.SPARK_V2],
  ['datasketches', files.DATASKETCHES],
  ['cassandra', files.CASSANDRA_3],
  ['cassandra', files.CASSANDRA_4],
  ['pybloom', files.PYBLOOM_MD5],
  ['pybloom', files.PYBLOOM_TWO_ROUNDS],
] as const;

test('every file is taken for what it is, and for nothing else', () => {
  for (const [format, file] of FILES) {
    expect(sniffFormat(file).map((guess) => guess.format)).toEqual([format]);
    expect(sniffFormat(file)[0].reason).not.toBe('');
  }
  const frame = new BloomFilter({ bits: 100, hashes: 3 }).encode();
  expect(sniffFormat(frame).map(({ format }) => format)).toEqual(['bloomery']);
});

test('a file that two formats would take: the better founded guess comes first', () => {
  // The version and required version of Squid, 00 05 00 03, are strategy 0, k = 5 and 2^17 + 2^16
  // words or more to Guava; for this capacity that makes the length of the file.
  const digest = SquidDigest.create({ capacity: 2_516_873 }).encode();
  expect(GuavaFilter.decode(digest).hashes).toBe(5);
  expect(sniffFormat(digest).map((guess) => guess.format)).toEqual(['squid', 'guava']);
});

test('what is no filter is taken for none', () => {
  for (const bytes of [
    [],
    [0],
    [1],
    [0x15],
    [0x7b],
    [1, 7, 0, 0, 0, 1],
    files.GUAVA_8463,
    files.DCSO_BROKEN,
  ]) {
    expect(sniffFormat(Uint8Array.from(bytes))).toEqual([]);
  }
  expect(sniffFormat(files.FLEUR_HANG)).toEqual([]);
  // The header of a chain without whole records behind it, and a record that is no header.
  expect(sniffFormat(files.REDISBLOOM.subarray(0, -1))).toEqual([]);
  const later = Uint8Array.from(files.REDISBLOOM);
  later[0] = 2;
  expect(sniffFormat(later)).toEqual([]);
  // A byte too many.
  expect(sniffFormat(Uint8Array.of(...files.PARQUET_XXHASH, 0))).toEqual([]);
  // A file of zeros, as disks leave behind: looked at once, without an object for every 16 bytes.
  expect(sniffFormat(new Uint8Array(2 ** 26))).toEqual([]);
  expect(() => sniffFormat('x' as never)).toThrow(TypeError);
  const random = new Random(2);
  for (let i = 0; i < withEffort(3000); i++) {
    expect(sniffFormat(random.bytes(random.below(200))).filter(({ format }) => format !== 'gzip')).toEqual(
      [],
    );
  }
});

test('there is no conversion, and the error says why', () => {
  const guava = GuavaFilter.decode(files.GUAVA_UTF8);
  const redis = RedisBloomFilter.decode(files.REDISBLOOM);
  expect(cannotConvert(guava, redis)).toBeInstanceOf(RangeError);
  expect(cannotConvert(guava, redis).message).toBe(
    'Cannot convert a guava filter (murmur3-x64-128/MURMUR128_MITZ_64) to redisbloom (murmur64a/c6a4a7935bd1e995): ' +
      'a filter holds bits, not keys, and the other hash would have set other bits (add the keys to a new filter)',
  );
  // And combining unlike ones is refused, whatever they are.
  const dcso = DcsoFilter.decode(files.DCSO);
  expect(() => guava.merge(dcso as never)).toThrow(/Cannot merge unlike filters: GuavaFilter.*DcsoFilter/);
  expect(() => dcso.merge(redis as never)).toThrow(/Cannot merge unlike filters/);
  expect(() => redis.merge(guava as never)).toThrow(/Cannot merge unlike filters/);
});
