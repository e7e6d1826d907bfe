import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { awkwardStrings, counterKeys } from '../../../test/keys.ts';
import { BlockedBloomFilter } from '../../filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import { CountingBloomFilter } from '../../filters/counting/counting-bloom-filter.ts';
import { FrameError, writeChecksum } from '../../frames/envelope.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import {
  compressedBits,
  compressedBitsDeviation,
  counterEntropy,
  fitProbability,
} from '../../math/entropy.ts';
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
          expect(coded.length).toBeLessThanOrEqual(plain.length + 1);
          expect(compressFrame(coded)).toBe(coded);
          expect(expandFrame(plain)).toBe(plain);
        }
      }
    },
  );

  test('counters of any height come back, and a frame that would grow stays plain', () => {
    const random = new Random(9);
    for (const counterBits of [2, 4, 8, 16] as const) {
      // From a few high ones to all of them: lists and passes over all, and the maximum itself.
      for (const [counters, keys, times] of [
        [5000, 30, 40],
        [5000, 3000, 3],
        [300, 200, 12],
        [97, 90, 300],
        [1, 1, 1],
        [33, 1, 70_000],
      ]) {
        const filter = new CountingBloomFilter({ counters, hashes: 1, counterBits });
        for (let i = 0; i < keys; i++) {
          const key = random.below(2 ** 30);
          for (let n = random.below(times) + (keys === 1 ? times : 0); n >= 0; n--) filter.add(key);
        }
        const plain = filter.encode();
        const coded = compressFrame(plain);
        expect(coded.length).toBeLessThanOrEqual(plain.length);
        expect(coded === plain).toBe(coded.length === plain.length);
        expect(expandFrame(coded)).toEqual(plain);
        expect(CountingBloomFilter.decode(expandFrame(coded)).equals(filter)).toBe(true);
      }
    }
    // One counter at 60,000 would be as many planes.
    const hot = new CountingBloomFilter({ counters: 333, hashes: 3, counterBits: 16 });
    for (let i = 0; i < 60_000; i++) hot.add('hot');
    const plain = hot.encode();
    expect(compressFrame(plain)).toBe(plain);
  });

  test('planes of counters have one form: none may be missing, be left over, or be too many', () => {
    const planes = (counterBits: number, counters: number, bytes: number[]) => {
      const empty = new CountingBloomFilter({ counters: 64, hashes: 1, counterBits: 4 }).encode();
      const frame = new Uint8Array(29 + bytes.length + 4);
      frame.set(empty.subarray(0, 29));
      frame.set(bytes, 29);
      frame[6] |= 128;
      frame.set([counters & 255, (counters >> 8) & 255, (counters >> 16) & 255, counters >>> 24, 0], 16);
      frame[22] = counterBits;
      writeChecksum(frame);
      return frame;
    };
    const [EMPTY, FULL] = [
      [1, 1],
      [1, 2],
    ];
    const full = (times: number) => Array.from({ length: times }, () => FULL).flat();
    expect(expandFrame(planes(2, 3, full(3)))).toHaveLength(29 + 1 + 4); // all at the maximum
    expect(expandFrame(planes(2, 3, full(3)))[29]).toBe(0b111111);
    expect(expandFrame(planes(4, 3, [...full(9), ...EMPTY])).subarray(29, 31)).toEqual(
      Uint8Array.of(0x99, 0x09),
    );
    expect(() => expandFrame(planes(2, 3, full(2)))).toThrow(/expected the length of a plane, got the end/);
    expect(() => expandFrame(planes(2, 3, full(4)))).toThrow(/expected the end, got 2 bytes more/);
    expect(() => expandFrame(planes(2, 3, [...EMPTY, ...EMPTY]))).toThrow(/expected the end/);
    expect(() => expandFrame(planes(2, 3, [9, ...FULL]))).toThrow(FrameError);
    // 130 KB that would be four billion steps; 32 planes and 64 are as far as it goes.
    expect(() => expandFrame(planes(16, 2 ** 16, full(65_535)))).toThrow(/planes of at most 4 times/);
    expect(expandFrame(planes(16, 40, [...full(63), ...EMPTY]))[29]).toBe(63);
    expect(() => expandFrame(planes(16, 40, [...full(64), ...EMPTY]))).toThrow(FrameError);
    expect(expandFrame(planes(8, 40, [...full(31), ...EMPTY]))[29]).toBe(31);
    expect(() => expandFrame(planes(8, 40, [...full(32), ...EMPTY]))).toThrow(FrameError);
    // And what is written can be read, also where it gets near.
    for (const [counterBits, highest] of [
      [8, 31],
      [16, 63],
    ] as const) {
      for (let value = highest - 2; value <= highest + 2; value++) {
        const plain = new CountingBloomFilter({ counters: 1000, hashes: 1, counterBits }).encode();
        for (let at = 29; at < plain.length - 4; at += counterBits / 8) plain[at] = value;
        writeChecksum(plain);
        const coded = compressFrame(plain);
        expect(coded === plain).toBe(value > highest);
        expect(expandFrame(coded)).toEqual(plain);
      }
    }
  });

  test('what is coded is smaller, to the byte', () => {
    const random = new Random(31);
    let coded = 0;
    for (let i = 0; i < 400; i++) {
      // Nearly as many of each value: planes are a little smaller than the counters, or a little
      // larger.
      const plain = new CountingBloomFilter({ counters: 2000, hashes: 1, counterBits: 2 }).encode();
      for (let at = 29; at < plain.length - 4; at++) {
        plain[at] = random.bits();
        if (random.below(1000) < i) plain[at] &= 0xf0;
      }
      writeChecksum(plain);
      const frame = compressFrame(plain);
      if (frame !== plain) {
        coded++;
        expect(frame.length).toBeLessThan(plain.length);
      }
    }
    expect(coded).toBeGreaterThan(20);
    expect(coded).toBeLessThan(380);
  });

  test('a plain frame is checked before it is coded', () => {
    for (const [filter, stray] of [
      [new BloomFilter({ bits: 1, hashes: 1 }), 0xff],
      [new BloomFilter({ bits: 1001, hashes: 1 }), 2],
      [new CountingBloomFilter({ counters: 3, hashes: 1 }), 0x10],
      [new CountingBloomFilter({ counters: 3, hashes: 1, counterBits: 2 }), 0x40],
    ] as const) {
      const plain = filter.encode();
      const last = plain.length - 5;
      plain[last] |= stray;
      expect(() => compressFrame(plain)).toThrow(/checksum/);
      writeChecksum(plain);
      expect(() => compressFrame(plain)).toThrow(/expected zeros beyond the last of \d+ bits/);
    }
    const plain = new BloomFilter({ bits: 100, hashes: 1 }).encode();
    const problem = (frame: Uint8Array) => {
      try {
        compressFrame(frame);
      } catch (error) {
        return [(error as FrameError).code, (error as FrameError).offset];
      }
    };
    expect(problem(plain.subarray(0, 40))).toEqual(['truncated', 40]);
    expect(problem(Uint8Array.of(...plain, 0))).toEqual(['trailing', 45]);
    for (const [at, value] of [
      [16, 0],
      [21, 0],
      [6, 2],
    ]) {
      const wrong = plain.slice();
      wrong[at] = value;
      expect(problem(wrong)).toEqual(['parameters', 16]);
    }
  });

  test('options are checked', () => {
    const plain = new BloomFilter({ bits: 1000, hashes: 1 }).encode();
    const coded = compressFrame(plain);
    expect(() => compressFrame(coded, { effort: 'tiny' } as never)).toThrow(
      /Cannot use effort: expected 'small' or 'fast'/,
    );
    expect(() => compressFrame(plain, { Effort: 'fast' } as never)).toThrow(/got option 'Effort'/);
    expect(() => expandFrame(coded, { maxbytes: 5 } as never)).toThrow(/got option 'maxbytes'/);
    expect(() => expandFrame(coded, { maxBytes: Number.NaN })).toThrow(RangeError);
    expect(() => expandFrame(coded, { maxBytes: '5' } as never)).toThrow(TypeError);
    expect(expandFrame(coded, { maxBytes: Number.POSITIVE_INFINITY })).toEqual(plain);
    expect(expandFrame(coded, { maxBytes: 125 })).toEqual(plain);
    expect(() => expandFrame(coded, { maxBytes: 124 })).toThrow(FrameError);
  });

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
        // The bit that says "coded" turns it into a plain frame, which is left as it is and which
        // decode refuses.
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
    const trials = withEffort(60);
    let sum = 0;
    for (let seed = 0; seed < trials; seed++) {
      const filter = new BloomFilter({ bits: 140_000, hashes: 2, seed });
      filter.addMany(counterKeys(10_000, 0, 77));
      sum += compressFrame(filter.encode()).length - 32;
    }
    const mean = sum / trials;
    // The entropy, a byte for the coding, three for the ones, less the byte that knowing them
    // saves, and the end of the code; test/math/papers.test.ts has the exact theory.
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
    // Table I of the paper: 14 bits and 2 hashes a key in a budget of 8 bits per key.
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

  test('to the byte, and slice by slice in the partitioned layout', () => {
    const whole = fitMessage(filled(140_000, 2), { maxBytes: 10_000 }).message.length;
    expect(fitMessage(filled(140_000, 2), { maxBytes: whole }).halvings).toBe(0);
    expect(fitMessage(filled(140_000, 2), { maxBytes: whole - 1 }).halvings).toBe(1);
    // 45,002 bits are even, the 22,501 of a slice are not.
    const odd = new BloomFilter({ bits: 45_002, hashes: 2, layout: 'partitioned' });
    odd.addMany(counterKeys(10_000));
    expect(fitMessage(odd, { maxBytes: 1000 }).saturated).toBe(true);
    const even = new BloomFilter({ bits: 45_008, hashes: 2, layout: 'partitioned' });
    even.addMany(counterKeys(10_000));
    const { filter, halvings } = fitMessage(even, { maxBytes: 4000 });
    expect([halvings, filter.bits, filter.layout]).toEqual([1, 22_504, 'partitioned']);
    // What says maybe to everything is asked like the filter that it stands for, and fits the
    // smallest budget.
    const key = new SecretKey(new Uint8Array(16).fill(3));
    const keyed = new BloomFilter({ bits: 1001, hashes: 2, key });
    keyed.addMany(counterKeys(500));
    const { message, saturated } = fitMessage(keyed, { maxBytes: 33 });
    expect(saturated).toBe(true);
    expect(BloomFilter.decode(expandFrame(message), { key }).has('x')).toBe(true);
  });

  test('where nothing fits it says maybe to everything, and an impossible budget is an error', () => {
    const { message, saturated } = fitMessage(filled(140_001, 2), { maxBytes: 40 });
    expect(saturated).toBe(true);
    expect(message.length).toBe(33);
    const there = BloomFilter.decode(expandFrame(message));
    expect(there.has('anything') && there.has('else')).toBe(true);
    expect(() => fitMessage(filled(100, 2), { maxBytes: 32 })).toThrow(/maxBytes/);
    const counting = CountingBloomFilter.forCapacity({ capacity: 9, falsePositiveRate: 0.1 });
    expect(() => fitMessage(counting as never, { maxBytes: 100 })).toThrow(
      'Cannot use filter: expected a BloomFilter, got CountingBloomFilter',
    );
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
      /got option 'shared'/,
    );
    expect(() => compressed.hasHash(hashKey('a', { seed: 4 }))).toThrow(RangeError);
    expect(() => new CompressedBloomFilter(filter.encode(), { shared: true } as never)).toThrow(
      /expected key, keptPieces, maxBytes, got option /,
    );
    expect(() => new CompressedBloomFilter(filter.encode(), { maxBytes: 624 })).toThrow(FrameError);
    expect(new CompressedBloomFilter(filter.encode(), { maxBytes: 625 }).expand().equals(filter)).toBe(true);
  });

  test('nothing and everything take no memory, however many bits they are said to have', () => {
    for (const [coding, answer] of [
      [1, false],
      [2, true],
    ] as const) {
      const bomb = compressFrame(new BloomFilter({ bits: 2 ** 20, hashes: 3 }).encode());
      bomb.set([0, 0, 0, 0, 16], 16); // 2^36 bits
      bomb[28] = coding;
      writeChecksum(bomb);
      const compressed = new CompressedBloomFilter(bomb);
      expect([compressed.has('x'), compressed.hasHash(hashKey('x'))]).toEqual([answer, answer]);
      expect([...compressed.hasMany(['x', 'y'])]).toEqual([Number(answer), Number(answer)]);
      expect([compressed.byteLength, compressed.unpackings]).toEqual([33, 0]);
      expect(() => compressed.expand()).toThrow(
        /at most 134217728 bytes unpacked \(maxBytes\), got 8589934592/,
      );
      expect(() => new CompressedBloomFilter(bomb, { maxBytes: 2 ** 20 })).toThrow(FrameError);
    }
  });

  test('keeps the pieces that were used last, and no more of them', () => {
    const filter = new BloomFilter({ bits: 1_500_000, hashes: 1 });
    filter.addMany(counterKeys(150_000));
    const compressed = new CompressedBloomFilter(compressFrame(filter.encode()), { keptPieces: 2 });
    // One key for each of the pieces, by the pieces that it unpacks.
    const [, pieces] = /(\d+) pieces/.exec(String(compressed)) ?? [];
    expect(Number(pieces)).toBeGreaterThan(2);
    const first = new Map<number, string>();
    const pieceBits = 2 ** Math.ceil(Math.log2(1_500_000 / Number(pieces)));
    for (const key of counterStrings(500)) {
      const alone = new BloomFilter({ bits: 1_500_000, hashes: 1 });
      alone.add(key);
      const at = alone.encode().findIndex((byte, i) => i >= 28 && byte !== 0) - 28;
      const piece = Math.floor((8 * at) / pieceBits);
      if (!first.has(piece)) first.set(piece, key);
      if (first.size === Number(pieces)) break;
    }
    const [a, b, c] = [...first.values()];
    const unpacked = (key: string) => {
      const before = compressed.unpackings;
      expect(compressed.has(key)).toBe(filter.has(key));
      return compressed.unpackings - before;
    };
    expect([a, b, a, c, a, b, c].map(unpacked)).toEqual([1, 1, 0, 1, 0, 1, 1]);
  });

  test('a piece that is wrong under a right checksum is found when it is touched', () => {
    const filter = new BloomFilter({ bits: 20_000, hashes: 2 });
    filter.addMany(KEYS);
    const coded = compressFrame(filter.encode());
    coded[coded.length - 5] = 0; // no range code ends with a zero
    writeChecksum(coded);
    const compressed = new CompressedBloomFilter(coded);
    expect(() => compressed.has('x')).toThrow(FrameError);
    expect(() => compressed.hasMany(['x'])).toThrow(FrameError);
  });

  test('random and mutated coded frames are FrameErrors', () => {
    const random = new Random(12);
    const filter = new BloomFilter({ bits: 20_000, hashes: 2 });
    filter.addMany(KEYS);
    const coded = compressFrame(filter.encode());
    for (let round = 0; round < withEffort(500); round++) {
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
