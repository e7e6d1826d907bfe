import { expect, test } from 'vitest';
import { SAMPLE_KEY, SAMPLES } from '../../test/sample-filters.ts';
import { FrameError } from '../frames/envelope.ts';
import { compressFrame, expandFrame } from '../wire/coding/compressed-frame.ts';
import { decodeFilter } from './decode-filter.ts';

test('decodeFilter reads a frame of every structure, with a seed or with a key', () => {
  for (const [name, make] of Object.entries(SAMPLES)) {
    for (const hashing of [{}, { seed: 8 }, { key: SAMPLE_KEY }]) {
      const frame = make(hashing).encode();
      const filter = decodeFilter(frame, 'key' in hashing ? { key: SAMPLE_KEY } : {});
      expect(filter.constructor.name).toBe(name);
      expect(filter.encode()).toEqual(frame);
    }
  }
});

test('decodeFilter refuses every prefix, a wrong key and an unknown option', () => {
  for (const [name, make] of Object.entries(SAMPLES)) {
    const frame = make().encode();
    for (let length = 0; length < frame.length; length++)
      expect(() => decodeFilter(frame.subarray(0, length)), `${name}, ${length}`).toThrow(FrameError);
    expect(() => decodeFilter(frame, { key: SAMPLE_KEY })).toThrow(/expected no key, got one/);
  }
  expect(() => decodeFilter(SAMPLES.BloomFilter().encode(), { seed: 1 } as never)).toThrow(
    /got option 'seed'/,
  );
});

test('decodeFilter says what to do with a coded frame', () => {
  const coded = compressFrame(SAMPLES.CountingBloomFilter().encode());
  expect(() => decodeFilter(coded)).toThrow(
    /expected a plain payload, got a coded one, which expandFrame of bloomery\/wire makes plain/,
  );
  expect(decodeFilter(expandFrame(coded)).encode()).toEqual(SAMPLES.CountingBloomFilter().encode());
});
