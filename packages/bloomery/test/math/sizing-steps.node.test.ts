import { expect, test, vi } from 'vitest';
import { sizeBlocked } from '../../src/math/size-blocked.ts';
import { sizeClassic } from '../../src/math/size-classic.ts';

/** The steps of the exact rate since the last reset: a million of them take some milliseconds. */
const work = vi.hoisted(() => ({ steps: 0 }));

vi.mock('../../src/math/covered-probes.ts', async (original) => {
  const real = await original<typeof import('../../src/math/covered-probes.ts')>();
  const coverProbes: typeof real.coverProbes = (chance, m, settings) => {
    work.steps += settings * (chance.length - 1);
    return real.coverProbes(chance, m, settings);
  };
  return { ...real, coverProbes };
});

test('sizing takes fewer than 250,000 steps, from one key to a million and down to 1e-15', () => {
  const slow: string[] = [];
  for (const capacity of [1, 2, 5, 10, 20, 32, 40, 50, 64, 80, 100, 130, 200, 1000, 1e6]) {
    for (const falsePositiveRate of [0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-9, 1e-12, 1e-15]) {
      for (const size of [sizeClassic, sizeBlocked]) {
        work.steps = 0;
        size({ capacity, falsePositiveRate });
        if (work.steps >= 250e3) slow.push(`${size.name} ${capacity} ${falsePositiveRate}: ${work.steps}`);
      }
    }
  }
  expect(slow).toEqual([]);
});
