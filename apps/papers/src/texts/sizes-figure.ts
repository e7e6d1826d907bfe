/** The distribution of sizes in the paper's first simulation, which the paper does not draw. */

import { compressedBitsDeviation } from 'bloomery/math';
import { type Axis, curve, type Plot, type Point } from '../drawing/plot.ts';
import { N, type Results, resultOf, simulationJob } from '../trials/jobs.ts';
import { expectedCodeBytes } from './coder-theory.ts';
import { SIMULATIONS } from './printed.ts';

/**
 * A histogram of the payloads, with their theory and with the mean, maximum and budget of the
 * paper.
 */
export function sizesPlot(results: Results): Plot {
  const [{ bits, hashes }] = SIMULATIONS;
  const samples = resultOf(results, simulationJob(SIMULATIONS[0]));
  const payloads = samples.column('payloadBytes');
  const step = samples.trials >= 2000 ? 2 : 5;
  const counts = new Map<number, number>();
  for (const bytes of payloads) {
    const bin = step * Math.floor(bytes / step);
    counts.set(bin, (counts.get(bin) ?? 0) + 1);
  }
  const bins = [...counts.keys()];
  const [low, high] = [Math.min(...bins), Math.max(...bins)];
  const bars = Array.from({ length: (high - low) / step + 1 }, (_, i): Point => {
    const bin = low + i * step;
    return [bin + (step - 1) / 2, (100 * (counts.get(bin) ?? 0)) / (step * samples.trials)];
  });
  const header = samples.summary('payloadBytes').mean - samples.summary('codeBytes').mean;
  const mean = expectedCodeBytes({ bits, hashes, keys: N, replaced: 0 }) + header;
  const deviation = Math.hypot(compressedBitsDeviation(bits, hashes, N) / 8, Math.sqrt(1 / 12));
  const normal = (x: number) =>
    (100 * Math.exp(-0.5 * ((x - mean) / deviation) ** 2)) / (deviation * Math.sqrt(2 * Math.PI));
  const x: Axis = {
    label: 'bytes',
    scale: 'linear',
    from: 9850,
    to: 10_010,
    ticks: [9860, 9880, 9900, 9920, 9940, 9960, 9980, 10_000],
  };
  const top = Math.ceil(Math.max(...bars.map(([, y]) => y))) + 1;
  return {
    title: `Compressed, first simulation: sizes of ${samples.trials.toLocaleString('en')} coded filters`,
    x,
    y: {
      label: 'filters of this size',
      scale: 'linear',
      from: 0,
      to: top,
      ticks: Array.from({ length: top + 1 }, (_, i) => i),
      format: (value) => `${value} %`,
    },
    marks: [
      { x: 9903.9, label: 'entropy 9903.9', anchor: 'end' },
      { x: 9920, label: 'paper: mean 9920' },
      { x: 9971, label: 'paper: max 9971', anchor: 'end', line: 1 },
      { x: 10_000, label: 'budget', anchor: 'end' },
    ],
    series: [
      { name: 'payloads measured', kind: 'bars', colour: 0, points: bars },
      {
        name: `theory: normal, ${mean.toFixed(1)} ± ${deviation.toFixed(1)}`,
        kind: 'line',
        colour: 1,
        points: curve(x, normal),
      },
    ],
  };
}
