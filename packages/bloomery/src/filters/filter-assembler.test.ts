import { EFFORT } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { inBothKernels } from '../../test/contracts/subject.ts';
import { SAMPLE_KEY, SAMPLES } from '../../test/sample-filters.ts';
import { FrameError, writeChecksum } from '../frames/envelope.ts';
import { frameChunks } from '../frames/frame-chunks.ts';
import { compressFrame } from '../wire/coding/compressed-frame.ts';
import { BlockedBloomFilter } from './blocked-bloom-filter.ts';
import { BloomFilter } from './bloom-filter.ts';
import { type AssembleOptions, decodeFilterFrom, FilterAssembler } from './filter-assembler.ts';

/** Pieces of random sizes, some of them empty. */
function* pieces(bytes: Uint8Array, random: Random, most: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const size = random.below(most + 1);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

function assemble(chunks: Iterable<Uint8Array>, options?: AssembleOptions) {
  const assembler = new FilterAssembler(options);
  for (const chunk of chunks) assembler.push(chunk);
  return assembler.finish();
}

inBothKernels('FilterAssembler', () => {
  test('reads a frame of every structure, however it is cut', () => {
    const random = new Random(12);
    for (const [name, make] of Object.entries(SAMPLES)) {
      for (const key of [undefined, SAMPLE_KEY]) {
        const options = key === undefined ? {} : { key };
        const frame = make(options).encode();
        for (const most of [1, 3, 20, 200, 5000]) {
          const filter = assemble(pieces(frame, random, most), options);
          expect(filter.constructor.name).toBe(name);
          expectSameBytes(filter.encode(), frame, `${name}, pieces of up to ${most}`);
          expect(String(filter)).toBe(String(make(options)));
        }
      }
    }
  });

  test('reads all layouts, with payloads that end in, at and behind the border of a page', () => {
    const random = new Random(13);
    const filters = [4067, 4068, 4069, 8165].flatMap((bytes) => [
      new BloomFilter({ bits: 8 * bytes - 5, hashes: 3, capacity: 77 }),
      new BloomFilter({ bits: 8 * bytes, hashes: 4, layout: 'partitioned', seed: 6 }),
      new BlockedBloomFilter({ blocks: bytes, hashes: 5 }),
      new BlockedBloomFilter({ blocks: bytes, layout: 'split-block', capacity: 3 }),
    ]);
    for (const filter of filters) {
      const keys = Array.from({ length: 500 }, (_, i) => `key-${i}`);
      filter.addMany(keys);
      const read = assemble(pieces(filter.encode(), random, 6000)) as typeof filter;
      expectSameBytes(read.encode(), filter.encode(), String(filter));
      expect([String(read), read.capacity]).toEqual([String(filter), filter.capacity]);
      expect(read.hasMany(keys).every((answer) => answer === 1)).toBe(true);
      expect(read.add('another')).toBe(filter.add('another'));
    }
  });

  test('refuses every prefix, every longer frame, every flipped bit', () => {
    const random = new Random(14);
    for (const [name, make] of Object.entries(SAMPLES)) {
      const frame = make().encode();
      for (let length = 0; length < frame.length; length++) {
        const cut = () => assemble(pieces(frame.subarray(0, length), random, 50));
        expect(cut, `${name}, ${length} bytes`).toThrow(FrameError);
      }
      const assembler = new FilterAssembler();
      assembler.push(frame);
      // At once, and not when an endless stream has ended.
      expect(() => assembler.push(Uint8Array.of(0)), name).toThrow(/expected \d+ bytes, got \d+/);
      const changed = frame.slice();
      for (let bit = 0; bit < 8 * frame.length; bit++) {
        changed[bit >> 3] ^= 1 << (bit & 7);
        expect(() => assemble(pieces(changed, random, 100)), `${name}, bit ${bit}`).toThrow(FrameError);
        changed[bit >> 3] ^= 1 << (bit & 7);
      }
    }
  });

  test('random bytes are FrameErrors, whatever they declare, and allocate nothing large', () => {
    const random = new Random(15);
    const frames = Object.values(SAMPLES).map((make) => make().encode());
    for (let round = 0; round < 2000 * EFFORT; round++) {
      const bytes = random.bytes(random.below(100));
      bytes.set(random.pick(frames).subarray(0, Math.min(random.below(20), bytes.length)));
      const read = () => assemble(pieces(bytes, random, 30), { maxBytes: 2 ** 20 });
      expect(read).toThrow(FrameError);
    }
  });

  test('a size above maxBytes is refused by the head alone', () => {
    const head = new BloomFilter({ bits: 8, hashes: 3 }).encode().subarray(0, 28);
    head[20] = 15; // 15 · 2^32 + 8 bits: 7.5 GiB
    const error = errorOf(() => assemble([head]));
    expect([error.code, error.offset]).toEqual(['limit', 28]);
    expect(error.message).toMatch(/expected at most 134217728 bytes \(maxBytes\), got 8053063713/);
    const sketch = SAMPLES.CountMinSketch().encode();
    expect(errorOf(() => assemble([sketch], { maxBytes: 100 })).code).toBe('limit');
    const assembler = new FilterAssembler({ maxBytes: 100 });
    expect(errorOf(() => assembler.push(sketch)).code).toBe('limit');
    expect(() => assembler.finish()).toThrow(
      new TypeError('Cannot finish a filter: expected accepted chunks, got one that push refused'),
    );
    expect(() => new FilterAssembler({ maxBytes: -1 })).toThrow(RangeError);
    expect(() => new FilterAssembler({ maxByte: 1 } as never)).toThrow(/got option 'maxByte'/);
  });

  test('refuses ones beyond the last bit, a key that is missing, and a coded frame', () => {
    const stray = new BloomFilter({ bits: 9, hashes: 1 }).encode();
    stray[stray.length - 5] |= 128;
    writeChecksum(stray);
    expect(errorOf(() => assemble([stray])).message).toMatch(/zeros beyond the last of 9 bits, got 128/);
    expect(errorOf(() => assemble([SAMPLES.BloomFilter({ key: SAMPLE_KEY }).encode()])).code).toBe('key');
    const coded = compressFrame(SAMPLES.BloomFilter().encode());
    expect(errorOf(() => assemble([coded])).message).toMatch(/expandFrame of bloomery\/wire/);
    expect(() => assemble(['text' as never])).toThrow(/expected a Uint8Array, got string/);
  });
});

test('decodeFilterFrom reads from iterables and from streams', async () => {
  const filter = new BlockedBloomFilter({ blocks: 2000, hashes: 6, seed: 4 });
  filter.addMany(Array.from({ length: 3000 }, (_, i) => i));
  async function* slowly() {
    for (const chunk of frameChunks(filter, { chunkBytes: 5000 })) yield await Promise.resolve(chunk);
  }
  for (const chunks of [frameChunks(filter), [filter.encode()], slowly()])
    expectSameBytes((await decodeFilterFrom(chunks)).encode(), filter.encode());
  await expect(decodeFilterFrom([])).rejects.toThrow(FrameError);
});

function errorOf(work: () => unknown): FrameError {
  try {
    work();
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
