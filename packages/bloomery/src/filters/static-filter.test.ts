import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { expectBinomial } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { referenceBandAnswer } from '../../test/band-reference.ts';
import { codecContract } from '../../test/contracts/codec.ts';
import { staticMembershipContract } from '../../test/contracts/static-membership.ts';
import { inBothKernels } from '../../test/contracts/subject.ts';
import { referenceAnswer } from '../../test/fuse-reference.ts';
import { counterKeys } from '../../test/keys.ts';
import { referenceForge64 } from '../../test/reference.ts';
import { FrameError } from '../frames/envelope.ts';
import { keyBytes } from '../keys/key.ts';
import { StaticFilter } from './static-filter.ts';

/** Offset of the number of the attempt in a frame. */
const ATTEMPT = 21;

staticMembershipContract<StaticFilter>({
  name: 'StaticFilter',
  from: (keys, options) => StaticFilter.from(keys, { fingerprintBits: 5, ...options }),
  decode: (bytes, options) => StaticFilter.decode(bytes, options),
});

const golden = {
  hex: '424c4d5901070101000000000000000014000000070200000014000023c85ffacc44e84529fdcbc1f35fccf44607a2bdcf64',
  falsePositives: [19, 23, 40, 41, 46, 70, 75, 77, 96, 103],
};

/** A fuse table, which earlier releases wrote for sets of every size. */
const fuseGolden = {
  hex: '424c4d590107000100000000000000001400000007000100000c00000000000000440100b808000038f70040ef0a0000000000a0e006d001003200d000b800013880a455616a41e5f058',
  /** False positives of 10,001 keys at 10 %. */
  falsePositives: [2, 44, 86, 88, 93, 101, 111, 139, 147, 150],
};

codecContract<StaticFilter>(
  {
    name: 'StaticFilter',
    seedable: true,
    build: (keys, options) => StaticFilter.from(keys, options),
    decode: (bytes, options) => StaticFilter.decode(bytes, options),
    answers: (filter, keys) => [...filter.hasMany(keys)],
  },
  golden,
);

const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

test('the golden bytes of a band mean what the format says', () => {
  const bytes = bytesOf(golden.hex);
  const view = new DataView(bytes.buffer);
  const [width, attempt] = bytes.subarray(20, 22);
  const columns = view.getUint32(25, true) & 0xffffff;
  expect([bytes[6], view.getUint32(16, true), width, attempt, columns]).toEqual([1, 20, 7, 2, 20]);
  const payload = bytes.subarray(28, -4);
  expect(payload.length).toBe(Math.ceil((20 * 7) / 8));
  const band = { width, attempt, columns };
  for (let i = 0; i < 20; i++) {
    expect(referenceBandAnswer(band, payload, referenceForge64(keyBytes(`key-${i}`), 0n))).toBe(0);
  }
  for (let i = 0; i < 2000; i++) {
    const found = referenceBandAnswer(band, payload, referenceForge64(keyBytes(`other-${i}`), 0n)) === 0;
    expect(StaticFilter.decode(bytes).has(`other-${i}`)).toBe(found);
  }
});

inBothKernels('StaticFilter: frames of earlier releases', () => {
  test('a small set in a fuse table is read, answers and is written back the same', () => {
    const filter = StaticFilter.decode(bytesOf(fuseGolden.hex));
    const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`);
    expect(keys.every((key) => filter.has(key))).toBe(true);
    expect(filter.hasMany(keys)).toEqual(new Uint8Array(20).fill(1));
    expect(filter.encode()).toEqual(bytesOf(fuseGolden.hex));
    expect(filter.copy().encode()).toEqual(bytesOf(fuseGolden.hex));
    expect(filter.equals(StaticFilter.from(keys, { falsePositiveRate: 0.01 }))).toBe(false);
  });

  test('a set above 10,000 keys has the table that it always had', () => {
    const keys = Array.from({ length: 10_001 }, (_, i) => `key-${i}`);
    const filter = StaticFilter.from(keys, { falsePositiveRate: 0.1 });
    const found: number[] = [];
    for (let i = 0; found.length < 10; i++) if (filter.has(`other-${i}`)) found.push(i);
    expect(found).toEqual(fuseGolden.falsePositives);
  });
});

test('the golden bytes of a fuse table mean what the format says', () => {
  const bytes = bytesOf(fuseGolden.hex);
  const view = new DataView(bytes.buffer);
  expect(view.getUint32(16, true)).toBe(20);
  const [width, attempt] = bytes.subarray(20, 22);
  const segments = view.getUint32(22, true) & 0xffffff;
  const segmentLength = view.getUint32(25, true) & 0xffffff;
  expect([width, attempt, segments, segmentLength]).toEqual([7, 0, 1, 12]);
  const table = { width, attempt, segments, segmentLength, stride: width };
  const payload = bytes.subarray(28, -4);
  expect(payload.length).toBe(Math.ceil((4 * 12 * 7) / 8));
  for (let i = 0; i < 20; i++) {
    expect(referenceAnswer(table, payload, referenceForge64(keyBytes(`key-${i}`), 0n))).toBe(0);
  }
  for (let i = 0; i < 2000; i++) {
    const found = referenceAnswer(table, payload, referenceForge64(keyBytes(`other-${i}`), 0n)) === 0;
    expect(StaticFilter.decode(bytes).has(`other-${i}`)).toBe(found);
  }
});

inBothKernels('StaticFilter: false positive rate', (kernel) => {
  const grid = [1, 2, 10, 20, 63, 64, 65, 100, 1000, 10_000, 100_000].flatMap((n) =>
    [8, 16].map((bits) => [n, bits] as const),
  );
  const others = [1, 3, 7, 12, 20].map((bits) => [300, bits] as const);

  test.each([...grid, ...others])('%i keys with %i bits: neither more nor fewer than 2^-bits', (n, bits) => {
    const questions = withEffort(kernel === 'wasm' ? 1.5e6 : 1e5);
    const filters = n > 1000 ? 5 : 30;
    let found = 0;
    for (let seed = 0; seed < filters; seed++) {
      const filter = StaticFilter.from(counterKeys(n, 0, 2 * seed + 1), { fingerprintBits: bits, seed });
      expect(filter.falsePositiveRate).toBe(2 ** -bits);
      const answers = filter.hasMany(counterKeys(questions / filters, 0, 2 * seed + 2));
      for (let i = 0; i < answers.length; i++) found += answers[i];
    }
    expectBinomial(found, questions, 2 ** -bits, `${n} keys, ${bits} bits`);
  });
});

inBothKernels('StaticFilter: building', (kernel) => {
  // Where peers fail, and around. In the full form (an effort of 20 or more) 1000 sets of each
  // size; in JavaScript a sample.
  const full = EFFORT >= 20;
  const sets = kernel === 'wasm' ? (full ? 1000 : withEffort(10)) : full ? 20 : withEffort(1);
  const step = kernel === 'wasm' ? 1 : 20;

  test(`does not fail for any size from 11,400 to 11,600 in steps of ${step}, ${sets} sets each`, () => {
    let built = 0;
    let again = 0;
    for (let n = 11_400; n <= 11_600; n += step) {
      const keys = counterKeys(n);
      const words = new Uint32Array(keys.bytes.buffer);
      for (let set = 0; set < sets; set++) {
        // Other keys in the same memory.
        for (let i = 1; i < words.length; i += 2) words[i] = 1000 * n + set;
        const filter = StaticFilter.from(keys);
        if (filter.size !== n) throw new Error(`${filter.size} of ${n} keys in set ${set}`);
        const missing = set % 10 === 0 ? filter.hasMany(keys).indexOf(0) : -1;
        if (missing >= 0) throw new Error(`key ${missing} of ${n} is missing in set ${set}`);
        const attempt = filter.encode()[ATTEMPT];
        expect(attempt).toBeLessThan(3);
        again += attempt > 0 ? 1 : 0;
        built++;
      }
    }
    expect(built).toBe(sets * (200 / step + 1));
    expect(again).toBeLessThanOrEqual(0.005 * built + 5 * Math.sqrt(0.005 * built));
  });

  const sizes = [1000, 10_000, 100_000, 1_000_000, ...(full && kernel === 'wasm' ? [10_000_000] : [])];
  test.each(sizes)('%i keys: bits per key against the bound, everything included', (n) => {
    const most = { 1000: 1.04, 10000: 1.04, 100000: 1.13, 1000000: 1.08, 10000000: 1.06 }[n] ?? 0;
    if (kernel === 'javascript' && n > 100_000) return;
    for (const bits of [8, 16]) {
      const filter = StaticFilter.from(counterKeys(n), { fingerprintBits: bits });
      expect(filter.size).toBe(n);
      expect(filter.bitsPerKey).toBe((8 * filter.byteLength) / n);
      expect(filter.bitsPerKey / bits).toBeLessThanOrEqual(most);
      expect((8 * filter.encode().length) / (n * bits)).toBeLessThanOrEqual(most);
      expect(filter.hasMany(counterKeys(n)).indexOf(0)).toBe(-1);
    }
  });
});

describe('StaticFilter', () => {
  test('reads like a Set that is given all at once', () => {
    const songs = StaticFilter.from(['So What', 'Blue in Green', 'So What']);
    expect(songs.has('So What')).toBe(true);
    expect(songs.has('Freddie Freeloader')).toBe(false);
    expect(songs.size).toBe(2);
    expect(String(songs)).toBe('StaticFilter(2 keys, 8 fingerprint bits, 2 slots, forge64/0)');
    expect('add' in songs || 'union' in songs || 'delete' in songs).toBe(false);
  });

  test('the fingerprint by its bits or by the rate', () => {
    const bitsFor = (falsePositiveRate: number) =>
      StaticFilter.from(['a'], { falsePositiveRate }).fingerprintBits;
    expect(StaticFilter.from(['a']).fingerprintBits).toBe(8);
    expect([0.9, 0.5, 0.1, 0.01, 1 / 256, 1e-3, 2 ** -16, 2 ** -32].map(bitsFor)).toEqual([
      1, 1, 4, 7, 8, 10, 16, 32,
    ]);
    expect(() => bitsFor(2 ** -33)).toThrow(/at least 2\^-32 in a StaticFilter, got 1\.16/);
    expect(() => bitsFor(0)).toThrow(/strictly between 0 and 1, got 0/);
    expect(() => bitsFor(Number.NaN)).toThrow(RangeError);
    for (const fingerprintBits of [0, 33, 7.5, '8' as never]) {
      expect(() => StaticFilter.from([], { fingerprintBits })).toThrow(
        /Cannot use fingerprintBits: expected an integer from 1 to 32/,
      );
    }
    expect(() => StaticFilter.from([], { fingerprintBits: 8, falsePositiveRate: 0.1 } as never)).toThrow(
      /expected fingerprintBits or falsePositiveRate, got both/,
    );
    expect(() => StaticFilter.from([], { bits: 8 } as never)).toThrow(
      /Cannot use StaticFilter.from: expected .*, got option 'bits'/,
    );
  });

  test('a frame of a fuse table that contradicts itself is refused', () => {
    const refusal = (change: (bytes: Uint8Array) => void): void => {
      const bytes = bytesOf(fuseGolden.hex);
      change(bytes);
      bytes.set(checksumOf(bytes), bytes.length - 4);
      expect(() => StaticFilter.decode(bytes)).toThrow(/no filter has/);
    };
    refusal((b) => (b[6] = 1)); // a band with segments
    refusal((b) => b.fill(0, 16, 20)); // no keys, but slots
    refusal((b) => (b[16] = 200)); // more keys than slots
    refusal((b) => (b[ATTEMPT] = 64));
    refusal((b) => b.fill(0, 22, 25)); // no segments
    refusal((b) => b.fill(255, 22, 28)); // too many slots
  });

  test('a frame that contradicts itself is refused', () => {
    const filter = StaticFilter.from(['a', 'b', 'c'], { fingerprintBits: 7 });
    const sound = filter.encode();
    const refused = (change: (bytes: Uint8Array) => void): string => {
      const bytes = Uint8Array.from(sound);
      change(bytes);
      bytes.set(checksumOf(bytes), bytes.length - 4);
      try {
        StaticFilter.decode(bytes);
      } catch (error) {
        if (error instanceof FrameError) return error.code;
        throw error;
      }
      return 'none';
    };
    expect(refused(() => {})).toBe('none');
    expect(refused((b) => (b[6] = 0))).toBe('parameters'); // a fuse table without segments
    expect(refused((b) => (b[6] = 2))).toBe('parameters'); // variant
    expect(refused((b) => b.fill(0, 16, 20))).toBe('parameters'); // no keys, but columns
    expect(refused((b) => (b[16] = 200))).toBe('parameters'); // more keys than columns
    expect(refused((b) => (b[20] = 0))).toBe('parameters'); // no fingerprints
    expect(refused((b) => (b[20] = 33))).toBe('parameters');
    expect(refused((b) => (b[ATTEMPT] = 64))).toBe('parameters');
    expect(refused((b) => (b[22] = 1))).toBe('parameters'); // a band with segments
    expect(refused((b) => b.fill(255, 25, 28))).toBe('parameters'); // too many columns
    expect(refused((b) => b.fill(0, 25, 28))).toBe('parameters'); // none

    const odd = StaticFilter.from(['a'], { fingerprintBits: 1 }).encode(); // one column: one bit
    odd[odd.length - 5] |= 0x80;
    odd.set(checksumOf(odd), odd.length - 4);
    expect(() => StaticFilter.decode(odd)).toThrow(/expected zeros beyond the last of \d+ bits/);
  });
});

function checksumOf(frame: Uint8Array): Uint8Array {
  const sum = referenceForge64(frame.subarray(0, -4), 0n) & 0xffffffffn;
  return Uint8Array.from({ length: 4 }, (_, i) => Number((sum >> BigInt(8 * i)) & 255n));
}
