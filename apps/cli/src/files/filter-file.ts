/**
 * Opens filter files: frames of the library, plain or coded, and files of other systems. The bytes
 * of a file tell its format; `--format` decides where they do not.
 */

import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { FrameError, type SecretKey } from 'bloomery';
import {
  type ForeignDecodeOptions,
  type ForeignFilter,
  type ForeignFormat,
  FormatError,
} from 'bloomery/formats';
import { BinaryFuseFile } from 'bloomery/formats/binary-fuse';
import { CassandraFilter, cassandraRelease } from 'bloomery/formats/cassandra';
import { DataSketchesFilter } from 'bloomery/formats/datasketches';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { GuavaFilter, type GuavaFunnel } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { PybloomFilter } from 'bloomery/formats/pybloom';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { sniffFormat } from 'bloomery/formats/sniff';
import { SparkFilter } from 'bloomery/formats/spark';
import { SquidDigest } from 'bloomery/formats/squid';
import {
  checkLength,
  DELTA_MAGIC,
  decodeFilter,
  decodeFilterFrom,
  FRAME_MAGIC,
  hasMagic,
  readFrameHead,
  SIGNATURE_MAGIC,
  withoutKey,
} from 'bloomery/frames';
import { expandFrame } from 'bloomery/wire';
import { readSettled, recoverFile } from '../in-place/recovered-file.ts';
import { UsageError } from '../usage-error.ts';
import { fileError } from './frame-error-text.ts';
import { patientRead } from './patient-read.ts';
import { scandumpChunks } from './scandump-text.ts';
import { type OwnFilter, type Structure, structureOf } from './structures.ts';

interface FilterFileBase {
  /** The path as the user gave it; `-` is standard input. */
  readonly path: string;
  /** The bytes of the file. */
  readonly bytes: Uint8Array;
}

/** A frame of the library. */
export interface OwnFile extends FilterFileBase {
  readonly format: 'bloomery';
  readonly structure: Structure;
  readonly filter: OwnFilter;
  /** Whether the payload was coded (`bloomery encode`). */
  readonly coded: boolean;
  /** The plain frame: `bytes`, unless they are coded. */
  readonly frame: Uint8Array;
}

/** The file of another system. */
export interface ForeignFile extends FilterFileBase {
  readonly format: ForeignFormat;
  readonly filter: ForeignFilter<never>;
}

export type FilterFile = OwnFile | ForeignFile;

export interface OpenOptions {
  /** The key of a keyed filter; other filters refuse one. */
  readonly key?: SecretKey | undefined;
  /**
   * Reads a keyed filter without its key, only to inspect it: such a filter must never be asked.
   */
  readonly keyless?: boolean | undefined;
  /** The format of the file, instead of detecting it. */
  readonly format?: string | undefined;
  /** How Guava turned keys into bytes. The default is UTF-8 for lines of text. */
  readonly funnel?: GuavaFunnel | undefined;
  /** Files above this are read in chunks. Default 4 GiB, the largest array of bytes in Node 20. */
  readonly mostBytes?: number;
}

/** Reads a filter file. An error in the file is a `UsageError` that names the file. */
export async function openFilter(path: string, options: OpenOptions = {}): Promise<FilterFile> {
  try {
    const large = await openLarge(path, options);
    if (large !== undefined) return large;
    const bytes = await readFilterBytes(path);
    const chunks = scandumpChunks(bytes);
    if (chunks !== undefined && (options.format ?? 'redisbloom') === 'redisbloom') {
      return { path, bytes, format: 'redisbloom', filter: RedisBloomFilter.fromChunks(chunks, UNLIMITED) };
    }
    const format = options.format ?? formatOf(path, bytes);
    if (format === 'bloomery') return openOwn(path, bytes, options);
    if (options.key !== undefined) throw new UsageError(`${path} is a ${format} file and takes no key`);
    return {
      path,
      bytes,
      format: format === PYBLOOM_MD5 ? 'pybloom' : (format as ForeignFormat),
      filter: await openForeign(format, bytes, { path, ...options }),
    };
  } catch (error) {
    if (error instanceof FrameError || error instanceof FormatError) {
      throw fileError(path, error);
    }
    throw error;
  }
}

export async function readFilterBytes(path: string): Promise<Uint8Array> {
  const bytes = path === '-' ? readStandardInput() : await readFile(path);
  // A plain Uint8Array, because `slice` and `toString` of a Buffer work differently.
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

async function readFile(path: string): Promise<Uint8Array> {
  const found = statSync(path);
  if (found.isDirectory()) throw new UsageError(`${path} is a directory, expected a filter file`);
  // Some devices never end.
  if (found.isCharacterDevice()) throw new UsageError(`${path} is a device, expected a filter file`);
  return readSettled(path);
}

/** Reads standard input to its end. */
function readStandardInput(): Buffer {
  const parts: Buffer[] = [];
  for (;;) {
    const part = Buffer.allocUnsafe(1 << 20);
    const length = patientRead(0, part);
    if (length === 0) return Buffer.concat(parts);
    parts.push(part.subarray(0, length));
  }
}

function openOwn(path: string, bytes: Uint8Array, options: OpenOptions): OwnFile {
  const { structure, coded } = readFrameHead(bytes);
  const frame = coded ? expandFrame(bytes, { maxBytes: Number.POSITIVE_INFINITY }) : bytes;
  const filter = decodeFrame(frame, options);
  return { path, bytes, format: 'bloomery', structure: structureOf(structure), filter, coded, frame };
}

function decodeFrame(frame: Uint8Array, { key, keyless }: OpenOptions): OwnFilter {
  try {
    return decodeFilter(frame, key === undefined ? {} : { key });
  } catch (error) {
    // The checksum is right, because a wrong one gives another error.
    const missing = error instanceof FrameError && error.code === 'key' && key === undefined;
    if (!keyless || !missing) throw error;
    return decodeFilter(withoutKey(frame));
  }
}

/**
 * Opens a frame that is too large for one array. It is decoded while it is read, so its bytes are
 * never in memory as a whole. Returns undefined for other files.
 */
async function openLarge(path: string, options: OpenOptions): Promise<OwnFile | undefined> {
  const { key, format, mostBytes = MOST_BYTES } = options;
  const found = path === '-' ? undefined : statSync(path);
  if (!found?.isFile() || found.size <= mostBytes) return undefined;
  if (format !== undefined && format !== 'bloomery') return undefined;
  await recoverFile(path);
  const first = firstBytes(path);
  if (!hasMagic(FRAME_MAGIC, first)) return undefined;
  const head = readFrameHead(first);
  if (head.coded) return undefined;
  checkLength(found.size, head.plainLength);
  const chunks = createReadStream(path, { highWaterMark: 2 ** 20 });
  const filter = await decodeFilterFrom(chunks, {
    maxBytes: found.size,
    ...(key === undefined ? {} : { key }),
  });
  const whole = (): never => {
    throw new UsageError(
      `${path} has ${found.size} bytes; this needs them at once, and at most ${mostBytes} can be: bloomery check and add read larger files`,
    );
  };
  return {
    path,
    format: 'bloomery',
    structure: structureOf(head.structure),
    filter,
    coded: false,
    get bytes() {
      return whole();
    },
    get frame() {
      return whole();
    },
  };
}

/** The first bytes of a file, enough for the head of any format. */
function firstBytes(path: string): Uint8Array {
  const bytes = new Uint8Array(64);
  const file = openSync(path, 'r');
  try {
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** The bytes are there already, so they are the limit. */
const UNLIMITED = { maxBytes: Number.MAX_SAFE_INTEGER };

/** The largest array of bytes in Node 20. */
const MOST_BYTES = 2 ** 32;

function formatOf(path: string, bytes: Uint8Array): string {
  if (bytes.length === 0) throw new UsageError(`${path} is empty, not a filter`);
  if (hasMagic(DELTA_MAGIC, bytes)) {
    throw new UsageError(
      `${path} is a delta, not a filter; make the filter with: bloomery apply OLD ${path} -o NEW`,
    );
  }
  if (hasMagic(SIGNATURE_MAGIC, bytes)) {
    throw new UsageError(
      `${path} is a signature, not a filter; verify a file with: bloomery verify FILE --signed-by KEY --signature ${path}`,
    );
  }
  const [guess] = sniffFormat(bytes);
  if (guess === undefined) {
    throw new UsageError(
      `${path} is not a filter that bloomery knows; --format says what it is if you know better`,
    );
  }
  return guess.format === 'gzip' ? 'dcso' : guess.format;
}

async function openForeign(
  format: string,
  bytes: Uint8Array,
  options: OpenOptions & { readonly path: string },
): Promise<ForeignFilter<never>> {
  if (format === PYBLOOM_MD5) return PybloomFilter.decode(bytes, { ...UNLIMITED, beforeVersion4: true });
  if (!isForeignFormat(format)) {
    throw new UsageError(`there is no format ${format}; bloomery convert --help lists them`);
  }
  return READERS[format](bytes, UNLIMITED, options);
}

function isForeignFormat(format: string): format is ForeignFormat {
  return Object.hasOwn(READERS, format);
}

/** `--format` for files of pybloom-live before 4.0; those of later releases look the same. */
const PYBLOOM_MD5 = 'pybloom-md5';

type ReadForeign = (
  bytes: Uint8Array,
  limit: ForeignDecodeOptions,
  options: OpenOptions & { readonly path: string },
) => ForeignFilter<never> | Promise<ForeignFilter<never>>;

const READERS: { readonly [F in ForeignFormat]: ReadForeign } = {
  guava: (bytes, limit, { funnel = 'utf8' }) => GuavaFilter.decode(bytes, { ...limit, funnel }),
  redisbloom: (bytes, limit) => RedisBloomFilter.decode(bytes, limit),
  parquet: (bytes, limit) => ParquetFilter.decode(bytes, limit),
  dcso: (bytes, limit) => DcsoFilter.decodeMaybeGzip(bytes, limit),
  'go-bloom': (bytes, limit) => GoBloomFilter.decode(bytes, limit),
  squid: (bytes, limit) => SquidDigest.decode(bytes, limit),
  'binary-fuse': (bytes, limit) => BinaryFuseFile.decode(bytes, limit),
  spark: (bytes, limit) => SparkFilter.decode(bytes, limit),
  datasketches: (bytes, limit) => DataSketchesFilter.decode(bytes, limit),
  // The name of the file tells which release wrote it. A copy without that name is taken as 4.0.
  cassandra: (bytes, limit, { path }) =>
    CassandraFilter.decode(bytes, { ...limit, release: cassandraRelease(path) ?? 4 }),
  pybloom: (bytes, limit) => PybloomFilter.decode(bytes, limit),
};
