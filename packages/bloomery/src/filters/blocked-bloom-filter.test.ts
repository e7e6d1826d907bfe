import { describe, expect, test } from 'vitest';
import { codecContract } from '../../test/contracts/codec.ts';
import { membershipContract } from '../../test/contracts/membership.ts';
import { mergeableContract } from '../../test/contracts/mergeable.ts';
import { rateContract } from '../../test/contracts/rate.ts';
import { codecSubject, inBothKernels, type Subject } from '../../test/contracts/subject.ts';
import { awkwardStrings } from '../../test/keys.ts';
import {
  referenceBlockedBits,
  referenceForge64,
  referenceSplitBits,
  referenceXxh64,
} from '../../test/reference.ts';
import { SecretKey } from '../hashing/secret-key.ts';
import { keyBytes } from '../keys/key.ts';
import { rateBlocked, rateSplitBlock } from '../math/blocked-rate.ts';
import { BlockedBloomFilter, type BlockedLayout } from './blocked-bloom-filter.ts';

function subject(layout: BlockedLayout): Subject<BlockedBloomFilter> {
  return {
    name: `BlockedBloomFilter, ${layout}`,
    seedable: layout === 'blocked',
    create: (options) => BlockedBloomFilter.forCapacity({ ...options, layout }),
    decode: (bytes, options) => BlockedBloomFilter.decode(bytes, options),
    theory: ({ blocks, hashes }, n) =>
      layout === 'blocked' ? rateBlocked({ n, blocks, k: hashes }) : rateSplitBlock({ n, blocks }),
  };
}

const PARQUET_EXAMPLE: [number, number][] = [
  [130, 16],
  [133, 2],
  [137, 4],
  [140, 128],
  [145, 2],
  [151, 128],
  [155, 16],
  [159, 8],
  [162, 128],
  [167, 16],
  [168, 1],
  [175, 16],
  [176, 32],
  [182, 32],
  [187, 64],
  [190, 8],
  [224, 4],
  [230, 64],
  [234, 64],
  [238, 8],
  [243, 4],
  [245, 32],
  [248, 16],
  [252, 2],
  [322, 32],
  [325, 8],
  [329, 1],
  [335, 32],
  [338, 128],
  [343, 8],
  [345, 1],
  [349, 16],
];

const goldens = {
  blocked: {
    hex: '424c4d59010200010000000000000000010000000214000000000000000018010000000080200000480000000000030000010080208028000810100002084001000090800000300020040000100082000044040080008400000000286f920f',
    falsePositives: [9, 10, 20, 47, 48, 58, 73, 74, 85, 95],
  },
  'split-block': {
    hex: '424c4d590102010300000000000000000100000008140000000000c5127f214356c0d6e9cc58e98a5557b1a2dc668f207655ae19a305c9074d11610e8da980',
    falsePositives: [2, 11, 38, 39, 55, 64, 97, 98, 103, 112],
  },
};

describe.each(['blocked', 'split-block'] as const)('%s', (layout) => {
  const tested = subject(layout);
  membershipContract(tested);
  mergeableContract(tested, () => {
    const { blocks, hashes } = tested.create({ capacity: 500, falsePositiveRate: 0.01 });
    const others = [new BlockedBloomFilter({ blocks: blocks + 1, hashes, layout })];
    if (layout === 'split-block') return [...others, new BlockedBloomFilter({ blocks, hashes })];
    return [
      ...others,
      new BlockedBloomFilter({ blocks, hashes: hashes + 1 }),
      new BlockedBloomFilter({ blocks, hashes, seed: 1 }),
      new BlockedBloomFilter({ blocks, layout: 'split-block' }),
    ];
  });
  codecContract(codecSubject(tested), goldens[layout]);
  rateContract(tested, {
    // The split-block layout has no seed; its filters differ by their keys.
    again: ({ blocks, hashes }, seed) =>
      new BlockedBloomFilter({ blocks, hashes, layout, ...(layout === 'blocked' ? { seed } : {}) }),
  });

  inBothKernels(`${layout}: structure`, () => {
    test('sets exactly the bits of the definition', () => {
      for (const blocks of [1, 2, 7, 1000]) {
        for (const [i, key] of awkwardStrings(60, blocks).entries()) {
          const hashes = layout === 'blocked' ? 1 + (i % 24) : 8;
          const filter = new BlockedBloomFilter({ blocks, hashes, layout });
          filter.addMany([key]);
          const hash = (layout === 'blocked' ? referenceForge64 : referenceXxh64)(keyBytes(key), 0n);
          const expected =
            layout === 'blocked'
              ? referenceBlockedBits(hash, blocks, hashes)
              : referenceSplitBits(hash, blocks);
          const ones: number[] = [];
          filter.toBlockBytes().forEach((byte, at) => {
            for (let b = 0; b < 8; b++) if ((byte >> b) & 1) ones.push(8 * at + b);
          });
          expect(ones).toEqual([...new Set(expected)].sort((x, y) => x - y));
          expect(filter.has(key) && filter.hasMany([key])[0] === 1).toBe(true);
        }
      }
    });

    test('folding is the filter of half the blocks, again and again, and loses no key', () => {
      const keys = awkwardStrings(1000, 6);
      const big = BlockedBloomFilter.forCapacity({
        capacity: 1000,
        falsePositiveRate: 1e-3,
        layout,
        foldings: 3,
      });
      big.addMany(keys);
      for (let times = 0; times <= 3; times++) {
        const small = new BlockedBloomFilter({ blocks: big.blocks / 2 ** times, hashes: big.hashes, layout });
        small.addMany(keys);
        expect(big.fold(times).equals(small), `${times} times`).toBe(true);
      }
      expect(() => new BlockedBloomFilter({ blocks: 3, hashes: 8, layout }).fold()).toThrow(
        /expected a multiple of 2 blocks, got 3/,
      );
    });

    test('bare bits go out and in', () => {
      const filter = tested.create({ capacity: 300, falsePositiveRate: 0.01 });
      filter.addMany(awkwardStrings(300, 7));
      const { hashes } = filter;
      const again = BlockedBloomFilter.fromBlockBytes(filter.toBlockBytes(), { layout, hashes });
      expect(again.equals(filter)).toBe(true);
      expect(() => BlockedBloomFilter.fromBlockBytes(new Uint8Array(33), { layout, hashes })).toThrow(
        /multiple of/,
      );
      expect(() => BlockedBloomFilter.fromBlockBytes(new Uint8Array(0), { layout, hashes })).toThrow(
        RangeError,
      );
    });
  });
});

describe('BlockedBloomFilter', () => {
  // The filter of apache/parquet-testing, data/bloom_filter.xxhash.bin: 1024 bytes, these four
  // strings.
  test('split-block: the same bits as Parquet’s own example', () => {
    const filter = new BlockedBloomFilter({ blocks: 32, layout: 'split-block' });
    filter.addMany(['hello', 'parquet', 'bloom', 'filter']);
    const set: [number, number][] = [];
    for (const [at, byte] of filter.toBlockBytes().entries()) if (byte !== 0) set.push([at, byte]);
    expect(set).toEqual(PARQUET_EXAMPLE);
  });

  test('parameters are checked', () => {
    for (const blocks of [0, -1, 1.5, Number.NaN, 2 ** 27 + 1]) {
      expect(() => new BlockedBloomFilter({ blocks, hashes: 6 }), `${blocks}`).toThrow(
        /Cannot use blocks: expected/,
      );
    }
    for (const hashes of [0, 25, 1.5, undefined]) {
      expect(() => new BlockedBloomFilter({ blocks: 1, hashes: hashes as number }), `${hashes}`).toThrow(
        /Cannot use hashes: expected/,
      );
    }
    const split = { blocks: 1, layout: 'split-block' } as const;
    expect(() => new BlockedBloomFilter({ ...split, hashes: 7 })).toThrow(/expected 8 hashes, got 7/);
    expect(() => new BlockedBloomFilter({ ...split, seed: 1 })).toThrow(/neither seed nor key, got a seed/);
    expect(() => new BlockedBloomFilter({ ...split, key: new SecretKey(new Uint8Array(16)) })).toThrow(
      /neither seed nor key/,
    );
    expect(() => new BlockedBloomFilter({ blocks: 1, hashes: 6, layout: 'cube' as never })).toThrow(/layout/);
  });

  test('a shared filter works on the same bits from both sides', () => {
    const shared = new BlockedBloomFilter({ blocks: 4, hashes: 6, shared: true });
    const twin = new BlockedBloomFilter(shared.share());
    shared.add('here');
    twin.addMany(['there']);
    expect(twin.has('here') && shared.has('there') && shared.equals(twin)).toBe(true);
  });
});
