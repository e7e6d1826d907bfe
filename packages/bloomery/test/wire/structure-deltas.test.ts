/** Deltas of every structure: exact, small where little has changed, and safe to read. */

import { withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { FrameError, writeChecksum } from '../../src/frames/envelope.ts';
import {
  AttenuatedBloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
} from '../../src/index.ts';
import { compressFrame } from '../../src/wire/coding/compressed-frame.ts';
import { applyDelta, makeDelta, OtherSnapshotError } from '../../src/wire/coding/delta.ts';
import { inBothKernels } from '../contracts/subject.ts';
import { SAMPLES } from '../sample-filters.ts';

interface Change {
  readonly name: string;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** The most bytes of the delta, as a share of the coded frame that it leads to. */
  readonly mostShare: number;
}

type Changing = { encode(): Uint8Array };

function change<F extends Changing>(
  name: string,
  filter: F,
  mostShare: number,
  work: (filter: F) => void,
): Change {
  const from = filter.encode();
  work(filter);
  return { name, from, to: filter.encode(), mostShare };
}

function keys(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, i) => `key-${first + i}`);
}

function filled<F extends { addMany(keys: string[]): unknown }>(filter: F, count = 2000): F {
  filter.addMany(keys(count));
  return filter;
}

const SIZE = { capacity: 2000, falsePositiveRate: 0.01 };

function changes(): Change[] {
  const list = HashList.forCapacity(SIZE);
  const attenuated = AttenuatedBloomFilter.forCapacity({ ...SIZE, levels: 3 });
  attenuated.addMany(keys(1000), 0);
  attenuated.addMany(keys(1500), 1);
  return [
    change('counting', filled(CountingBloomFilter.forCapacity(SIZE)), 0.5, (filter) => {
      filter.deleteMany(keys(100));
      filter.addMany(keys(100, 5000));
    }),
    change('spectral', filled(SpectralBloomFilter.forCapacity(SIZE)), 0.5, (filter) => {
      filter.addMany(keys(100, 1900));
    }),
    change(
      'spectral with two arrays',
      filled(SpectralBloomFilter.forCapacity({ ...SIZE, method: 'recurring-minimum' })),
      0.5,
      (filter) => filter.addMany(keys(50, 1950)),
    ),
    change('Count-Min', filled(CountMinSketch.forError({ epsilon: 0.001, delta: 0.01 })), 0.5, (filter) => {
      filter.addMany(keys(100, 1950));
    }),
    change(
      'Count-Min of 64 bits',
      filled(new CountMinSketch({ width: 900, depth: 4, counterBits: 64 })),
      0.6,
      (filter) => {
        filter.addMany(keys(50, 1950));
        filter.add('heavy', 2 ** 50);
      },
    ),
    change(
      'heavy hitters',
      filled(HeavyHitters.forThreshold({ threshold: 0.02, epsilon: 0.005, delta: 0.01 })),
      1,
      (filter) => {
        filter.add('heavy', 500);
        filter.addMany(keys(40));
      },
    ),
    change('hash list', filled(list), 0.25, (filter) => filter.addMany(keys(100, 5000))),
    change('hash list from nothing', HashList.forCapacity(SIZE), 1.1, (filter) => filter.addMany(keys(900))),
    change(
      'scalable, another stage',
      filled(new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 1100 }), 1000),
      0.9,
      (filter) => filter.addMany(keys(400, 1000)),
    ),
    change(
      'rotating',
      filled(new RotatingBloomFilter({ ...SIZE, generations: 4, ttlMs: 4000, nowMs: 0 })),
      0.15,
      (filter) => {
        filter.advance(1500);
        filter.addMany(keys(50, 5000));
      },
    ),
    change('attenuated', attenuated, 0.2, (filter) => filter.addMany(keys(50, 9000), 2)),
    {
      name: 'static',
      from: StaticFilter.from(keys(1000)).encode(),
      to: StaticFilter.from(keys(1100)).encode(),
      mostShare: 1.05,
    },
    {
      name: 'Bloomier',
      from: BloomierFilter.fromColumns(keys(900), new Array(900).fill(3), { valueBits: 4 }).encode(),
      to: BloomierFilter.fromColumns(keys(900), new Array(900).fill(5), { valueBits: 4 }).encode(),
      mostShare: 1.05,
    },
  ];
}

inBothKernels('deltas of every structure', () => {
  test.each(['small', 'fast'] as const)('%s: lead to the new frame, byte for byte, and back', (effort) => {
    for (const { name, from, to, mostShare } of changes()) {
      const delta = makeDelta(from, to, { effort });
      expectSameBytes(applyDelta(from, delta), to, name);
      expectSameBytes(applyDelta(to, makeDelta(to, from, { effort })), from, name);
      expect(delta.length, name).toBeLessThan(mostShare * compressFrame(to).length + 40);
      expect(() => applyDelta(to, delta), name).toThrow(OtherSnapshotError);
      // A delta to the same snapshot: 25 bytes and a few for each section.
      expect(makeDelta(from, from).length, name).toBeLessThan(60);
      expectSameBytes(applyDelta(from, makeDelta(from, from)), from, name);
    }
  });

  test('every prefix, every flipped bit and noise are errors with a name', () => {
    const random = new Random(13);
    for (const { name, from, to } of changes()) {
      const delta = makeDelta(from, to);
      for (let length = 0; length < delta.length; length += 1 + Math.floor(delta.length / 200)) {
        expect(() => applyDelta(from, delta.subarray(0, length)), `${name}, ${length}`).toThrow(FrameError);
      }
      for (let bit = 0; bit < 8 * delta.length; bit += 1 + Math.floor(delta.length / 20)) {
        delta[bit >> 3] ^= 1 << (bit & 7);
        expect(() => applyDelta(from, delta), `${name}, bit ${bit}`).toThrow(FrameError);
        delta[bit >> 3] ^= 1 << (bit & 7);
      }
      for (let round = 0; round < withEffort(150); round++) {
        const forged = delta.slice();
        for (let n = random.below(4); n >= 0; n--) {
          forged[13 + random.below(forged.length - 17)] = random.pick([
            0,
            1,
            2,
            0x7f,
            0x80,
            0xff,
            random.below(256),
          ]);
        }
        writeChecksum(forged);
        try {
          // Another code of the same changes is no error.
          expectSameBytes(applyDelta(from, forged, { maxBytes: 2 ** 18 }), to, name);
        } catch (error) {
          if (!(error instanceof FrameError)) throw error;
        }
      }
    }
  });
});

test('settings must agree, and what follows from the contents need not', () => {
  const sketch = new CountMinSketch({ width: 50, depth: 3 }).encode();
  for (const other of [
    new CountMinSketch({ width: 51, depth: 3 }),
    new CountMinSketch({ width: 50, depth: 3, seed: 4 }),
    new CountMinSketch({ width: 50, depth: 3, update: 'conservative' }),
    SAMPLES.HeavyHitters(),
  ]) {
    expect(() => makeDelta(sketch, other.encode())).toThrow(/same parameters, seed and size/);
  }
  const list = HashList.forCapacity(SIZE).encode();
  expect(() => makeDelta(list, HashList.forCapacity({ ...SIZE, capacity: 99 }).encode())).toThrow(RangeError);
});

test('a delta that declares gigabytes is refused before anything is allocated', () => {
  const from = HashList.forCapacity(SIZE);
  const to = filled(HashList.forCapacity(SIZE));
  const delta = makeDelta(from.encode(), to.encode());
  expect(delta[21]).toBe(1); // parameters follow
  expect(applyDelta(from.encode(), delta)).toEqual(to.encode());
  expect(() => applyDelta(from.encode(), delta, { maxBytes: 1000 })).toThrow(
    /Cannot decode delta: expected at most 1000 bytes \(maxBytes\), got/,
  );
  expect(() => applyDelta(from.encode(), delta, { maxBytes: -1 })).toThrow(RangeError);
  expect(() => applyDelta(from.encode(), delta, { maxbytes: 9 } as never)).toThrow(/got option 'maxbytes'/);
  // Fewer bytes than at hand are always allowed.
  const back = makeDelta(to.encode(), from.encode());
  expect(applyDelta(to.encode(), back, { maxBytes: 0 })).toEqual(from.encode());
});

test('counting filters: a delta is between the entropy of the changes and 3 % above it', () => {
  // Counters are Poisson of mean x before. Of the keys a share c is replaced, so a counter at j
  // rises by Poisson(c·x) and falls by Binomial(j, c).
  const [n, c, hashes, counters] = [50_000, 0.05, 4, 400_000];
  const filter = new CountingBloomFilter({ counters, hashes });
  filter.addMany(keys(n));
  const from = filter.encode();
  filter.deleteMany(keys(n * c));
  filter.addMany(keys(n * c, n));
  const bytes = makeDelta(from, filter.encode()).length - 25;
  const entropy = (counters * changeEntropy((hashes * n) / counters, c)) / 8;
  expect(bytes).toBeGreaterThan(0.98 * entropy);
  expect(bytes).toBeLessThan(1.03 * entropy);
  expect(bytes).toBeLessThan(compressFrame(filter.encode()).length / 2);
});

/** The entropy in bits of the change of one counter, given its old value. */
function changeEntropy(mean: number, c: number): number {
  const poisson = (m: number, i: number): number => (i === 0 ? Math.exp(-m) : (poisson(m, i - 1) * m) / i);
  const choose = (j: number, i: number): number => (i === 0 ? 1 : (choose(j - 1, i - 1) * j) / i);
  let total = 0;
  for (let old = 0; old < 12; old++) {
    const shares = new Map<number, number>();
    for (let fall = 0; fall <= old; fall++) {
      for (let rise = 0; rise < 12; rise++) {
        const share = choose(old, fall) * c ** fall * (1 - c) ** (old - fall) * poisson(c * mean, rise);
        shares.set(rise - fall, (shares.get(rise - fall) ?? 0) + share);
      }
    }
    for (const share of shares.values()) total -= poisson(mean, old) * share * Math.log2(share);
  }
  return total;
}

test('golden bytes: a delta that was written once can be applied forever', () => {
  for (const [name, hex] of Object.entries(GOLDEN)) {
    const golden = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    const { from, to } = goldenChange(name);
    expect(makeDelta(from, to), name).toEqual(golden);
    expect(applyDelta(from, golden), name).toEqual(to);
  }
  expect(Object.keys(GOLDEN)).toHaveLength(5);
});

function goldenChange(name: string): { readonly from: Uint8Array; readonly to: Uint8Array } {
  const filter = SAMPLES[name]() as Changing & { addMany(keys: string[]): unknown };
  const from = filter.encode();
  filter.addMany(keys(10, 25));
  return { from, to: filter.encode() };
}

const GOLDEN: Readonly<Record<string, string>> = {
  CountingBloomFilter:
    '424c4d44010ca73af1eede27be000ecbe05614e0f000020c030e6e155a37d4c5bb3b8354010201010000000b' +
    '00540014444c810c02d502010203030251010100000000000400901000010201010000c64b5c3a',
  SpectralBloomFilter:
    '424c4d44019c1b855dc47acec4cb94c31516c38a2f00002800000000000000010d006ffaad7ec9e8bbb43fbf' +
    'f5020900309fbd974f9337070403037acb0101000000d569da0a010700b4db9474da1804007ff4ed04000104' +
    '0101010000788000a907ad1a',
  CountMinSketch:
    '424c4d44012e1243147ffa403ecd468e92b385def30000280000000000000001070328418ee15a6006000269' +
    'c7855b01010002040090ea46ea',
  HashList:
    '424c4d4401cdbfb79105be1182b0060639e774b7b201aa0b000000011e000000000022000000000201010102' +
    '010201020200170102010201020102010202000e020001010100000000f755d0650ada53c7fd',
  ScalableBloomFilter:
    '424c4d4401a28e7ec75f41d267132215de9e381fc9017b14ae47e17a943f0000000000000040000000000000' +
    'e03f0a000000000003ec000000000002010a01010214010100053a424c4d59010180010000000000000000f6' +
    '01000000082800000000000327b4268caa4debabf0c071130ec616617567dcfa1c8beb605d0618bb1e82d41b' +
    '14',
};
