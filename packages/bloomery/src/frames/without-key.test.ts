import { expect, test } from 'vitest';
import { SAMPLE_KEY, SAMPLES } from '../../test/sample-filters.ts';
import { decodeFilter } from '../filters/decode-filter.ts';
import { HeavyHitters } from '../filters/heavy-hitters/heavy-hitters.ts';
import { checkFrame, payloadOf } from './check-frame.ts';
import { FrameError } from './envelope.ts';
import { withoutKey } from './without-key.ts';

test('withoutKey: a keyed frame of every structure decodes without its key, with the same contents', () => {
  for (const [name, make] of Object.entries(SAMPLES)) {
    const frame = make({ key: SAMPLE_KEY }).encode();
    const before = frame.slice();
    expect(() => decodeFilter(frame), name).toThrow(/expected a secret key, got none/);
    const open = withoutKey(frame);
    expect(frame).toEqual(before);
    expect(checkFrame(open).hash).toEqual({ name: 'forge64', keyed: false, seed: 0n });
    const filter = decodeFilter(open);
    expect(filter.constructor.name).toBe(name);
    expect(filter.encode()).toEqual(open);
    if (filter instanceof HeavyHitters) continue;
    expect(open.length).toBe(frame.length);
    if (!/Scalable|Rotating|Attenuated/.test(name)) expect(payloadOf(open)).toEqual(payloadOf(frame));
  }
});

test('withoutKey: the counters of a HeavyHitters stay, its candidates go', () => {
  const filter = SAMPLES.HeavyHitters({ key: SAMPLE_KEY }) as HeavyHitters;
  const open = decodeFilter(withoutKey(filter.encode())) as HeavyHitters;
  expect([open.total, open.width, open.threshold]).toEqual([filter.total, filter.width, filter.threshold]);
});

test('withoutKey: a frame without a key is given back, a damaged one refused', () => {
  const frame = SAMPLES.BloomFilter({ seed: 3 }).encode();
  expect(withoutKey(frame)).toBe(frame);
  const damaged = SAMPLES.BloomFilter({ key: SAMPLE_KEY }).encode();
  damaged[40] ^= 1;
  expect(() => withoutKey(damaged)).toThrow(FrameError);
});
