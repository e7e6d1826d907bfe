import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { meanUndercount, missProbability } from './math/multistage.ts';
import { SampleAndHold } from './sample-and-hold.ts';

const KEY = Int32Array.of(1, 0);

test('SampleAndHold misses flows, and bytes before the first sample, as the formulas say', () => {
  const random = new Random(8);
  const uniform = () => (random.bits() >>> 0) / 2 ** 32;
  const trials = withEffort(20_000, 2000);
  for (const [size, sampling] of [
    [1000, 1 / 1000],
    [1000, 3 / 1000],
    [5000, 1 / 5000],
  ]) {
    const sampler = new SampleAndHold({ sampling, random: uniform });
    let missed = 0;
    for (let i = 0; i < trials; i++) {
      // A flow of packets of 100 bytes.
      let held = false;
      for (let at = 0; at < size && !held; at += 100) held = sampler.offer(KEY, 100);
      if (!held) missed++;
    }
    expectBinomial(missed, trials, missProbability(size, sampling), `${size} bytes at ${sampling}`);
  }
  // Packets of one byte: a geometric distribution with mean (1 - p)/p and deviation sqrt(1 - p)/p.
  const sampling = 0.02;
  const sampler = new SampleAndHold({ sampling, random: uniform });
  let before = 0;
  for (let i = 0; i < trials; i++) while (!sampler.offer(KEY, 1)) before++;
  const deviation = Math.sqrt(1 - sampling) / sampling / Math.sqrt(trials);
  expectNormal(before / trials, meanUndercount(sampling), deviation, 'bytes before the first sample');
});

test('SampleAndHold refuses a probability that is none', () => {
  for (const sampling of [0, 1, -1, Number.NaN]) {
    expect(() => new SampleAndHold({ sampling, random: Math.random })).toThrow(/Cannot use sampling/);
  }
});
