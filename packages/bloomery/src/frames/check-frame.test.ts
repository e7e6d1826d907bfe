import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { forgeFrame } from '../../test/forge-frame.ts';
import { SAMPLE_KEY, SAMPLES } from '../../test/sample-filters.ts';
import { BloomFilter } from '../filters/bloom-filter.ts';
import { hashScheme } from '../hashing/hash-scheme.ts';
import { compressFrame } from '../wire/coding/compressed-frame.ts';
import { candidatesOf, checkFrame, countersOf, nestedFrames, payloadOf } from './check-frame.ts';
import { FrameError, writeChecksum } from './envelope.ts';
import { readFrameHead } from './frame-head.ts';
import { BLOOM_FRAME } from './frame-kinds.ts';
import { joinFrames, SCALABLE_FRAME } from './nested-kinds.ts';

const NAMES = Object.keys(SAMPLES);
/** The sample of HashList is too small to gain by coding. */
const CODED = NAMES.filter((name) => name !== 'HashList');
const FRAMES: readonly (readonly [string, Uint8Array])[] = [
  ...NAMES.map((name) => [name, SAMPLES[name]().encode()] as const),
  ...NAMES.map((name) => [`${name}, keyed`, SAMPLES[name]({ key: SAMPLE_KEY }).encode()] as const),
  ...CODED.map((name) => [`${name}, coded`, compressFrame(SAMPLES[name]().encode())] as const),
];

test('checkFrame gives the head of every sound frame, and needs no key', () => {
  for (const [name, frame] of FRAMES) expect(checkFrame(frame), name).toEqual(readFrameHead(frame));
});

test('checkFrame refuses every prefix, every longer frame and every flipped bit', () => {
  for (const [name, frame] of FRAMES) {
    for (let length = 0; length < frame.length; length++) {
      expect(() => checkFrame(frame.subarray(0, length)), `${name}, ${length} bytes`).toThrow(FrameError);
    }
    expect(() => checkFrame(Uint8Array.of(...frame, 0)), name).toThrow(FrameError);
    const changed = frame.slice();
    for (let bit = 0; bit < 8 * frame.length; bit++) {
      changed[bit >> 3] ^= 1 << (bit & 7);
      expect(() => checkFrame(changed), `${name}, bit ${bit}`).toThrow(FrameError);
      changed[bit >> 3] ^= 1 << (bit & 7);
    }
  }
});

test('random bytes are FrameErrors', () => {
  const random = new Random(77);
  for (let round = 0; round < 3000; round++) {
    const bytes = random.bytes(random.below(120));
    bytes.set(FRAMES[random.below(FRAMES.length)][1].subarray(0, Math.min(random.below(20), bytes.length)));
    expect(() => checkFrame(bytes)).toThrow(FrameError);
  }
});

test('a frame inside a frame is checked, and must be a plain BloomFilter', () => {
  const scheme = hashScheme();
  const parameters = (length: number) => [...SCALABLE_PARAMETERS, 1, length];
  const around = (inner: Uint8Array) => {
    const payload = joinFrames([{ frame: inner, note: 0 }]);
    return forgeFrame(SCALABLE_FRAME, {
      variant: 0,
      scheme,
      parameters: parameters(payload.length),
      payload,
    });
  };
  const inner = new BloomFilter({ bits: 100, hashes: 2 }).encode();
  expect(checkFrame(around(inner)).structure).toBe('ScalableBloomFilter');
  const damaged = inner.slice();
  damaged[30] ^= 1;
  expect(() => checkFrame(around(damaged))).toThrow(/Cannot decode frame: filter 1 of 1: expected checksum/);
  expect(() => checkFrame(around(SAMPLES.HashList().encode()))).toThrow(
    /expected a plain BloomFilter, got HashList/,
  );
  expect(() => checkFrame(around(compressFrame(inner)))).toThrow(/got coded BloomFilter/);
});

/** The halves of the doubles 0.01, 2 and 0.5, and an initial capacity of 10. */
const SCALABLE_PARAMETERS = [...new Uint32Array(Float64Array.of(0.01, 2, 0.5).buffer), 10];

test('ones beyond the last bit are refused under a right checksum', () => {
  const frame = new BloomFilter({ bits: 12, hashes: 1 }).encode();
  frame[frame.length - 5] |= 0x10;
  writeChecksum(frame);
  expect(() => checkFrame(frame)).toThrow(
    `expected zeros beyond the last of 12 bits, got 16 (at byte ${frame.length - 5})`,
  );
  expect(BLOOM_FRAME.payloadBits(0, [12, 1, 0])).toBe(12);
});

test('nestedFrames gives the frames inside a frame, each of which decodes', () => {
  for (const [name, frame] of FRAMES.slice(0, 12)) {
    const parts = nestedFrames(frame);
    const wanted = { ScalableBloomFilter: 2, RotatingBloomFilter: 3, AttenuatedBloomFilter: 2 }[name] ?? 0;
    expect(parts.length, name).toBe(wanted);
    for (const { start, end } of parts)
      expect(() => BloomFilter.decode(frame.subarray(start, end))).not.toThrow();
  }
  expect(nestedFrames(SAMPLES.ScalableBloomFilter().encode()).map(({ note }) => note)).toEqual([10, 20]);
});

test('payloadOf is what stands between head and checksum', () => {
  for (const [name, frame] of FRAMES.slice(0, 12)) {
    const { start } = readFrameHead(frame);
    expect(payloadOf(frame), name).toEqual(frame.subarray(start, -4));
  }
  expect(() => payloadOf(compressFrame(SAMPLES.BloomFilter().encode()))).toThrow(
    /expandFrame of bloomery\/wire/,
  );
  expect(() => payloadOf(SAMPLES.BloomFilter().encode().subarray(0, 40))).toThrow(
    /expected 70 bytes, got 40/,
  );
});

test('countersOf gives the counters without the total, and without candidates', () => {
  expect(countersOf(SAMPLES.CountMinSketch().encode()).length).toBe(25 * 2 * 4);
  expect(countersOf(SAMPLES.HeavyHitters().encode()).length).toBe(40 * 2 * 4);
  expect(countersOf(SAMPLES.SpectralBloomFilter().encode()).length).toBe(90 + 45);
  expect(() => countersOf(SAMPLES.BloomFilter().encode())).toThrow(/got BloomFilter/);
});

test('candidatesOf gives the keys that may be heavy, with their counts', () => {
  const found = candidatesOf(SAMPLES.HeavyHitters({ key: SAMPLE_KEY }).encode());
  expect(found.map(({ count, key }) => [count, key.length])).toEqual([
    [20, 5],
    [15, 8],
  ]);
  expect(candidatesOf(SAMPLES.BloomFilter().encode())).toEqual([]);
});
