/**
 * Opens a filter file in the browser, in slices, as the command does: frames of the library, plain
 * or coded, and the files of other systems. It runs in a worker, so that a gigabyte does not freeze
 * the page. The file never leaves the machine.
 *
 * Untrusted bytes. Files above 1 GiB are refused before a byte is read, and what a head declares
 * is compared with the same limit before anything is allocated. A plain frame of bits is read
 * straight into its filter; other files are in memory once more while they are decoded.
 */

import { FrameError } from 'bloomery';
import { type ForeignFilter, type ForeignFormat, FormatError } from 'bloomery/formats';
import { BinaryFuseFile } from 'bloomery/formats/binary-fuse';
import { CassandraFilter, cassandraRelease } from 'bloomery/formats/cassandra';
import { DataSketchesFilter } from 'bloomery/formats/datasketches';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { GuavaFilter } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { PybloomFilter } from 'bloomery/formats/pybloom';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { sniffFormat } from 'bloomery/formats/sniff';
import { SparkFilter } from 'bloomery/formats/spark';
import { SquidDigest } from 'bloomery/formats/squid';
import {
  type AnyFilter,
  DELTA_MAGIC,
  decodeFilter,
  FilterAssembler,
  FRAME_MAGIC,
  hasMagic,
  readFrameHead,
  SIGNATURE_MAGIC,
  withoutKey,
} from 'bloomery/frames';
import { expandFrame } from 'bloomery/wire';
import { OnesMap } from './ones-map.ts';

/** The largest file that is opened. */
const MOST_BYTES = 2 ** 30;
const SLICE = 4 * 2 ** 20;
const LIMIT = { maxBytes: MOST_BYTES };

export interface OpenedFilter {
  readonly format: 'bloomery' | ForeignFormat;
  readonly filter: AnyFilter | ForeignFilter<never>;
  readonly isCoded: boolean;
  /** The reason why it cannot be asked, or null. */
  readonly whyMute: string | null;
  /** Share of ones in each of up to 512 equal parts of the file. */
  readonly ones: Float32Array;
}

/** A file that cannot be opened; the message is for the reader. */
export class OpenFilterError extends Error {
  override readonly name = 'OpenFilterError';
}

/** The part of a `File` that is needed. */
export interface SlicedFile {
  readonly name: string;
  readonly size: number;
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

export async function openFilter(file: SlicedFile, advanced: (bytes: number) => void): Promise<OpenedFilter> {
  const { size } = file;
  if (size === 0) throw new OpenFilterError('Cannot open the file: it is empty');
  if (size > MOST_BYTES)
    throw new OpenFilterError(
      'Cannot open the file: it is above 1 GiB (`bloomery info` and `bloomery check` read larger ones)',
    );
  const ones = new OnesMap(size);
  const sink = sinkFor(await bytesOf(file, 0, Math.min(size, 64)), size);
  try {
    for (let start = 0; start < size; start += SLICE) {
      const bytes = await bytesOf(file, start, Math.min(size, start + SLICE));
      ones.add(start, bytes);
      sink.push(bytes);
      advanced(start + bytes.length);
    }
    return { ...(await sink.finish(file.name)), ones: ones.shares() };
  } catch (error) {
    if (error instanceof FrameError || error instanceof FormatError) throw new OpenFilterError(error.message);
    // The browser refused to give that much memory in one piece.
    if (error instanceof RangeError && /allocation|array buffer|length/i.test(error.message))
      throw new OpenFilterError(
        'Cannot open the file: this browser has not enough memory for it (`bloomery info` needs less)',
      );
    throw error;
  }
}

async function bytesOf(file: SlicedFile, start: number, end: number): Promise<Uint8Array> {
  try {
    return new Uint8Array(await file.slice(start, end).arrayBuffer());
  } catch {
    throw new OpenFilterError('Cannot read the file: was it moved, or changed?');
  }
}

type Opened = Omit<OpenedFilter, 'ones'>;

interface Sink {
  push(bytes: Uint8Array): void;
  finish(name: string): Opened | Promise<Opened>;
}

function sinkFor(first: Uint8Array, size: number): Sink {
  if (hasMagic(DELTA_MAGIC, first))
    throw new OpenFilterError(
      'Cannot open the file: it is a delta, not a filter (`bloomery apply` makes the filter of it)',
    );
  if (hasMagic(SIGNATURE_MAGIC, first))
    throw new OpenFilterError(
      'Cannot open the file: it is a signature, not a filter (`bloomery verify` uses it)',
    );
  if (hasMagic(FRAME_MAGIC, first)) {
    const head = headOf(first);
    const isBits = head?.structure === 'BloomFilter' || head?.structure === 'BlockedBloomFilter';
    if (head !== null && isBits && !head.coded && !head.hash.keyed) return assembling();
  }
  return collecting(size);
}

function headOf(first: Uint8Array) {
  try {
    return readFrameHead(first);
  } catch (error) {
    // A head that is wrong is refused with the whole file in hand, which gives the better message.
    if (error instanceof FrameError) return null;
    throw error;
  }
}

function assembling(): Sink {
  const assembler = new FilterAssembler(LIMIT);
  return {
    push: (bytes) => assembler.push(bytes),
    finish: () => ({ format: 'bloomery', filter: assembler.finish(), isCoded: false, whyMute: null }),
  };
}

function collecting(size: number): Sink {
  const whole = new Uint8Array(size);
  let length = 0;
  return {
    push(bytes) {
      whole.set(bytes, length);
      length += bytes.length;
    },
    finish: (name) => openBytes(whole, name),
  };
}

async function openBytes(bytes: Uint8Array, name: string): Promise<Opened> {
  const [guess] = sniffFormat(bytes);
  if (guess === undefined)
    throw new OpenFilterError(
      'Cannot open the file: it is no filter that Bloomery knows (its own, and those of Guava, RedisBloom’s SCANDUMP, Parquet, DCSO, bits-and-blooms of Go, Squid, Binary Fuse, Spark, DataSketches, Cassandra and pybloom)',
    );
  if (guess.format === 'bloomery') return openOwn(bytes);
  const format = guess.format === 'gzip' ? 'dcso' : guess.format;
  const filter = await READERS[format](bytes, name);
  const isDigestless = format === 'pybloom' && (filter as { digest?: string }).digest === undefined;
  const whyMute = isDigestless
    ? 'It does not say which hash its version of pybloom used, so it cannot be asked here'
    : null;
  return { format, filter, isCoded: false, whyMute };
}

function openOwn(bytes: Uint8Array): Opened {
  const { coded: isCoded } = readFrameHead(bytes);
  const frame = isCoded ? expandFrame(bytes, LIMIT) : bytes;
  try {
    return { format: 'bloomery', filter: decodeFilter(frame), isCoded, whyMute: null };
  } catch (error) {
    if (!(error instanceof FrameError) || error.code !== 'key') throw error;
    const whyMute = 'It is keyed: only programs that know its secret key can ask it';
    return { format: 'bloomery', filter: decodeFilter(withoutKey(frame)), isCoded, whyMute };
  }
}

type Reader = (bytes: Uint8Array, name: string) => ForeignFilter<never> | Promise<ForeignFilter<never>>;

const READERS: { readonly [F in ForeignFormat]: Reader } = {
  guava: (bytes) => GuavaFilter.decode(bytes, { ...LIMIT, funnel: 'utf8' }),
  redisbloom: (bytes) => RedisBloomFilter.decode(bytes, LIMIT),
  parquet: (bytes) => ParquetFilter.decode(bytes, LIMIT),
  dcso: (bytes) => DcsoFilter.decodeMaybeGzip(bytes, LIMIT),
  'go-bloom': (bytes) => GoBloomFilter.decode(bytes, LIMIT),
  squid: (bytes) => SquidDigest.decode(bytes, LIMIT),
  'binary-fuse': (bytes) => BinaryFuseFile.decode(bytes, LIMIT),
  spark: (bytes) => SparkFilter.decode(bytes, LIMIT),
  datasketches: (bytes) => DataSketchesFilter.decode(bytes, LIMIT),
  // The name of the file tells which release wrote it. A copy without that name is taken as 4.0.
  cassandra: (bytes, name) =>
    CassandraFilter.decode(bytes, { ...LIMIT, release: cassandraRelease(name) ?? 4 }),
  pybloom: (bytes) => PybloomFilter.decode(bytes, LIMIT),
};
