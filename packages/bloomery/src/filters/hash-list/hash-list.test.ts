import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../../test/contracts/codec.ts';
import { membershipContract } from '../../../test/contracts/membership.ts';
import { mergeableContract } from '../../../test/contracts/mergeable.ts';
import { rateContract } from '../../../test/contracts/rate.ts';
import { codecSubject, inBothKernels, type Subject } from '../../../test/contracts/subject.ts';
import { forgeFrame } from '../../../test/forge-frame.ts';
import { awkwardStrings, counterKeys } from '../../../test/keys.ts';
import { referenceForge64, referenceIndex } from '../../../test/reference.ts';
import { FrameError } from '../../frames/envelope.ts';
import type { FrameKind } from '../../frames/frame.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { useKernel } from '../../kernel/wasm/kernel-choice.ts';
import { keyBytes } from '../../keys/key.ts';
import { MAX_BITS } from '../../math/checks.ts';
import { rateTrue } from '../../math/true-rate.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { intersectionEstimate, unionEstimate } from '../shared/estimates.ts';
import { HashList } from './hash-list.ts';

const subject: Subject<HashList> = {
  name: 'HashList',
  seedable: true,
  create: (options) => HashList.forCapacity(options),
  decode: (bytes, options) => HashList.decode(bytes, options),
  theory: ({ bits, hashes }, n) => rateTrue(bits, hashes, n),
};

const golden = {
  hex: '424c4d59010800010000000000000000c70700000001140000000000140000000019f00325b21192a9a0a5591a1b5bd9e217485036f3b3cd0db3d98b0f904531f2',
  falsePositives: [6, 10, 12, 15, 23, 30, 42, 49, 103, 151],
};

membershipContract(subject);
mergeableContract(subject, () => {
  const { bits } = subject.create({ capacity: 500, falsePositiveRate: 0.01 });
  return [
    new HashList({ bits: bits + 1 }),
    new HashList({ bits, hashes: 2 }),
    new HashList({ bits, seed: 1 }),
    new HashList({ bits, key: new SecretKey(new Uint8Array(16)) }),
  ];
});
codecContract(codecSubject(subject), golden);
rateContract(subject, {
  capacities: [1, 20, 64, 1000, 1e5],
  again: ({ bits, hashes }, seed) => new HashList({ bits, hashes, seed }),
});

/** The positions in a frame, read off its payload bit by bit. */
function positionsIn(frame: Uint8Array): number[] {
  const number = (at: number, width: number) =>
    Array.from({ length: width }, (_, i) => frame[at + i] * 256 ** i).reduce((sum, x) => sum + x, 0);
  const bits = number(16, 5);
  const count = number(28, 5);
  const width = Math.max(1, (bits - 1).toString(2).length);
  expect(frame.length).toBe(33 + Math.ceil((count * width) / 8) + 4);
  let payload = 0n;
  frame.subarray(33, -4).forEach((byte, i) => {
    payload |= BigInt(byte) << BigInt(8 * i);
  });
  expect(payload >> BigInt(count * width)).toBe(0n);
  return Array.from({ length: count }, (_, i) =>
    Number((payload >> BigInt(i * width)) & ((1n << BigInt(width)) - 1n)),
  );
}

inBothKernels('HashList: structure', () => {
  test('is the BloomFilter of the same parameters: positions, answers, counts, to and fro', () => {
    for (const [bits, hashes, keys] of [
      [1, 1, 3],
      [2, 2, 2],
      [92_000, 1, 1000],
      [50_000, 3, 1500],
      [3000, 7, 400],
      [2 ** 22 + 3, 2, 5000],
    ]) {
      const options = { bits, hashes, seed: 5, capacity: 9 };
      const filter = new BloomFilter(options);
      const list = new HashList(options);
      const members = counterKeys(keys, 0, 1);
      expect(list.addMany(members)).toBe(filter.addMany(members));
      expect(list.onesCount()).toBe(filter.onesCount());
      expect(list.toFilter().equals(filter)).toBe(true);
      expect(HashList.fromFilter(filter).encode()).toEqual(list.encode());
      expect(list.estimatedSize()).toBe(filter.estimatedSize());
      expect(list.estimatedFalsePositiveRate()).toBe(filter.estimatedFalsePositiveRate());
      const probes = counterKeys(20_000, 0, 2);
      for (const asked of [probes, members]) {
        const expected = filter.hasMany(asked);
        expect(list.hasMany(asked).every((answer, i) => answer === expected[i])).toBe(true);
      }
      for (let i = 0; i < 300; i++) {
        expect(list.has(i)).toBe(filter.has(i));
        expect(list.hasHash(hashKey(i, list.scheme))).toBe(filter.has(i));
      }
    }
  });

  test('sets exactly the positions of the definition', () => {
    for (const k of [1, 2, 7]) {
      for (const key of awkwardStrings(50, k)) {
        const list = new HashList({ bits: 2 ** 36 - 5, hashes: k, seed: 3 });
        list.add(key);
        const hash = referenceForge64(keyBytes(key), 3n);
        const expected = new Set(Array.from({ length: k }, (_, i) => referenceIndex(hash, i, 2 ** 36 - 5)));
        expect(positionsIn(list.encode())).toEqual([...expected].sort((x, y) => x - y));
      }
    }
  });

  test('against a Bloom filter: thousands of single adds, batches and questions in turn', () => {
    const random = new Random(6);
    const options = { bits: 40_000, hashes: 2 };
    let list = new HashList(options);
    const filter = new BloomFilter(options);
    for (let step = 0; step < withEffort(10_000); step++) {
      const command = random.below(100);
      const key = random.below(20_000);
      if (command < 40) {
        expect(list.add(key)).toBe(filter.add(key));
      } else if (command < 45) {
        const keys = Array.from({ length: random.below(50) }, () => random.below(20_000));
        keys.push(...keys.slice(0, 5));
        expect(list.addMany(keys)).toBe(filter.addMany(keys));
      } else if (command < 50) {
        const keys = Array.from({ length: 1 + random.below(50) }, () => random.below(20_000));
        expect(list.hasMany(keys)).toEqual(filter.hasMany(keys));
      } else if (command === 50) {
        list = HashList.decode(list.encode());
      } else if (command === 51) {
        list = list.copy();
      } else if (command === 52 && random.below(60) === 0) {
        list.clear();
        filter.clear();
      } else {
        expect(list.has(key)).toBe(filter.has(key));
      }
    }
    expect(list.toFilter().equals(filter)).toBe(true);
  });

  test('keys may come from a generator that uses the list itself, or that fails', () => {
    const list = new HashList({ bits: 92_000 });
    function* keys(): Generator<string> {
      for (let i = 0; i < 3000; i++) {
        if (i === 1500) list.add('between');
        if (i === 2500) expect(list.has('between')).toBe(true);
        yield `key ${i}`;
      }
    }
    list.addMany(keys());
    const answers = list.hasMany(
      (function* () {
        for (let i = 0; i < 2500; i++) {
          list.add(`new ${i}`);
          yield `new ${i}`;
        }
      })(),
    );
    expect(answers.every((answer) => answer === 1)).toBe(true);
    expect(() =>
      list.addMany(
        (function* () {
          for (let i = 0; i < 2000; i++) yield `more ${i}`;
          throw new Error('torn');
        })(),
      ),
    ).toThrow('torn');
    // The whole chunk that came before is in, as in a BloomFilter.
    expect(list.has('more 0') && list.has('more 1023')).toBe(true);
    expect(list.has('between') && list.has('key 2999')).toBe(true);
  });

  test('sizes of union and intersection are estimated within their intervals', () => {
    const make = (from: number, count: number) => {
      const list = HashList.forCapacity({ capacity: 20_000, falsePositiveRate: 0.01 });
      list.addMany(counterKeys(count, from, 1));
      return list;
    };
    const [a, b] = [make(0, 12_000), make(8000, 10_000)];
    const wide = { confidence: 1 - 5.7e-7 };
    const union = unionEstimate(a, b, wide);
    const common = intersectionEstimate(a, b, wide);
    expect(union.low <= 18_000 && 18_000 <= union.high, JSON.stringify(union)).toBe(true);
    expect(common.low <= 4000 && 4000 <= common.high, JSON.stringify(common)).toBe(true);
    expect(union.high - union.low).toBeLessThan(500);
    expect(common.high - common.low).toBeLessThan(500);
  });
});

describe('HashList', () => {
  test("the paper's example: one hash, 92 bits per key, 1.08 %, n·log2 92n bits", () => {
    const n = 100_000;
    const list = new HashList({ bits: 92 * n });
    list.addMany(counterKeys(n));
    // The paper prints 1.08 %, so its number is rounded by at most 0.00005.
    expect(rateTrue(92 * n, 1, n)).toBeCloseTo(0.0108, 4);
    const trials = withEffort(200_000);
    const found = list.hasMany(counterKeys(trials, 0, 9)).reduce((sum, answer) => sum + answer, 0);
    expectBinomial(found, trials, list.estimatedFalsePositiveRate(), 'false positives');
    // ⌈log2 9,200,000⌉ = 24 bits for each of the positions, of which a few coincide.
    expect(list.byteLength).toBe(4 * (Math.ceil((24 * list.onesCount()) / 32) + 2));
    expect(list.byteLength / new BloomFilter({ bits: 92 * n, hashes: 1 }).byteLength).toBeLessThan(0.262);
  });

  test('one hash unless told, more where 2^36 bits are not enough', () => {
    const small = HashList.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
    expect(small.hashes).toBe(1);
    expect(rateTrue(small.bits, 1, 1000)).toBeLessThanOrEqual(0.01);
    expect(rateTrue(small.bits - 1, 1, 1000)).toBeGreaterThan(0.01);
    const more = HashList.forCapacity({ capacity: 1_000_000, falsePositiveRate: 1e-5 });
    expect(more.hashes).toBe(2);
    expect(rateTrue(more.bits, 2, 1_000_000)).toBeLessThanOrEqual(1e-5);
    expect(HashList.forCapacity({ capacity: 1000, falsePositiveRate: 0.01, hashes: 4 }).hashes).toBe(4);
    expect(() => HashList.forCapacity({ capacity: 1_000_000, falsePositiveRate: 1e-5, hashes: 1 })).toThrow(
      /at most 1 hashes: expected at most 68719476736 bits, got more/,
    );
    expect(() => HashList.forCapacity({ capacity: 1e15, falsePositiveRate: 0.01 })).toThrow(
      /expected at most 68719476736 bits, got more/,
    );
    // On the edge of 2^36: whatever is chosen fits and keeps the rate.
    for (const factor of [0.999_998, 1, 1.000_002]) {
      const edge = HashList.forCapacity({
        capacity: Math.round(MAX_BITS * 1e-4 * factor),
        falsePositiveRate: 1e-4,
      });
      expect(edge.bits).toBeLessThanOrEqual(MAX_BITS);
      expect(rateTrue(edge.bits, edge.hashes, edge.capacity ?? 0)).toBeLessThanOrEqual(1e-4);
    }
  });

  test('from keys: sized for as many as there are', () => {
    const list = HashList.from(new Set(['a', 'b', 'c']).values(), { falsePositiveRate: 0.001, seed: 8 });
    expect(list.capacity).toBe(3);
    expect(list.scheme.id).toBe('forge64/8');
    expect(['a', 'b', 'c'].every((key) => list.has(key))).toBe(true);
    expect(HashList.from([], { falsePositiveRate: 0.1 }).capacity).toBe(1);
    const key = new SecretKey(new Uint8Array(16));
    expect(HashList.from(['x'], { falsePositiveRate: 0.1, capacity: 50, key }).capacity).toBe(50);
    expect(() => HashList.from(['a'], { rate: 1 } as never)).toThrow(/got option 'rate'/);
    const text = 'not a batch' as never;
    expect(() => HashList.from(text, { falsePositiveRate: 0.1 })).toThrow(TypeError);
  });

  test('both kernels make the same bytes by every way in', () => {
    const keys = awkwardStrings(3000, 2);
    const frames = (['wasm', 'javascript'] as const).flatMap((kernel) => {
      useKernel(kernel);
      const single = new HashList({ bits: 2 ** 34, hashes: 3 });
      for (const key of keys) single.add(key);
      const batch = new HashList({ bits: 2 ** 34, hashes: 3 });
      batch.addMany(keys);
      return [single.encode(), batch.encode()];
    });
    useKernel('auto');
    for (const frame of frames) expect(frame).toEqual(frames[0]);
  });

  test('a partitioned filter has no list, and says so', () => {
    const filter = new BloomFilter({ bits: 100, hashes: 2, layout: 'partitioned' });
    expect(() => HashList.fromFilter(filter)).toThrow(/classic layout, got BloomFilter\(100 bits/);
  });

  test('keyed filters go to and fro, too', () => {
    const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));
    const filter = new BloomFilter({ bits: 5000, hashes: 2, key });
    filter.addMany(awkwardStrings(50, 1));
    const list = HashList.fromFilter(filter);
    expect(list.toFilter().equals(filter)).toBe(true);
    expect(HashList.decode(list.encode(), { key }).equals(list)).toBe(true);
  });

  test('errors name what is wrong', () => {
    for (const bits of [0, 1.5, Number.NaN, 2 ** 36 + 1, '8']) {
      expect(() => new HashList({ bits: bits as number })).toThrow(/Cannot use bits: expected/);
    }
    for (const hashes of [0, 256, 1.5]) {
      expect(() => new HashList({ bits: 8, hashes })).toThrow(/Cannot use hashes: expected/);
    }
    expect(() => new HashList({ bits: 8, overfull: 'throw' })).toThrow(/expected a capacity, got none/);
    expect(() => new HashList({ bits: 8, shared: true } as never)).toThrow(/got option 'shared'/);
    expect(() => HashList.decode(new HashList({ bits: 8 }).encode(), { shared: true } as never)).toThrow(
      /got option 'shared'/,
    );
    expect(String(new HashList({ bits: 8, hashes: 3 }))).toBe('HashList(8 bits, 3 hashes, forge64/0)');
  });
});

describe('frames of a HashList', () => {
  const kind: FrameKind = { code: 8, name: 'HashList', widths: [5, 1, 6, 5], payloadBits: () => 0 };
  const forge = (parameters: number[], payload: number[], variant = 0) =>
    forgeFrame(kind, {
      variant,
      scheme: new HashList({ bits: 8 }).scheme,
      parameters,
      payload: Uint8Array.from(payload),
    });
  const errorOf = (frame: Uint8Array): FrameError => {
    try {
      HashList.decode(frame);
    } catch (error) {
      if (error instanceof FrameError) return error;
      throw error;
    }
    throw new Error('no error');
  };

  test('the golden frame means what the format says', () => {
    const frame = Uint8Array.from(golden.hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    const { bits } = HashList.decode(frame);
    const expected = Array.from({ length: 20 }, (_, i) =>
      referenceIndex(referenceForge64(keyBytes(`key-${i}`), 0n), 0, bits),
    );
    expect(positionsIn(frame)).toEqual([...new Set(expected)].sort((a, b) => a - b));
  });

  test('positions must rise and lie below the bits; nothing may follow them', () => {
    // 200 bits: a byte a position.
    expect(HashList.decode(forge([200, 1, 0, 3], [5, 6, 199])).onesCount()).toBe(3);
    for (const [payload, offset] of [
      [[5, 5, 9], 34],
      [[5, 4, 9], 34],
      [[5, 6, 200], 35],
      [[255, 6, 7], 33],
    ] as const) {
      const error = errorOf(forge([200, 1, 0, 3], [...payload]));
      expect([error.code, error.offset]).toEqual(['payload', offset]);
    }
    // 100 bits: seven bits a position, one left over.
    expect(HashList.decode(forge([100, 1, 0, 1], [99])).onesCount()).toBe(1);
    expect(errorOf(forge([100, 1, 0, 1], [99 + 128])).message).toMatch(
      /expected zeros beyond the last of 7 bits/,
    );
  });

  test('impossible parameters are refused before anything is allocated', () => {
    for (const parameters of [
      [0, 1, 0, 0],
      [2 ** 36 + 1, 1, 0, 0],
      [100, 0, 0, 0],
      [100, 1, 0, 101],
    ]) {
      expect(errorOf(forge(parameters, [])).code).toBe('parameters');
    }
    expect(errorOf(forge([100, 1, 0, 0], [], 1)).code).toBe('parameters');
    expect(errorOf(forge([2 ** 36, 1, 0, 2 ** 36], [1, 2, 3])).code).toBe('truncated');
  });
});
