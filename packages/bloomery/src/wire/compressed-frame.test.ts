import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../test/contracts/subject.ts';
import { EFFORT } from '../../test/effort.ts';
import { awkwardStrings, counterKeys } from '../../test/keys.ts';
import { expectNormal, Random } from '../../test/statistics.ts';
import { BlockedBloomFilter } from '../filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../filters/bloom-filter.ts';
import { CountingBloomFilter } from '../filters/counting-bloom-filter.ts';
import { FrameError, writeChecksum } from '../filters/frame.ts';
import { hashKey } from '../kernel/hash-key.ts';
import { SecretKey } from '../kernel/secret-key.ts';
import { compressedBits, compressedBitsDeviation, counterEntropy, fitProbability } from '../math/entropy.ts';
import { CompressedBloomFilter } from './compressed-bloom-filter.ts';
import { codingOf, compressFrame, expandFrame } from './compressed-frame.ts';
import { fitMessage } from './fit-message.ts';

const KEYS = awkwardStrings(900, 5);

function structures() {
  return [
    new BloomFilter({ bits: 14_000, hashes: 2 }),
    new BloomFilter({ bits: 9000, hashes: 3, layout: 'partitioned', seed: 7 }),
    BloomFilter.forCapacity({ capacity: 900, falsePositiveRate: 0.01 }),
    BlockedBloomFilter.forCapacity({ capacity: 5000, falsePositiveRate: 0.01 }),
    BlockedBloomFilter.forCapacity({ capacity: 900, falsePositiveRate: 0.01, layout: 'split-block' }),
    CountingBloomFilter.forCapacity({ capacity: 900, falsePositiveRate: 0.01 }),
    new CountingBloomFilter({ counters: 700, hashes: 3, counterBits: 2 }),
    new CountingBloomFilter({ counters: 333, hashes: 3, counterBits: 16 }),
  ];
}

inBothKernels('coded frames', () => {
  test.each(['small', 'fast'] as const)(
    '%s: expanded they are the plain frames again, byte for byte',
    (effort) => {
      for (const filter of structures()) {
        for (const keys of [[], KEYS.slice(0, 3), KEYS]) {
          filter.addMany(keys);
          const plain = filter.encode();
          const coded = compressFrame(plain, { effort });
          expect(expandFrame(coded), String(filter)).toEqual(plain);
          expect(coded.length).toBeLessThanOrEqual(plain.length + 4);
          expect(compressFrame(coded)).toBe(coded);
          expect(expandFrame(plain)).toBe(plain);
        }
      }
    },
  );

  test('a plain decoder says what is wrong with a coded frame', () => {
    const filter = new BloomFilter({ bits: 1000, hashes: 1 });
    filter.add('a');
    expect(() => BloomFilter.decode(compressFrame(filter.encode()))).toThrow(FrameError);
  });

  test('keyed filters stay keyed', () => {
    const key = new SecretKey(new Uint8Array(16).fill(3));
    const filter = new BloomFilter({ bits: 5000, hashes: 2, key });
    filter.add('guest');
    const coded = compressFrame(filter.encode());
    expect(BloomFilter.decode(expandFrame(coded), { key }).has('guest')).toBe(true);
    expect(new CompressedBloomFilter(coded, { key }).has('guest')).toBe(true);
    expect(() => new CompressedBloomFilter(coded)).toThrow(/secret key/);
  });

  test('every prefix and every flipped bit is a FrameError', () => {
    for (const filter of [structures()[0], structures()[5]]) {
      filter.addMany(KEYS.slice(0, 20));
      const coded = compressFrame(filter.encode());
      for (let length = 0; length < coded.length; length++) {
        expect(() => expandFrame(coded.subarray(0, length)), `${length} bytes`).toThrow(FrameError);
      }
      for (let bit = 0; bit < 8 * coded.length; bit++) {
        coded[bit >> 3] ^= 1 << (bit & 7);
        // The bit that says "coded" turns it into a plain frame, which is left as it is and which decode refuses.
        if (bit === 6 * 8 + 7) expect(() => BloomFilter.decode(expandFrame(coded))).toThrow(FrameError);
        else expect(() => expandFrame(coded), `bit ${bit}`).toThrow(FrameError);
        coded[bit >> 3] ^= 1 << (bit & 7);
      }
    }
  });

  test('a few bytes that stand for gigabytes are refused before anything is allocated', () => {
    const bomb = compressFrame(new BloomFilter({ bits: 2 ** 20, hashes: 1 }).encode());
    expect(bomb.length).toBe(33);
    expect(() => expandFrame(bomb, { maxBytes: 1000 })).toThrow(
      /at most 1000 bytes unpacked \(maxBytes\), got 131072/,
    );
    expect(expandFrame(bomb).length).toBe(2 ** 17 + 32);
    bomb.set([0, 0, 0, 0, 16], 16); // 2^36 bits
    writeChecksum(bomb);
    expect(() => expandFrame(bomb)).toThrow(/at most 134217728 bytes unpacked \(maxBytes\), got 8589934592/);
  });
});

describe('sizes', () => {
  test("the paper's experiment: 10,000 keys, 140,000 bits, 2 hashes, within 5 sigma of theory and below 9908", () => {
    const trials = 60 * EFFORT;
    let sum = 0;
    for (let seed = 0; seed < trials; seed++) {
      const filter = new BloomFilter({ bits: 140_000, hashes: 2, seed });
      filter.addMany(counterKeys(10_000, 0, 77));
      sum += compressFrame(filter.encode()).length - 32;
    }
    const mean = sum / trials;
    // The entropy, a byte for the coding, three for the ones, less the byte that knowing them saves, and the end of the
    // code; math/papers.test.ts has the exact theory.
    const theory = compressedBits(140_000, 2, 10_000) / 8 + 3.7;
    const deviation = compressedBitsDeviation(140_000, 2, 10_000) / 8 / Math.sqrt(trials);
    expectNormal(mean, theory, deviation + 0.3, 'mean payload in bytes');
    if (EFFORT >= 20) expect(mean).toBeLessThan(9908);
  });

  test('counting filters: within half a per cent of the entropy of their counters', () => {
    const filter = CountingBloomFilter.forCapacity({ capacity: 50_000, falsePositiveRate: 0.01 });
    filter.addMany(counterKeys(50_000));
    const { counters, hashes } = filter;
    const entropy = (counters * counterEntropy(counters, hashes, 50_000)) / 8;
    for (const effort of ['small', 'fast'] as const) {
      const bytes = compressFrame(filter.encode(), { effort }).length - 33;
      expect(bytes / entropy).toBeGreaterThan(0.995);
      expect(bytes / entropy).toBeLessThan(1.005);
    }
  });

  test('which coding it is', () => {
    const filter = new BloomFilter({ bits: 10_000, hashes: 1 });
    expect(codingOf(filter.encode())).toBe('plain');
    expect(codingOf(compressFrame(filter.encode()))).toBe('empty');
    filter.addMany(KEYS.slice(0, 50));
    expect(codingOf(compressFrame(filter.encode()))).toBe('range');
    expect(codingOf(compressFrame(filter.encode(), { effort: 'fast' }))).toBe('gaps');
    const counting = CountingBloomFilter.forCapacity({ capacity: 9, falsePositiveRate: 0.1 });
    expect(() => codingOf(compressFrame(counting.encode()))).toThrow(/planes/);
    expect(() => compressFrame(new Uint8Array(3))).toThrow(FrameError);
    expect(() => compressFrame(undefined as never)).toThrow(TypeError);
  });
});

describe('fitMessage', () => {
  const filled = (bits: number, hashes: number) => {
    const filter = new BloomFilter({ bits, hashes });
    filter.addMany(counterKeys(10_000));
    return filter;
  };

  test('as planned it fits whole', () => {
    // Table I of the paper: 14 bits and 2 hashes a key in a budget of 8 bits a key.
    expect(fitProbability(140_000, 2, 10_000, 10_000 - 45)).toBeGreaterThan(0.999);
    const { message, halvings, saturated } = fitMessage(filled(140_000, 2), { maxBytes: 10_000 });
    expect([halvings, saturated]).toEqual([0, false]);
    expect(message.length).toBeLessThanOrEqual(10_000);
  });

  test('where it does not fit it is halved, and keeps every key', () => {
    const { message, filter, halvings } = fitMessage(filled(160_000, 2), { maxBytes: 5000 });
    expect(halvings).toBeGreaterThan(0);
    expect(message.length).toBeLessThanOrEqual(5000);
    const there = BloomFilter.decode(expandFrame(message));
    expect(there.equals(filter)).toBe(true);
    expect(there.hasMany(counterKeys(10_000)).every((answer) => answer === 1)).toBe(true);
  });

  test('where nothing fits it says maybe to everything, and an impossible budget is an error', () => {
    const { message, saturated } = fitMessage(filled(140_001, 2), { maxBytes: 40 });
    expect(saturated).toBe(true);
    expect(message.length).toBe(33);
    const there = BloomFilter.decode(expandFrame(message));
    expect(there.has('anything') && there.has('else')).toBe(true);
    expect(() => fitMessage(filled(100, 2), { maxBytes: 32 })).toThrow(/maxBytes/);
  });
});

inBothKernels('CompressedBloomFilter', () => {
  test.each(['small', 'fast'] as const)(
    '%s: answers like the filter, and keeps few pieces unpacked',
    (effort) => {
      for (const layout of ['classic', 'partitioned'] as const) {
        const filter = new BloomFilter({ bits: 1_500_000, hashes: 3, layout, seed: 9 });
        filter.addMany(counterKeys(60_000));
        const compressed = new CompressedBloomFilter(compressFrame(filter.encode(), { effort }), {
          keptPieces: 2,
        });
        const probes = [...counterStrings(15), 1, 2n, 'x', ...Array.from({ length: 15 }, (_, i) => i)];
        for (const key of probes) expect(compressed.has(key)).toBe(filter.has(key));
        for (const key of probes.slice(0, 5)) {
          expect(compressed.hasHash(hashKey(key, filter.scheme))).toBe(filter.has(key));
        }
        expect([...compressed.hasMany(probes)]).toEqual([...filter.hasMany(probes)]);
        expect(compressed.unpackings).toBeGreaterThan(2);
        expect(compressed.byteLength).toBeLessThan(filter.byteLength);
        expect(compressed.expand().equals(filter)).toBe(true);
        expect(expandFrame(compressed.encode())).toEqual(filter.encode());
        expect(String(compressed)).toMatch(/1500000 bits, 3 hashes, \d+ pieces/);
      }
    },
  );

  test('a plain frame is coded first; options are checked', () => {
    const filter = new BloomFilter({ bits: 5000, hashes: 2 });
    filter.add('a');
    const compressed = new CompressedBloomFilter(filter.encode());
    expect(compressed.has('a')).toBe(true);
    expect(compressed.has('b')).toBe(filter.has('b'));
    expect(() => new CompressedBloomFilter(filter.encode(), { keptPieces: 0 })).toThrow(/keptPieces/);
    expect(() => new CompressedBloomFilter(filter.encode(), { shared: true } as never)).toThrow(
      /no option 'shared'/,
    );
    expect(() => compressed.hasHash(hashKey('a', { seed: 4 }))).toThrow(RangeError);
  });

  test('random and mutated coded frames are FrameErrors', () => {
    const random = new Random(12);
    const filter = new BloomFilter({ bits: 20_000, hashes: 2 });
    filter.addMany(KEYS);
    const coded = compressFrame(filter.encode());
    for (let round = 0; round < 500 * EFFORT; round++) {
      const changed = Uint8Array.from(coded);
      for (let n = random.below(4); n >= 0; n--)
        changed[random.below(changed.length)] ^= 1 + random.below(255);
      try {
        expect(expandFrame(changed)).toEqual(filter.encode());
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
      }
    }
  });
});

function counterStrings(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `key ${i}`);
}
