import {
  CASSANDRA_4,
  DATASKETCHES,
  DCSO,
  DCSO_GZIP,
  FUSE8_GO,
  GO_BINARY,
  GO_JSON,
  GUAVA_UTF8,
  KEYS,
  PARQUET_XXHASH,
  PYBLOOM_SHA256,
  REDISBLOOM,
  SPARK_V2,
  SQUID,
} from '@bloomery/testkit/golden/foreign-files';
import { Random } from '@bloomery/testkit/statistics';
import { BloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { askFilter } from './ask-filter.ts';
import { describeFilter } from './describe-filter.ts';
import { OpenFilterError, openFilter, type SlicedFile } from './open-filter.ts';

function fileOf(bytes: Uint8Array, name = 'file'): SlicedFile {
  return new File([bytes.slice()], name);
}

function open(bytes: Uint8Array, name?: string) {
  return openFilter(fileOf(bytes, name), () => {});
}

test.each([
  ['guava', GUAVA_UTF8, KEYS.length],
  ['redisbloom', REDISBLOOM, KEYS.length],
  ['dcso', DCSO, KEYS.length],
  ['dcso', DCSO_GZIP, KEYS.length],
  ['go-bloom', GO_BINARY, KEYS.length],
  ['go-bloom', GO_JSON, KEYS.length],
  ['spark', SPARK_V2, KEYS.length],
  ['datasketches', DATASKETCHES, KEYS.length],
  ['cassandra', CASSANDRA_4, KEYS.length],
  ['pybloom', PYBLOOM_SHA256, 100],
] as const)('a file of %s is recognised and answers its keys', async (format, bytes, count) => {
  const opened = await open(bytes);
  expect(opened.format).toBe(format);
  const keys = KEYS.slice(0, count).filter((key) => {
    const answer = askFilter(opened, key);
    return 'isMaybe' in answer && answer.isMaybe;
  });
  expect(keys.length).toBe(count);
  const strangers = Array.from({ length: 1000 }, (_, i) => askFilter(opened, `absent-${i}`));
  // 1 % of 1,000, or 3 %: five standard deviations above are 57.
  expect(strangers.filter((answer) => 'isMaybe' in answer && answer.isMaybe).length).toBeLessThan(60);
  expect(describeFilter(opened).numbers.hashes).toBeGreaterThan(0);
});

test('files whose keys are numbers, URLs or unknown are opened, and say so', async () => {
  const fuse = await open(FUSE8_GO);
  expect(askFilter(fuse, 'no number')).toEqual({ problem: 'Its keys are whole numbers' });
  expect(askFilter(await open(SQUID), 'no URL')).toEqual({ isMaybe: false });
  expect((await open(PARQUET_XXHASH)).format).toBe('parquet');
});

test('every cut and every damage of a frame is an OpenFilterError or a filter, and nothing else', async () => {
  const filter = BloomFilter.forCapacity({ capacity: 60, falsePositiveRate: 0.01 });
  filter.addMany(KEYS.slice(0, 60));
  const frame = filter.encode();
  const random = new Random(25);
  const damaged = Array.from({ length: 200 }, () => {
    const copy = frame.slice();
    copy[random.below(copy.length)] ^= 1 << random.below(8);
    return copy;
  });
  const cut = Array.from({ length: frame.length - 1 }, (_, length) => frame.slice(0, length));
  for (const bytes of [...cut, ...damaged]) {
    const error = await open(bytes).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(OpenFilterError);
  }
});
