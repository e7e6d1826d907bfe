import { expect, test } from 'vitest';
import { SAMPLE_KEY, SAMPLES } from '../../test/sample-filters.ts';
import { BlockedBloomFilter } from '../filters/blocked-bloom-filter.ts';
import { compressFrame } from '../wire/coding/compressed-frame.ts';
import { FrameError } from './envelope.ts';
import {
  canBeCoded,
  type FrameHead,
  frameHeadBytes,
  readFrameHead,
  type StructureName,
} from './frame-head.ts';

const NUMBERS = Object.keys(SAMPLES).map((name, i) => [name, i + 1] as const);

test('every structure of docs/spec/frame.md has its number', () => {
  expect(NUMBERS.length).toBe(13);
  for (const [name, number] of NUMBERS) {
    const { structure, code } = readFrameHead(SAMPLES[name]().encode());
    expect([structure, code]).toEqual([name, number]);
  }
});

test('the parameters have the names and values that the class has', () => {
  for (const [name] of NUMBERS) {
    const filter = SAMPLES[name]() as unknown as Record<string, unknown>;
    const { parameters } = readFrameHead(SAMPLES[name]().encode());
    const shared = Object.entries(parameters).filter(([field]) => typeof filter[field] !== 'undefined');
    expect(shared.length, name).toBeGreaterThan(0);
    for (const [field, value] of shared) {
      const own = field === 'stages' ? (filter.stages as unknown[]).length : filter[field];
      expect(value, `${name}.${field}`).toEqual(own);
    }
  }
});

test('the head says where the payload is, and how long the frame', () => {
  for (const [name] of NUMBERS) {
    const frame = SAMPLES[name]().encode();
    const { start, end, plainLength, coded } = readFrameHead(frame);
    expect([plainLength, end, coded], name).toEqual([frame.length, frame.length - 4, false]);
    expect(start).toBe(frameHeadBytes(frame.subarray(0, 16)));
    expect(readFrameHead(frame.subarray(0, start))).toEqual(readFrameHead(frame));
  }
});

test('the hash is told with its seed, or with the check value of the key', () => {
  for (const [name] of NUMBERS) {
    const hash = (frame: Uint8Array): FrameHead['hash'] => readFrameHead(frame).hash;
    expect(hash(SAMPLES[name]({ seed: 99 }).encode())).toEqual({ name: 'forge64', keyed: false, seed: 99n });
    const keyed = SAMPLES[name]({ key: SAMPLE_KEY });
    expect(hash(keyed.encode())).toEqual({ name: 'siphash-2-4', keyed: true, seed: keyed.scheme.seed });
  }
  const split = new BlockedBloomFilter({ blocks: 2, layout: 'split-block' });
  const head = readFrameHead(split.encode());
  expect(head.hash).toEqual({ name: 'xxh64', keyed: false, seed: 0n });
  expect(head.parameters).toMatchObject({ layout: 'split-block', bits: 512, blocks: 2, hashes: 8 });
});

test('a coded frame has the parameters of the plain one', () => {
  for (const [name] of NUMBERS) {
    expect(canBeCoded(name as StructureName)).toBe(true);
    // 30 positions are too few to gain, and the bits of a band are random.
    if (name === 'HashList' || name === 'StaticFilter') continue;
    const plain = readFrameHead(SAMPLES[name]().encode());
    const coded = readFrameHead(compressFrame(SAMPLES[name]().encode()));
    expect({ ...coded, coded: false, end: plain.end }).toEqual(plain);
    expect([coded.coded, coded.end]).toEqual([true, undefined]);
  }
});

test('bytes that are no head are FrameErrors', () => {
  for (const [name] of NUMBERS) {
    const frame = SAMPLES[name]().encode();
    const { start } = readFrameHead(frame);
    for (let length = 0; length < start; length++) {
      expect(() => readFrameHead(frame.subarray(0, length)), `${name}, ${length}`).toThrow(FrameError);
    }
  }
  const other = SAMPLES.BloomFilter().encode();
  other[5] = 99;
  expect(() => readFrameHead(other)).toThrow(
    'Cannot decode frame: no structure has the number 99 (at byte 5)',
  );
  other[5] = 1;
  other[7] = 9;
  expect(() => readFrameHead(other)).toThrow(/expected a known hash, got 9/);
  expect(() => readFrameHead('frame' as never)).toThrow(TypeError);
});
