import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { expect, test } from 'vitest';
import { inBothKernels } from '../../test/contracts/subject.ts';
import { SAMPLE_KEY, SAMPLES } from '../../test/sample-filters.ts';
import { BlockedBloomFilter } from '../filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../filters/bloom-filter.ts';
import { frameChunks } from './frame-chunks.ts';

function joined(chunks: Iterable<Uint8Array>): Uint8Array {
  return Uint8Array.from([...chunks].flatMap((chunk) => [...chunk]));
}

inBothKernels('frameChunks', () => {
  test('the chunks are the bytes of encode, whatever their size', () => {
    for (const [name, make] of Object.entries(SAMPLES)) {
      for (const hashing of [{}, { seed: 5 }, { key: SAMPLE_KEY }]) {
        const filter = make(hashing);
        const frame = filter.encode();
        for (let chunkBytes = 1; chunkBytes <= frame.length + 1; chunkBytes += chunkBytes < 70 ? 1 : 41) {
          const chunks = [...frameChunks(filter, { chunkBytes })];
          expectSameBytes(joined(chunks), frame, `${name}, chunks of ${chunkBytes}`);
          const full = chunks.slice(0, -1).every(({ length }) => length === chunkBytes);
          expect(full, `${name}, chunks of ${chunkBytes}`).toBe(true);
        }
      }
    }
  });

  test('chunks that end in, at and behind the border of a page', () => {
    for (const bytes of [4067, 4068, 4069, 8164, 30_000]) {
      const filter = new BloomFilter({ bits: 8 * bytes - 3, hashes: 3 });
      for (let i = 0; i < bytes; i++) filter.add(i);
      for (const chunkBytes of [1000, 4095, 4096, 4097, 2 ** 20]) {
        expectSameBytes(
          joined(frameChunks(filter, { chunkBytes })),
          filter.encode(),
          `${bytes}, ${chunkBytes}`,
        );
      }
    }
  });

  test('a shared filter, and one that lives in WebAssembly memory', () => {
    const shared = new BlockedBloomFilter({ blocks: 50, hashes: 4, shared: true });
    const resident = new BloomFilter({ bits: 80_000, hashes: 4 });
    for (const filter of [shared, resident]) {
      const keys = Array.from({ length: 5000 }, (_, i) => i);
      filter.addMany(keys);
      for (let i = 0; i < 20; i++) filter.hasMany(keys);
      expectSameBytes(joined(frameChunks(filter, { chunkBytes: 999 })), filter.encode());
    }
  });

  test('keys that come while chunks are read: the frame is sound, and has every earlier key', () => {
    const filter = new BloomFilter({ bits: 100_000, hashes: 5 });
    for (let i = 0; i < 2000; i++) filter.add(`before-${i}`);
    const chunks: Uint8Array[] = [];
    for (const chunk of frameChunks(filter, { chunkBytes: 1000 })) {
      chunks.push(chunk);
      for (let i = 0; i < 200; i++) filter.add(`during-${chunks.length}-${i}`);
    }
    const read = BloomFilter.decode(joined(chunks));
    for (let i = 0; i < 2000; i++) expect(read.has(`before-${i}`)).toBe(true);
  });

  test('a chunk stays as it is when the filter changes', () => {
    const filter = new BloomFilter({ bits: 800, hashes: 3 });
    const [chunk] = frameChunks(filter);
    const before = chunk.slice();
    filter.addMany(Array.from({ length: 300 }, (_, i) => i));
    expect(chunk).toEqual(before);
  });

  test('refuses sizes that are none', () => {
    const filter = new BloomFilter({ bits: 8, hashes: 1 });
    for (const chunkBytes of [0, -1, 1.5, 2 ** 31, Number.NaN])
      expect(() => frameChunks(filter, { chunkBytes })).toThrow(/chunkBytes/);
  });
});
