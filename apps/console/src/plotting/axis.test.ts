import { expect, test } from 'vitest';
import { type Axis, niceTicks, placeOf, valueAt } from './axis.ts';

const LINEAR: Axis = { label: '', scale: 'linear', from: 0, to: 40 };
const LOG: Axis = { label: '', scale: 'log', from: 1e-6, to: 0.5 };

test('valueAt undoes placeOf', () => {
  for (const axis of [LINEAR, LOG]) {
    for (const place of [0, 0.25, 0.5, 1]) {
      // A logarithm and a power: an error of a few units in the last place.
      expect(placeOf(axis, valueAt(axis, place))).toBeCloseTo(place, 12);
    }
  }
});

test('niceTicks are round and on the axis', () => {
  expect(niceTicks(LINEAR)).toEqual([0, 10, 20, 30, 40]);
  expect(niceTicks({ ...LINEAR, to: 0.1 })).toEqual([0, 0.02, 0.04, 0.06, 0.08, 0.1]);
  expect(niceTicks(LOG)).toEqual([1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1]);
  expect(niceTicks({ ...LOG, from: 6, to: 512 })).toEqual([10, 30, 100, 300]);
  expect(niceTicks({ ...LOG, from: 1e-9, to: 0.5 })).toEqual([1e-8, 1e-6, 1e-4, 0.01]);
});
