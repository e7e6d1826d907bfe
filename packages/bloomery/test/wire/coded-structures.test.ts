/**
 * Coded frames of every structure: they come back byte for byte, are near the entropy, and are safe
 * to read from untrusted input.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type AnyFilter, decodeFilter } from '../../src/filters/decode-filter.ts';
import { countersOf, nestedFrames, payloadOf } from '../../src/frames/check-frame.ts';
import { FrameError, writeChecksum } from '../../src/frames/envelope.ts';
import { readFrameHead } from '../../src/frames/frame-head.ts';
import {
  AttenuatedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
} from '../../src/index.ts';
import { binaryEntropy } from '../../src/math/entropy.ts';
import { codingOf, compressFrame, expandFrame } from '../../src/wire/coding/compressed-frame.ts';
import { inBothKernels } from '../contracts/subject.ts';
import { counterKeys } from '../keys.ts';
import { SAMPLES } from '../sample-filters.ts';

const NAMES = Object.keys(SAMPLES);

/** Larger filters, empty and filled, of the structures that are coded by sections. */
function structures(): AnyFilter[] {
  const size = { capacity: 2000, falsePositiveRate: 0.01 };
  const empty: (AnyFilter & { addMany(keys: string[]): unknown })[] = [
    SpectralBloomFilter.forCapacity(size),
    SpectralBloomFilter.forCapacity({ ...size, method: 'recurring-minimum', counterBits: 8 }),
    CountMinSketch.forError({ epsilon: 0.002, delta: 0.01 }),
    new CountMinSketch({ width: 700, depth: 3, counterBits: 64, update: 'conservative' }),
    HeavyHitters.forThreshold({ threshold: 0.01, epsilon: 0.005, delta: 0.01 }),
    HashList.forCapacity(size),
    new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 300 }),
    new RotatingBloomFilter({ ...size, generations: 4, rotateWhenFull: true }),
    AttenuatedBloomFilter.forCapacity({ ...size, levels: 3 }),
  ];
  const filled = empty.map((filter) => {
    const again = decodeFilter(filter.encode()) as typeof filter;
    again.addMany(words(2000));
    return again;
  });
  return [
    ...empty,
    ...filled,
    StaticFilter.from([]),
    StaticFilter.from(distinct(2000), { fingerprintBits: 11 }),
    BloomierFilter.fromColumns(
      distinct(2000),
      distinct(2000).map((_, i) => i % 5),
      { valueBits: 3 },
    ),
    // Slots of 64 bits.
    BloomierFilter.fromColumns(
      distinct(50),
      distinct(50).map((_, i) => i),
      { valueBits: 32, checkBits: 30 },
    ),
  ];
}

/** Keys of which low numbers are more frequent. */
function words(count: number): string[] {
  const random = new Random(count);
  return Array.from({ length: count }, () => `word-${Math.floor(1 / (1e-4 + random.below(1e6) / 1e6))}`);
}

function distinct(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `key-${i}`);
}

function entropyBytes(values: ArrayLike<number>): number {
  const counts = new Map<number, number>();
  for (let i = 0; i < values.length; i++) counts.set(values[i], (counts.get(values[i]) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= count * Math.log2(count / values.length);
  return bits / 8;
}

inBothKernels('coded frames of every structure', () => {
  test.each(['small', 'fast'] as const)('%s: expanded they are the plain frames again', (effort) => {
    const frames = [...structures(), ...NAMES.map((name) => SAMPLES[name]())].map((filter) =>
      filter.encode(),
    );
    for (const plain of frames) {
      const coded = compressFrame(plain, { effort });
      const { structure } = readFrameHead(plain);
      expectSameBytes(expandFrame(coded), plain);
      expectSameBytes(decodeFilter(expandFrame(coded)).encode(), plain);
      const isBits = structure === 'BloomFilter' || structure === 'BlockedBloomFilter';
      if (isBits) expect(coded.length).toBeLessThanOrEqual(plain.length + 1);
      else expect(coded === plain, structure).toBe(coded.length === plain.length);
      expect(coded.length).toBeLessThanOrEqual(plain.length + (isBits ? 1 : 0));
      expect(compressFrame(coded)).toBe(coded);
      expect(expandFrame(plain)).toBe(plain);
      const { end: _, coded: __, ...head } = readFrameHead(coded);
      expect(readFrameHead(plain)).toMatchObject(head);
    }
  });

  test('every prefix and every flipped bit is a FrameError', () => {
    for (const name of NAMES) {
      const plain = SAMPLES[name]().encode();
      const coded = compressFrame(plain);
      if (coded === plain) continue;
      for (let length = 0; length < coded.length; length++) {
        expect(() => expandFrame(coded.subarray(0, length)), `${name}, ${length}`).toThrow(FrameError);
      }
      for (let bit = 0; bit < 8 * coded.length; bit++) {
        coded[bit >> 3] ^= 1 << (bit & 7);
        // The bit that says "coded" makes it a plain frame, which is returned and which decode
        // refuses.
        const read = () => (bit === 6 * 8 + 7 ? decodeFilter(coded) : expandFrame(coded));
        expect(read, `${name}, bit ${bit}`).toThrow(FrameError);
        coded[bit >> 3] ^= 1 << (bit & 7);
      }
    }
  });

  test('under a right checksum, changed bytes are FrameErrors or other frames of that size', () => {
    const random = new Random(17);
    const frames = [...NAMES.map((name) => SAMPLES[name]()), ...structures()]
      .map((filter) => compressFrame(filter.encode()))
      .filter((frame) => readFrameHead(frame).coded);
    let accepted = 0;
    for (let round = 0; round < withEffort(4000); round++) {
      const frame = Uint8Array.from(random.pick(frames));
      for (let n = random.below(3); n >= 0; n--) {
        frame[16 + random.below(frame.length - 16)] = random.pick([
          0,
          1,
          2,
          0x7f,
          0x80,
          0xff,
          random.below(256),
        ]);
      }
      writeChecksum(frame);
      try {
        const plain = expandFrame(frame, { maxBytes: 2 ** 17 });
        expect(plain.length).toBe(readFrameHead(frame).plainLength);
        expect(plain.length).toBeLessThanOrEqual(2 ** 17 + 64);
        accepted++;
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
        expect(error.offset).toBeGreaterThanOrEqual(0);
        expect(error.offset).toBeLessThanOrEqual(frame.length);
      }
    }
    expect(accepted).toBeGreaterThan(0);
  });
});

test('a few bytes that stand for gigabytes are refused before anything is allocated', () => {
  const sketch = compressFrame(new CountMinSketch({ width: 2 ** 18, depth: 4 }).encode());
  expect(sketch.length).toBeLessThan(60);
  expect(() => expandFrame(sketch, { maxBytes: 2 ** 22 })).toThrow(
    /at most 4194304 bytes unpacked \(maxBytes\), got 4194312/,
  );
  expect(expandFrame(sketch, { maxBytes: 2 ** 22 + 8 }).length).toBe(2 ** 22 + 8 + 27);
  // An inner filter that declares 2^36 bits, in a frame that declares 1000 bytes.
  const inner = compressFrame(new BloomFilter({ bits: 2 ** 20, hashes: 1 }).encode());
  inner.set([0, 0, 0, 0, 16], 16);
  writeChecksum(inner);
  const bomb = new Uint8Array(23 + 2 + inner.length + 4);
  const head = AttenuatedBloomFilter.forCapacity({ capacity: 9, falsePositiveRate: 0.1, levels: 1 }).encode();
  bomb.set(head.subarray(0, 17));
  bomb[6] = 128;
  bomb.set([0xe8, 3, 0, 0, 0, 0, 0, inner.length], 17);
  bomb.set(inner, 25);
  writeChecksum(bomb);
  expect(() => expandFrame(bomb)).toThrow(/expected a filter of at most 988 bytes, got 8589934624/);
});

test('contents that no structure writes stay plain, or are refused', () => {
  const sketch = new CountMinSketch({ width: 200, depth: 3, counterBits: 64 }).encode();
  sketch[sketch.length - 5] = 1; // 2^56
  writeChecksum(sketch);
  // The counters are stored, so the frame does not shrink.
  expect(compressFrame(sketch)).toBe(sketch);
  const list = HashList.from(words(2000), { falsePositiveRate: 0.01 }).encode();
  expect(compressFrame(list).length).toBeLessThan(list.length);
  const { start } = readFrameHead(list);
  list.set([255, 255, 255], start); // the first position is not below the second
  writeChecksum(list);
  expect(compressFrame(list)).toBe(list);
  const scalable = SAMPLES.ScalableBloomFilter().encode();
  const [{ start: first }] = nestedFrames(scalable);
  scalable[first + 30] ^= 1;
  writeChecksum(scalable);
  expect(() => compressFrame(scalable)).toThrow(/filter 1 of \d: expected checksum/);
  scalable[first - 6] ^= 1;
  writeChecksum(scalable);
  expect(() => compressFrame(scalable)).toThrow(FrameError);
});

test('a code has one coding only where it is one array of bits', () => {
  expect(() => codingOf(compressFrame(SAMPLES.CountMinSketch().encode()))).toThrow(
    /expected a BloomFilter or a BlockedBloomFilter, got a CountMinSketch/,
  );
  expect(codingOf(SAMPLES.CountMinSketch().encode())).toBe('plain');
});

test('Count-Min sketches: between the entropy of their counters and 4 % above it', () => {
  for (const [counterBits, keys] of [
    [32, 20_000],
    [64, 400_000],
  ] as const) {
    const sketch = new CountMinSketch({ width: 5000, depth: 4, counterBits });
    sketch.addMany(counterKeys(keys, 0, 3));
    const plain = sketch.encode();
    const bytes = countersOf(plain);
    const counters = Float64Array.from({ length: 20_000 }, (_, i) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      return counterBits === 32 ? view.getUint32(4 * i, true) : Number(view.getBigUint64(8 * i, true));
    });
    const entropy = entropyBytes(counters);
    const coded = compressFrame(plain).length - 27;
    expect(coded).toBeGreaterThan(entropy);
    expect(coded).toBeLessThan(1.04 * entropy + 8);
    expect(coded).toBeLessThan(plain.length / 7);
  }
});

test('hash lists: between the entropy of their positions and 3 % above it', () => {
  const list = HashList.forCapacity({ capacity: 20_000, falsePositiveRate: 0.001 });
  list.addMany(counterKeys(20_000));
  const plain = list.encode();
  const { parameters } = readFrameHead(plain);
  if (!('count' in parameters)) throw new Error('expected a HashList');
  const entropy = (list.bits * binaryEntropy(parameters.count / list.bits)) / 8;
  const coded = compressFrame(plain).length - 37;
  expect(coded).toBeGreaterThan(entropy - 4);
  expect(coded).toBeLessThan(1.03 * entropy);
  expect(coded).toBeLessThan(0.6 * payloadOf(plain).length);
});

test('static filters: the unused slots are not sent, and the others are as they are', () => {
  const filter = StaticFilter.from(counterKeys(20_000), { fingerprintBits: 8 });
  const plain = filter.encode();
  const slots = payloadOf(plain);
  const used = slots.filter((slot) => slot !== 0).length;
  const entropy = (slots.length * binaryEntropy(used / slots.length)) / 8 + used;
  const coded = compressFrame(plain).length - 32;
  expect(coded).toBeGreaterThan(entropy - 1);
  expect(coded).toBeLessThan(entropy + 16);
  expect(coded).toBeLessThan(0.96 * slots.length);
});

test('nested filters: each is as small as alone, with its note and its length', () => {
  const filter = AttenuatedBloomFilter.forCapacity({ capacity: 5000, falsePositiveRate: 0.01, levels: 3 });
  filter.addMany(counterKeys(300), 0);
  filter.addMany(counterKeys(3000, 300), 1);
  const plain = filter.encode();
  const alone = nestedFrames(plain).map(({ start, end }) => compressFrame(plain.subarray(start, end)).length);
  const sum = alone.reduce((total, length) => total + length, 0);
  const coded = compressFrame(plain).length;
  expect(coded).toBeGreaterThan(sum);
  expect(coded).toBeLessThan(sum + 27 + 3 * 4);
  expect(coded).toBeLessThan(0.6 * plain.length);
});

test('golden bytes: a coded frame that was written once can be read forever', () => {
  for (const [name, hex] of Object.entries(GOLDEN)) {
    const golden = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    const plain = SAMPLES[name]().encode();
    expect(expandFrame(golden), name).toEqual(plain);
    expect(compressFrame(plain), name).toEqual(golden);
  }
  expect(Object.keys(GOLDEN)).toHaveLength(9);
});

test('golden bytes: the coded fuse table of a small StaticFilter is still read and written', () => {
  const golden = Uint8Array.from(FUSE_GOLDEN.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const plain = expandFrame(golden);
  const keys = Array.from({ length: 30 }, (_, i) => `key-${i}`);
  expect(StaticFilter.decode(plain).hasMany(keys)).toEqual(new Uint8Array(30).fill(1));
  expect(compressFrame(plain)).toEqual(golden);
});

/** The sample as it was written before sets of up to 10,000 keys became bands. */
const FUSE_GOLDEN =
  '424c4d590107800100000000000000001e0000000900010000100000010900087928647089d9fff8f2ce5af9' +
  '36d307c5f43ef4aed4d02750d71c81edab9a83769f083b1abe00714d2ee4ad9686';

/** The coded frames of the samples. */
const GOLDEN: Readonly<Record<string, string>> = {
  SpectralBloomFilter:
    '424c4d590104820100000000000000005a000000002d0000000003080000000000001e00000000000000010d' +
    '006bf2ad7ec968bbb43fbff40209001827eea509e262000303025d0101000000280200010700941b9430d218' +
    '0400b9a40301010021015b0ddf71',
  CountMinSketch:
    '424c4d59010581010000000000000000190000000002201e000000000000000108003fd7b5f5ad7e03060002' +
    '45704001010100000071abd503',
  BloomierFilter:
    '424c4d590106800100000000000000001e000000080300010000100000010900087928647089d9fff3055e99' +
    '752bd1ed66420fb098e8a987e7ed959a61f874a0e29a395eb0d007551b87d70e3e1c61752843725120c6dace' +
    '2de601af6a',
  StaticFilter:
    '424c4d590107010100000000000000001e00000009030000001e0000777f22861493dd7920c5d137352f628b' +
    '5369e1f936fe8d032d2bd4e52c162086132f0f9db196',
  HashList:
    '424c4d59010800010000000000000000aa0b000000011e00000000001d00000000267007bde00d45211bfdc1' +
    '21c1223d013443a77450158551e9156cf13673e6f786b4089892d9a3ef8ab1a70b86e4e2e0',
  ScalableBloomFilter:
    '424c4d590109800100000000000000007b14ae47e17a943f0000000000000040000000000000e03f0a000000' +
    '0000028100000000000a2d424c4d590101000100000000000000006200000000060a00000000007144b7a218' +
    '1783875b063df000684637f9143c424c4d59010100010000000000000000df00000000071400000000000e4d' +
    '41915c117072aa1632991ff8140adcce86c6ca096de908509e6e4afada8c2872d8c0',
  RotatingBloomFilter:
    '424c4d59010a8201000000000000000003000000000000010000000000c000000000000f34424c4d59010100' +
    '0100000000000000009f00000000070f0000000000c60d439b605e79d2727046116d69c6a0e709e86c78affe' +
    '370034424c4d590101000100000000000000009f00000000070f0000000000870f925a67a30717bac183fac5' +
    '75d71eac07e31be8bfcf950021424c4d590101800100000000000000009f00000000070f0000000000014b49' +
    'f90fb68305a5',
  AttenuatedBloomFilter:
    '424c4d59010b80010000000000000000027e00000000000021424c4d59010180010000000000000000920000' +
    '0000031e0000000000018ff4bdae0033424c4d590101000100000000000000009200000000031e0000000000' +
    '2286f0a72cf535c640867b4494d3d16f21550299d3176566a7f1ce',
  HeavyHitters:
    '424c4d59010c81010000000000000000280000000002209a9999999999b93f37000000004100000000000000' +
    '010b00f7e29239e944579af2ef0603086b7ccd2a0200ac010202000a0101000000f013010014000000000000' +
    '001400000000000000050000006865617679020f000000000000000f0000000000000008000000f9ffffffff' +
    'fffffff509fc9e',
};
