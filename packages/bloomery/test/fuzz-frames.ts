/**
 * Random and mutated bytes for everything that reads frames and messages of our own. Whatever
 * comes, the answer must be a structure that writes the same bytes again, or a typed error. Half of
 * the mutated frames get a right checksum, as an attacker would give them, so that what lies behind
 * it is reached.
 */

import { Random } from '@bloomery/testkit/statistics';
import { FilterAssembler } from '../src/filters/filter-assembler.ts';
import { checkFrame } from '../src/frames/check-frame.ts';
import { writeChecksum } from '../src/frames/envelope.ts';
import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  FrameError,
  HashList,
  HeavyHitters,
  RangeSketch,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
} from '../src/index.ts';
import {
  applyDelta,
  CompressedBloomFilter,
  compressFrame,
  expandFrame,
  makeDelta,
  OtherSnapshotError,
  Publisher,
  readSyncMessage,
  SnapshotPublisher,
  Subscriber,
} from '../src/wire/index.ts';
import { SAMPLES } from './sample-filters.ts';

export interface FrameSubject {
  readonly name: string;
  /** Bytes that are read without an error. */
  readonly file: Uint8Array;
  readonly read: (bytes: Uint8Array) => unknown;
  /** Whether `read` returns bytes, which must be the same again. */
  readonly rewrites?: boolean;
  /** Offset in the file of a frame with a checksum of its own. */
  readonly inner?: number;
}

const KEYS = Array.from({ length: 20 }, (_, i) => `key-${i}`);
const SIZE = { capacity: 20, falsePositiveRate: 0.05 };
/**
 * Offset of the frame in a full state: behind the head, the epoch, a sequence number of one byte
 * and the sum.
 */
const FULL_FRAME = 14 + 8 + 1 + 8;
/** Enough for all that the samples unpack to, and too little for what mutated ones may declare. */
const LIMIT = { maxBytes: 2 ** 16 };

export const FRAME_SUBJECTS: readonly FrameSubject[] = [
  inChunks(filled(BloomFilter.forCapacity(SIZE))),
  inChunks(filled(BlockedBloomFilter.forCapacity(SIZE))),
  inChunks(filled(new CountMinSketch({ width: 20, depth: 2 }))),
  checked(),
  structure(BloomFilter, filled(BloomFilter.forCapacity(SIZE))),
  structure(BlockedBloomFilter, filled(BlockedBloomFilter.forCapacity(SIZE))),
  structure(CountingBloomFilter, filled(CountingBloomFilter.forCapacity(SIZE))),
  structure(
    SpectralBloomFilter,
    filled(SpectralBloomFilter.forCapacity({ ...SIZE, method: 'recurring-minimum' })),
  ),
  structure(CountMinSketch, filled(CountMinSketch.forError({ epsilon: 0.2, delta: 0.1 }))),
  structure(HeavyHitters, filled(HeavyHitters.forThreshold({ threshold: 0.1, epsilon: 0.09, delta: 0.1 }))),
  structure(RangeSketch, SAMPLES.RangeSketch() as RangeSketch),
  structure(
    BloomierFilter,
    BloomierFilter.fromColumns(
      KEYS,
      KEYS.map((_, i) => i),
      { valueBits: 5 },
    ),
  ),
  structure(StaticFilter, StaticFilter.from(KEYS)),
  structure(HashList, filled(HashList.forCapacity(SIZE))),
  structure(
    ScalableBloomFilter,
    filled(new ScalableBloomFilter({ falsePositiveRate: 0.05, initialCapacity: 8 })),
  ),
  structure(RotatingBloomFilter, filled(new RotatingBloomFilter({ ...SIZE, ttlMs: 1000, nowMs: 5 }))),
  structure(
    AttenuatedBloomFilter,
    filled(AttenuatedBloomFilter.forCapacity({ ...SIZE, capacity: 20, levels: 2 })),
  ),
  ...(['small', 'fast'] as const).map((effort) => ({
    name: `coded frame, ${effort}`,
    file: compressFrame(filled(new BloomFilter({ bits: 2000, hashes: 2 })).encode(), { effort }),
    read: (bytes: Uint8Array) => expandFrame(bytes, LIMIT),
  })),
  ...([2, 16] as const).map((counterBits) => ({
    name: `coded counting filter, ${counterBits} bits`,
    file: compressFrame(filled(CountingBloomFilter.forCapacity({ ...SIZE, counterBits })).encode()),
    read: (bytes: Uint8Array) => expandFrame(bytes, LIMIT),
  })),
  ...[
    'SpectralBloomFilter',
    'CountMinSketch',
    'StaticFilter',
    'RotatingBloomFilter',
    'HeavyHitters',
    'RangeSketch',
  ].map((name) => ({
    name: `coded ${name}`,
    file: compressFrame(SAMPLES[name]().encode()),
    read: (bytes: Uint8Array) => expandFrame(bytes, LIMIT),
  })),
  toBeCoded('frame to be coded', filled(BloomFilter.forCapacity(SIZE))),
  ...Object.keys(SAMPLES).map((name) => toBeCoded(`${name} to be coded`, SAMPLES[name]())),
  {
    // Without a limit: what it unpacks for a lookup is a small part, whatever is declared.
    name: 'filter that stays compressed',
    file: compressFrame(filled(new BloomFilter({ bits: 100_000, hashes: 2 })).encode()),
    read: (bytes) => new CompressedBloomFilter(bytes).hasMany(KEYS),
  },
  delta(),
  ...['CountingBloomFilter', 'CountMinSketch', 'HashList', 'ScalableBloomFilter', 'HeavyHitters'].map(
    structureDelta,
  ),
  {
    name: 'sync message',
    file: publisher().full(),
    read: (bytes) => readSyncMessage(bytes),
  },
  {
    name: 'subscriber',
    file: publisher().full(),
    inner: FULL_FRAME,
    // Untrusted messages are outcomes and not errors, and do no harm to the state.
    read: receive,
  },
  {
    name: 'subscriber that gets a delta',
    file: deltaMessage(),
    read: receive,
  },
  {
    name: 'subscriber to sketches that gets a delta',
    file: sketchMessages().delta,
    read: (bytes) => {
      const subscriber = new Subscriber({ ...LIMIT, structure: CountMinSketch });
      subscriber.receive(sketchMessages().full);
      subscriber.receive(bytes);
      subscriber.summary?.count('key-0');
    },
  },
  {
    name: 'publisher',
    file: new Subscriber().request(),
    read: (bytes) => publisher().answer(bytes),
  },
  {
    name: 'publisher that is asked by name',
    file: holding().request(),
    read: (bytes) => publisher().answer(bytes),
  },
];

export function fuzzReader(
  { name, file, read, rewrites, inner }: FrameSubject,
  rounds: number,
  seed: number,
): { readonly accepted: number; readonly refused: number } {
  const random = new Random(seed);
  let accepted = 0;
  for (let round = 0; round < rounds; round++) {
    const bytes = mutated(random, file, round, inner);
    try {
      const again = read(bytes);
      if (rewrites && !same(again as Uint8Array, bytes)) throw new Error('other bytes were written');
      accepted++;
    } catch (error) {
      if (error instanceof OtherSnapshotError) continue;
      if (error instanceof FrameError && error.offset >= 0 && error.offset <= bytes.length) continue;
      throw new Error(`${name}, round ${round}: ${[...bytes.subarray(0, 200)]}`, { cause: error });
    }
  }
  return { accepted, refused: rounds - accepted };
}

function mutated(random: Random, file: Uint8Array, round: number, inner = 0): Uint8Array {
  if (round % 8 === 0) return random.bytes(random.below(120));
  const length = round % 8 === 1 ? random.below(file.length + 9) : file.length;
  const bytes = new Uint8Array(length);
  bytes.set(file.subarray(0, length));
  const reach = random.below(2) === 0 ? length : Math.min(length, 48);
  for (let n = random.below(5); n >= 0 && reach > 0; n--) {
    bytes[random.below(reach)] = random.pick([0, 1, 0x7f, 0x80, 0xff, random.bits() & 255]);
  }
  if (round % 2 === 1 && inner > 0 && length >= inner + 8) writeChecksum(bytes.subarray(inner, -4));
  if (round % 2 === 1 && length >= 4) writeChecksum(bytes);
  return bytes;
}

function structure(
  kind: { readonly name: string; decode(bytes: Uint8Array): { encode(): Uint8Array } },
  sample: { encode(): Uint8Array },
): FrameSubject {
  return {
    name: kind.name,
    file: sample.encode(),
    read: (bytes) => kind.decode(bytes).encode(),
    rewrites: true,
  };
}

/** A frame that comes in pieces of 7 bytes. */
function inChunks(sample: { encode(): Uint8Array }): FrameSubject {
  return {
    name: `${sample.constructor.name} in chunks`,
    file: sample.encode(),
    read: (bytes) => {
      const assembler = new FilterAssembler(LIMIT);
      for (let at = 0; at < bytes.length; at += 7) assembler.push(bytes.subarray(at, at + 7));
      return assembler.finish().encode();
    },
    rewrites: true,
  };
}

/** A frame that is coded: if it can be, it comes back. */
function toBeCoded(name: string, sample: { encode(): Uint8Array }): FrameSubject {
  return {
    name,
    file: sample.encode(),
    read: (bytes) => {
      const coded = compressFrame(bytes);
      return coded[6] === bytes[6] ? bytes : expandFrame(coded, LIMIT);
    },
    rewrites: true,
  };
}

/** A frame that is checked and not decoded. */
function checked(): FrameSubject {
  const filter = new ScalableBloomFilter({ falsePositiveRate: 0.1, initialCapacity: 10 });
  return { name: 'frame that is checked', file: filled(filter).encode(), read: (bytes) => checkFrame(bytes) };
}

function delta(): FrameSubject {
  const from = new BloomFilter({ bits: 2000, hashes: 2 });
  const to = filled(from.copy());
  const file = makeDelta(from.encode(), to.encode());
  return { name: 'delta', file, read: (bytes) => applyDelta(from.encode(), bytes) };
}

function structureDelta(name: string): FrameSubject {
  const filter = SAMPLES[name]() as { encode(): Uint8Array; addMany(keys: string[]): unknown };
  const from = filter.encode();
  filter.addMany(KEYS.map((key) => `another ${key}`));
  const file = makeDelta(from, filter.encode());
  return { name: `delta of ${name}`, file, read: (bytes) => applyDelta(from, bytes, LIMIT) };
}

function publisher(): Publisher {
  const filter = new CountingBloomFilter({ counters: 300, hashes: 2, trackChanges: true });
  filter.addMany(KEYS);
  return new Publisher({ filter, incarnation: 1 });
}

function sketchMessages(): { readonly full: Uint8Array; readonly delta: Uint8Array } {
  const sketch = filled(new CountMinSketch({ width: 20, depth: 2 }));
  const sketches = new SnapshotPublisher({ frame: sketch.encode(), incarnation: 1 });
  const full = sketches.full();
  sketch.add('key-0');
  return { full, delta: sketches.publish(sketch.encode())! };
}

function holding(): Subscriber {
  const subscriber = new Subscriber(LIMIT);
  subscriber.receive(publisher().full());
  return subscriber;
}

function receive(bytes: Uint8Array): void {
  const subscriber = holding();
  subscriber.receive(bytes);
  if (KEYS.some((key) => !subscriber.has(key))) throw new Error('a subscriber has lost a key');
}

function deltaMessage(): Uint8Array {
  const sender = publisher();
  sender.addMany(['one', 'more']);
  return sender.publish() ?? new Uint8Array(0);
}

function filled<S extends { addMany(keys: readonly string[]): unknown }>(sample: S): S {
  sample.addMany(KEYS);
  return sample;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
