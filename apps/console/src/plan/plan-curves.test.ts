import { plan } from 'bloomery/math';
import { expect, test } from 'vitest';
import { bitsFor, changedPlot, hashesPlot, memoryPlot, ratePlot } from './plan-curves.ts';
import { FIGURES, FIRST_STATE, LIMITS, type PlanState, requestOf } from './plan-state.ts';

function found(state: PlanState) {
  return plan(requestOf(state));
}

/** The value of a curve at an x between two of its points. */
function heightOf(points: readonly (readonly [number, number])[], x: number): number {
  const next = points.findIndex(([at]) => at >= x);
  const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
  return y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
}

test('figure 1 of compressed: the curves touch at the standard optimum, and part at k = 1', () => {
  const state = FIGURES['compressed-1'];
  const [standard, compressed] = hashesPlot(state, found(state)).curves;
  // The paper's figures in table I: 0.0216 for the standard filter, 0.0108 for m/n = 92.
  const best = Math.LN2 * 8;
  expect(heightOf(standard.points, best) / heightOf(compressed.points, best)).toBeCloseTo(1, 2); // steps
  expect(heightOf(standard.points, 1)).toBeGreaterThan(0.1);
  expect(heightOf(compressed.points, 1)).toBeLessThan(0.0108);
});

test('figure 1 of tutorial: the rate at 32 bits per entry is least at k = 22', () => {
  const state = FIGURES['tutorial-1'];
  expect(found(state).hashes).toBe(22);
  const [{ points }] = hashesPlot(state, found(state)).curves;
  const least = points.reduce((best, point) => (point[1] < best[1] ? point : best));
  expect(Math.abs(least[0] - 22.18)).toBeLessThan(0.35); // the distance of two points
});

test('every plot can be drawn for every plan at the ends of its limits', () => {
  for (const goal of ['memory', 'transmission', 'delta'] as const) {
    for (const rate of LIMITS.rate) {
      for (const changed of LIMITS.changed) {
        const state: PlanState = { ...FIRST_STATE, goal, rate, changed, limit: 512 };
        for (const draw of [hashesPlot, ratePlot, memoryPlot, changedPlot]) {
          const { x, y, curves } = draw(state, found(state));
          expect(x.to > x.from && y.to > y.from).toBe(true);
          expect(curves.every(({ points }) => points.some(([, value]) => Number.isFinite(value)))).toBe(true);
        }
      }
    }
  }
});

test('bitsFor finds the size, and gives up beyond all bounds', () => {
  expect(bitsFor((bits) => bits * 2, 10)).toBeCloseTo(5, 6); // bisection to 1e-9
  expect(bitsFor(() => 1, 2)).toBeNaN();
});
