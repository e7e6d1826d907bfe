/** Every decoder of a foreign format with a file to begin from: for `node tools/fuzz.mjs`. */

import * as files from '@bloomery/testkit/golden/foreign-files';
import { BinaryFuseFile } from '../src/formats/binary-fuse.ts';
import { CassandraFilter } from '../src/formats/cassandra.ts';
import { DataSketchesFilter } from '../src/formats/datasketches.ts';
import { DcsoFilter } from '../src/formats/dcso.ts';
import { GoBloomFilter } from '../src/formats/go-bloom.ts';
import { GuavaFilter } from '../src/formats/guava.ts';
import { ParquetFilter } from '../src/formats/parquet.ts';
import { PybloomFilter } from '../src/formats/pybloom.ts';
import { RedisBloomFilter } from '../src/formats/redisbloom.ts';
import { SparkFilter } from '../src/formats/spark.ts';
import { SquidDigest } from '../src/formats/squid.ts';
import { type FuzzSubject, fuzzDecoder } from './fuzz-formats.ts';

export { fuzzDecoder };

const guava = (bytes: Uint8Array) => GuavaFilter.decode(bytes, { funnel: 'utf8' });
// Variants that no file in golden/ has: the same bits behind another header.
const guava32 = Uint8Array.from(files.GUAVA_UTF8).fill(0, 0, 1);
const emptySketch = Uint8Array.of(3, 1, 21, 4, ...files.DATASKETCHES.subarray(4, 24));

export const SUBJECTS: readonly FuzzSubject[] = [
  { name: 'guava', format: 'guava', file: files.GUAVA_UTF8, headerLength: 6, decode: guava, probe: 'x' },
  { name: 'guava-32', format: 'guava', file: guava32, headerLength: 6, decode: guava, probe: 'x' },
  subject('redisbloom', 'redisbloom', files.REDISBLOOM, 105, RedisBloomFilter.decode),
  subject('redisbloom-chain', 'redisbloom', files.REDISBLOOM_CHAIN, 317, RedisBloomFilter.decode),
  subject('redisbloom-old', 'redisbloom', files.REDISBLOOM_OLD32, 158, RedisBloomFilter.decode),
  subject('parquet', 'parquet', files.PARQUET_XXHASH, 16, ParquetFilter.decode),
  subject('dcso', 'dcso', files.DCSO, 48, DcsoFilter.decode),
  subject('go-binary', 'go-bloom', files.GO_BINARY, 24, GoBloomFilter.decode),
  { ...subject('go-json', 'go-bloom', files.GO_JSON, 40, GoBloomFilter.decode), manyForms: true },
  { ...subject('squid', 'squid', files.SQUID, 128, SquidDigest.decode), probe: 'http://x/' },
  { ...subject('fuse-go', 'binary-fuse', files.FUSE8_GO, 28, BinaryFuseFile.decode), probe: 7 },
  { ...subject('fuse-c16', 'binary-fuse', files.FUSE16_C, 28, BinaryFuseFile.decode), probe: 7 },
  subject('spark', 'spark', files.SPARK_V2, 16, SparkFilter.decode),
  subject('spark-1', 'spark', files.SPARK_V1, 12, SparkFilter.decode),
  subject('datasketches', 'datasketches', files.DATASKETCHES, 32, DataSketchesFilter.decode),
  subject('datasketches-empty', 'datasketches', emptySketch, 24, DataSketchesFilter.decode),
  subject('cassandra', 'cassandra', files.CASSANDRA_4, 8, CassandraFilter.decode),
  subject('pybloom', 'pybloom', files.PYBLOOM_SHA256, 40, (bytes) =>
    PybloomFilter.decode(bytes, { beforeVersion4: true }),
  ),
];

function subject(
  name: string,
  format: FuzzSubject['format'],
  file: Uint8Array,
  headerLength: number,
  decode: FuzzSubject['decode'],
): FuzzSubject {
  return { name, format, file, headerLength, decode: (bytes) => decode(bytes), probe: 'x' };
}
