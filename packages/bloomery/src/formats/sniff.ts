/**
 * Guesses the format of a file. Of these formats only Bloomery's own frame and gzip have a magic
 * number. The others are recognised because their sizes agree with each other and with the length
 * of the file. That is evidence, not proof: each guess says what agreed, and how many bits of a
 * random file would have to agree by accident. A file of zeros, or one that was made to mislead, is
 * not random.
 *
 * The file does not say how keys became bytes; see each format.
 */

import { readFuseHeader } from './binary-fuse.ts';
import { readCassandraHeader } from './cassandra.ts';
import { readDataSketchesHeader } from './datasketches.ts';
import { readDcsoHeader } from './dcso.ts';
import { readGoBloomHeader } from './go-bloom.ts';
import { readGuavaHeader } from './guava.ts';
import { readParquetHeader } from './parquet.ts';
import { readPybloomHeader } from './pybloom.ts';
import { chunkRecords, readRedisBloomHeader } from './redisbloom-dump.ts';
import type { ForeignFormat } from './shared/foreign-formats.ts';
import { checkBytes, type ForeignDecodeOptions } from './shared/foreign-reader.ts';
import { FormatError } from './shared/format-error.ts';
import { isGzip } from './shared/gzip.ts';
import { readSparkHeader } from './spark.ts';
import { readSquidHeader } from './squid.ts';

export interface FormatGuess {
  /**
   * 'bloomery' is this library's own frame, 'gzip' a compressed file. Of these formats only DCSO's
   * files are compressed.
   */
  readonly format: ForeignFormat | 'bloomery' | 'gzip';
  /** The approximate number of bits that agree here and would not in a random file. */
  readonly evidenceBits: number;
  readonly reason: string;
}

/**
 * All formats whose readers would accept the header, the strongest evidence first. Empty if there
 * is none.
 */
export function sniffFormat(bytes: Uint8Array): readonly FormatGuess[] {
  checkBytes('bytes', bytes);
  const guesses: FormatGuess[] = [];
  for (const [format, { evidenceBits, reason, read }] of Object.entries(READERS)) {
    try {
      const got = read(bytes);
      if (got !== false) guesses.push({ format: format as FormatGuess['format'], evidenceBits, reason });
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
  }
  return guesses.sort((a, b) => b.evidenceBits - a.evidenceBits);
}

interface Reader extends Omit<FormatGuess, 'format'> {
  /** Throws a `FormatError` or returns false if it is another format. */
  readonly read: (bytes: Uint8Array) => unknown;
}

/** Only headers are read, and only JSON needs an allocation, so the limit does not matter. */
const ANY_SIZE: ForeignDecodeOptions = { maxBytes: Number.MAX_SAFE_INTEGER };
const MAGIC = [0x42, 0x4c, 0x4d, 0x59];

const READERS: { readonly [F in FormatGuess['format']]: Reader } = {
  bloomery: {
    evidenceBits: 32,
    reason: "begins with 'BLMY'",
    read: (bytes) => MAGIC.every((byte, i) => bytes[i] === byte),
  },
  gzip: { evidenceBits: 16, reason: 'begins with 1F 8B', read: isGzip },
  guava: {
    evidenceBits: 39,
    reason: 'strategy 0 or 1, and as many words as it declares',
    read: (bytes) => readGuavaHeader(bytes, ANY_SIZE),
  },
  redisbloom: {
    evidenceBits: 190,
    reason: 'chunks with their iterators, and a header whose sizes and hashes agree',
    read: (bytes) => {
      let header: unknown;
      for (const { iterator, data } of chunkRecords(bytes)) {
        if (header === undefined && iterator !== 1) return false;
        header ??= readRedisBloomHeader(data);
      }
      return header;
    },
  },
  parquet: {
    evidenceBits: 134,
    reason: 'the Thrift header of a split-block filter with XXHASH, and as many bytes as it declares',
    read: (bytes) => readParquetHeader(bytes, ANY_SIZE, true),
  },
  dcso: {
    evidenceBits: 152,
    reason: 'version 1 without flags, a rate between 0 and 1, sane k and m, and enough words',
    read: (bytes) => readDcsoHeader(bytes, ANY_SIZE),
  },
  'go-bloom': {
    evidenceBits: 120,
    reason: 'sane m and k, and a bitset as long as it declares',
    read: (bytes) => readGoBloomHeader(bytes, ANY_SIZE),
  },
  squid: {
    evidenceBits: 100,
    reason: 'version 5 or older, 4 hash functions, and a mask of the declared capacity',
    read: (bytes) => readSquidHeader(bytes, ANY_SIZE),
  },
  'binary-fuse': {
    evidenceBits: 120,
    reason: 'segments of a power of two, and as many fingerprints as they make',
    read: (bytes) => readFuseHeader(bytes, ANY_SIZE),
  },
  spark: {
    evidenceBits: 80,
    reason: 'version 1 or 2, sane k, and as many words as it declares',
    read: (bytes) => readSparkHeader(bytes, ANY_SIZE),
  },
  datasketches: {
    evidenceBits: 55,
    reason: 'version 1 of family 21, and as many longs as it declares',
    read: (bytes) => readDataSketchesHeader(bytes, ANY_SIZE),
  },
  cassandra: {
    evidenceBits: 58,
    reason: 'at most 20 hashes, and as many words as it declares',
    read: (bytes) => readCassandraHeader(bytes, ANY_SIZE),
  },
  pybloom: {
    evidenceBits: 150,
    reason: 'a rate between 0 and 1, slices of the size that it needs, and as many bits as they have',
    read: (bytes) => readPybloomHeader(bytes, ANY_SIZE),
  },
};
