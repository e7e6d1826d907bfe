import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../test/contracts/subject.ts';
import { awkwardStrings, counterKeys } from '../../test/keys.ts';
import { referenceBlockedBits, referenceIndex, referenceSplitBits } from '../../test/reference.ts';
import { BlockedBloomFilter } from '../filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../filters/bloom-filter.ts';
import { CountingBloomFilter } from '../filters/counting/counting-bloom-filter.ts';
import { HashList } from '../filters/hash-list/hash-list.ts';
import { SecretKey } from '../hashing/secret-key.ts';
import { hashKey } from '../kernel/batches/hash-key.ts';
import { hashKeys } from '../kernel/batches/hash-keys.ts';
import { packKeys } from '../keys/packed-keys.ts';
import { textEncoder } from '../keys/platform.ts';
import { compressFrame } from '../wire/coding/compressed-frame.ts';
import { FrameError, type FrameErrorCode } from './envelope.ts';
import { type FrameLayout, readFrameLayout } from './frame-layout.ts';

type Filter = BloomFilter | BlockedBloomFilter;

const secret = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => 7 * i));

/**
 * Every layout, with payloads that end in, at and behind the border of a page, and within a byte.
 */
const FILTERS: readonly (readonly [string, () => Filter, SecretKey?])[] = [
  ['classic', () => new BloomFilter({ bits: 100_003, hashes: 7, capacity: 10_000 })],
  ['classic, one bit', () => new BloomFilter({ bits: 1, hashes: 1 })],
  ['classic, 255 hashes', () => new BloomFilter({ bits: 9_999, hashes: 255, seed: 2n ** 64n - 1n })],
  ['classic, a page but for a byte', () => new BloomFilter({ bits: 8 * 4067, hashes: 3 })],
  ['classic, exactly a page', () => new BloomFilter({ bits: 8 * 4068, hashes: 3 })],
  ['classic, a page and a byte', () => new BloomFilter({ bits: 8 * 4068 + 1, hashes: 3 })],
  ['classic, keyed', () => new BloomFilter({ bits: 70_001, hashes: 5, key: secret }), secret],
  ['partitioned', () => new BloomFilter({ bits: 7 * 14_001, hashes: 7, layout: 'partitioned', seed: 5 })],
  ['blocked, 1 hash', () => new BlockedBloomFilter({ blocks: 1, hashes: 1 })],
  ['blocked, 6 hashes', () => new BlockedBloomFilter({ blocks: 777, hashes: 6, seed: 3, capacity: 30_000 })],
  ['blocked, 24 hashes', () => new BlockedBloomFilter({ blocks: 500, hashes: 24 })],
  ['blocked, keyed', () => new BlockedBloomFilter({ blocks: 333, hashes: 8, key: secret }), secret],
  ['split-block', () => new BlockedBloomFilter({ blocks: 1_001, layout: 'split-block', capacity: 9 })],
];

/** Changes a frame by pages only: reads and writes nothing but the pages of the keys. */
function addInPlace(frame: Uint8Array, layout: FrameLayout, offsets: Float64Array): void {
  const sums = new DataView(frame.buffer, frame.byteOffset, frame.length);
  let sum = sums.getUint32(layout.end, true);
  for (const bit of offsets) {
    const page = Math.floor(bit / 8 / layout.pageLength);
    const at = page * layout.pageLength;
    const contents = frame.subarray(at, Math.min(at + layout.pageLength, layout.end));
    sum ^= layout.pageSum(page, contents);
    contents[Math.floor(bit / 8) - at] |= 1 << (bit % 8);
    sum ^= layout.pageSum(page, contents);
  }
  sums.setUint32(layout.end, sum, true);
}

inBothKernels('readFrameLayout', () => {
  for (const [name, create, key] of FILTERS) {
    test(`${name}: changed in place, the frame is what adding and encoding gives`, () => {
      const filter = create();
      filter.addMany(awkwardStrings(300, 11));
      const frame = filter.encode();
      const layout = readFrameLayout(frame.subarray(0, 28), { key });
      const keys = [...awkwardStrings(80, 12), new Uint8Array(5000).fill(9), 12, -1, 2n ** 70n, ''];
      addInPlace(frame, layout, layout.bitOffsets(keys));
      filter.addMany(keys);
      expectSameBytes(frame, filter.encode(), name);
    });

    test(`${name}: the layout says what the filter says`, () => {
      const filter = create();
      const frame = filter.encode();
      const layout = readFrameLayout(frame, { key });
      const { bits, hashes, capacity, layout: kind } = filter;
      expect(layout).toMatchObject({ bits, hashes, capacity, layout: kind, length: frame.length });
      expect(layout.structure).toBe(filter.constructor.name);
      expect(layout.scheme.id).toBe(filter.scheme.id);
      expect(layout.end).toBe(frame.length - 4);
      expect(layout.start).toBe(layout.end - Math.ceil(bits / 8));
      expect(layout.pageLength).toBe(4096);
      expect(layout.pageCount).toBe(Math.ceil(layout.end / 4096));
    });
  }

  test('every form of a batch has the same places, as many as there are hashes for each key', () => {
    const layout = readFrameLayout(new BloomFilter({ bits: 1_000_003, hashes: 7 }).encode());
    const keys = Array.from({ length: 3000 }, (_, i) => `key ${i}`); // more than two chunks
    const places = layout.bitOffsets(keys);
    expect(places.length).toBe(7 * 3000);
    const lines = textEncoder().encode(`${keys.join('\n')}\n`);
    const generated = (function* () {
      yield* keys;
    })();
    for (const batch of [generated, packKeys(keys), { lines }, hashKeys(keys), new Set(keys)]) {
      expect(layout.bitOffsets(batch).join()).toBe(places.join());
    }
    expect(layout.bitOffsets([])).toEqual(new Float64Array(0));
    expect(() => layout.bitOffsets(hashKeys(keys, { seed: 1 }))).toThrow(/forge64\/1/);
    expect(() => layout.bitOffsets('word' as never)).toThrow(TypeError);
  });
});

/** The head of a frame, without the gigabytes behind it. */
function headOf(filter: Filter, size: number, width: number): Uint8Array {
  const head = filter.encode().slice(0, 28);
  for (let i = 0, rest = size; i < width; i++, rest = Math.floor(rest / 256)) head[16 + i] = rest;
  return head;
}

describe('beyond 32 bits', () => {
  const keys = counterKeys(300);
  const hashes = hashKeys(keys);
  const hashAt = (words: Int32Array, i: number) =>
    (BigInt(words[2 * i + 1] >>> 0) << 32n) | BigInt(words[2 * i] >>> 0);
  const SIZES = [31, 32, 33, 36].flatMap((power) => [2 ** power - 8, 2 ** power, 2 ** power + 9]);

  test('classic and partitioned: the places are those of the definition, in exact integers', () => {
    for (const size of SIZES.filter((bits) => bits <= 2 ** 36)) {
      const classic = readFrameLayout(headOf(new BloomFilter({ bits: 8, hashes: 7 }), size, 5));
      expect(classic.bits).toBe(size);
      expect(classic.length).toBe(28 + Math.ceil(size / 8) + 4);
      const slice = Math.floor(size / 7);
      const like = new BloomFilter({ bits: 7, hashes: 7, layout: 'partitioned' });
      const partitioned = readFrameLayout(headOf(like, 7 * slice, 5));
      const [found, inSlices] = [classic.bitOffsets(keys), partitioned.bitOffsets(keys)];
      const probes = Array.from(
        { length: 7 * 300 },
        (_, i) => [hashAt(hashes.words, Math.floor(i / 7)), i % 7] as const,
      );
      expect([...found]).toEqual(probes.map(([hash, probe]) => 8 * 28 + referenceIndex(hash, probe, size)));
      expect([...inSlices]).toEqual(
        probes.map(([hash, probe]) => 8 * 28 + probe * slice + referenceIndex(hash, probe, slice)),
      );
      // Not all below some power of two: 2100 places in a range of 2^36 reach its last percent.
      expect(Math.max(...found)).toBeGreaterThan(0.99 * size);
    }
  });

  test('classic: the places are the ones that a list of positions of the same size holds', () => {
    for (const bits of [2 ** 33 + 9, 2 ** 36]) {
      const list = new HashList({ bits, hashes: 3 });
      list.addMany(keys);
      const layout = readFrameLayout(headOf(new BloomFilter({ bits: 8, hashes: 3 }), bits, 5));
      const places = new Set(layout.bitOffsets(keys));
      const payload = list.encode().subarray(33, -4);
      const width = Math.ceil(Math.log2(bits));
      const held = new Set<number>();
      for (let i = 0; i < list.onesCount(); i++) {
        let position = 0;
        for (let b = i * width + width - 1; b >= i * width; b--) {
          position = 2 * position + ((payload[Math.floor(b / 8)] >>> (b % 8)) & 1);
        }
        held.add(8 * 28 + position);
      }
      expect(held).toEqual(places);
    }
  });

  test('blocked and split blocks: the places are those of the definition, in exact integers', () => {
    const layouts = [
      { unit: 512, create: () => new BlockedBloomFilter({ blocks: 1, hashes: 9 }) },
      { unit: 256, create: () => new BlockedBloomFilter({ blocks: 1, layout: 'split-block' }) },
    ];
    for (const { unit, create } of layouts) {
      for (const size of SIZES.map((bits) => Math.round(bits / unit)).filter((n) => n * unit <= 2 ** 36)) {
        const layout = readFrameLayout(headOf(create(), size, 4));
        expect(layout.bits).toBe(unit * size);
        const { words } = hashKeys(keys, layout.scheme);
        const places = layout.bitOffsets(keys);
        const k = layout.hashes;
        for (let i = 0; i < 300; i++) {
          const hash = hashAt(words, i);
          const bits = unit === 512 ? referenceBlockedBits(hash, size, k) : referenceSplitBits(hash, size);
          expect([...places.subarray(k * i, k * i + k)]).toEqual(bits.map((bit) => 8 * 27 + bit));
        }
        expect(Math.max(...places)).toBeGreaterThan(0.98 * unit * size);
      }
    }
  });
});

describe('what is no such frame', () => {
  const frame = new BloomFilter({ bits: 1000, hashes: 7 }).encode();
  const blocked = new BlockedBloomFilter({ blocks: 5, hashes: 7 }).encode();

  function codeOf(head: Uint8Array, key?: SecretKey): FrameErrorCode | 'none' {
    try {
      readFrameLayout(head, { key });
      return 'none';
    } catch (error) {
      expect(error).toBeInstanceOf(FrameError);
      return (error as FrameError).code;
    }
  }

  function changed(bytes: Uint8Array, at: number, value: number): Uint8Array {
    const copy = bytes.slice();
    copy[at] = value;
    return copy;
  }

  test('every strict prefix of the head is truncated, and the head alone is enough', () => {
    for (const [bytes, length] of [
      [frame, 28],
      [blocked, 27],
    ] as const) {
      for (let i = 0; i < length; i++) expect(codeOf(bytes.subarray(0, i)), `${i} bytes`).toBe('truncated');
      expect(codeOf(bytes.subarray(0, length))).toBe('none');
    }
  });

  test('other bytes, versions, structures, hashes and parameters are refused by name', () => {
    expect(codeOf(changed(frame, 0, 0x50))).toBe('not-a-frame');
    expect(codeOf(changed(frame, 4, 2))).toBe('version');
    expect(codeOf(new CountingBloomFilter({ counters: 100, hashes: 3 }).encode())).toBe('structure');
    expect(() => readFrameLayout(changed(frame, 5, 3))).toThrow(
      'expected 1 (BloomFilter) or 2 (BlockedBloomFilter), got 3',
    );
    expect(codeOf(changed(frame, 6, 2))).toBe('parameters');
    expect(codeOf(changed(frame, 7, 9))).toBe('hash');
    const split = new BlockedBloomFilter({ blocks: 2, layout: 'split-block' }).encode();
    // Split blocks are by XXH64 with seed 0.
    expect(codeOf(changed(split, 7, 1))).toBe('parameters');
    expect(codeOf(changed(split, 8, 1))).toBe('parameters');
    expect(readFrameLayout(changed(frame, 7, 3)).scheme.id).toMatch(/^xxh64\//);
    expect(readFrameLayout(changed(blocked, 7, 3)).scheme.id).toMatch(/^xxh64\//);
    expect(codeOf(changed(frame, 21, 0))).toBe('parameters'); // no hashes
    expect(codeOf(changed(frame, 20, 255))).toBe('parameters'); // more than 2^36 bits
    expect(codeOf(changed(blocked, 20, 25))).toBe('parameters');
    expect(codeOf(compressFrame(new BloomFilter({ bits: 100_000, hashes: 2 }).encode()))).toBe('payload');
    expect(() => readFrameLayout('BLMY' as never)).toThrow(TypeError);
    expect(() => readFrameLayout(undefined as never)).toThrow(TypeError);
  });

  test('a keyed filter needs its key, and no other filter takes one', () => {
    const keyed = new BloomFilter({ bits: 1000, hashes: 7, key: secret }).encode();
    expect(codeOf(keyed)).toBe('key');
    expect(codeOf(keyed, new SecretKey(new Uint8Array(16)))).toBe('key');
    expect(codeOf(frame, secret)).toBe('key');
    expect(codeOf(keyed, secret)).toBe('none');
  });

  test('every flipped bit of the head is a FrameError, or gives places within the frame', () => {
    const random = new Random(4);
    const keys = Array.from({ length: 20 }, () => random.bits());
    for (const bytes of [frame.subarray(0, 28), blocked.subarray(0, 27)]) {
      for (let bit = 0; bit < 8 * bytes.length; bit++) {
        const head = changed(bytes, bit >> 3, bytes[bit >> 3] ^ (1 << (bit & 7)));
        if (codeOf(head) !== 'none') continue;
        const layout = readFrameLayout(head);
        const indices = layout.bitOffsets(keys).map((place) => place - 8 * layout.start);
        expect(
          indices.every((index) => index >= 0 && index < layout.bits),
          `bit ${bit}`,
        ).toBe(true);
      }
    }
  });

  test('pageSum refuses pages that are not there and contents of another length', () => {
    const layout = readFrameLayout(new BloomFilter({ bits: 8 * 5000, hashes: 2 }).encode());
    const sums = [0, 1].map((page) => layout.pageSum(page, new Uint8Array(page === 0 ? 4096 : 932)));
    expect(sums).toEqual([hashKey(new Uint8Array(4096)).low, hashKey(new Uint8Array(932), { seed: 1 }).low]);
    expect(() => layout.pageSum(1, new Uint8Array(936))).toThrow(
      'Cannot sum page 1: expected 932 bytes, got 936',
    );
    for (const page of [-1, 2, 0.5, Number.NaN]) {
      expect(() => layout.pageSum(page, new Uint8Array(4096)), `${page}`).toThrow(
        /^Cannot sum the page: expected a number from 0 to 1, got /,
      );
    }
  });
});
