import { expect, test } from 'vitest';
import { decayOf } from '../../math/from-ones.ts';
import { FillGauge, OverfullError } from './fill-gauge.ts';
import type { OverfullPolicy } from './options.ts';

const [BITS, HASHES, CAPACITY] = [10_000, 7, 1000];
const DECAY = decayOf(HASHES, 1 / BITS);

/** The mean number of ones after `keys` keys. */
const meanOnes = (keys: number) => Math.round(-BITS * Math.expm1(-DECAY * keys));

/** A filter that says how many ones it has, and counts how often it was asked. */
function filterWith(ones: number, capacity: number | undefined = CAPACITY) {
  return {
    bits: BITS,
    hashes: HASHES,
    capacity,
    ones,
    asked: 0,
    onesCount() {
      this.asked++;
      return this.ones;
    },
  };
}

test('size estimates the keys from the ones of the filter, or from a given number', () => {
  const gauge = new FillGauge(filterWith(meanOnes(400)), DECAY);
  // The number of ones is rounded to an integer: at most half a one, and a key sets about five.
  expect(Math.abs(gauge.size() - 400)).toBeLessThan(0.2);
  expect(Math.abs(gauge.size(meanOnes(900)) - 900)).toBeLessThan(0.2);
  expect(gauge.size(0)).toBe(0);
});

test('before leaves no room in an overfull filter, and some at its capacity', () => {
  const filter = filterWith(meanOnes(CAPACITY));
  const gauge = new FillGauge(filter, DECAY, 'throw');
  expect(gauge.before(1)).toBe(true);
  filter.ones = meanOnes(1.2 * CAPACITY);
  gauge.reset();
  expect(gauge.before(1)).toBe(false);
  expect(() => gauge.refuse()).toThrow(OverfullError);
  // The ones are not counted for each key that is refused, and a merge is refused as well.
  const { asked } = filter;
  expect(gauge.before(1)).toBe(false);
  expect(filter.asked).toBe(asked);
  expect(() => gauge.beforeMerge(() => filter.ones)).toThrow(OverfullError);
});

test('before counts again only after as many keys as could have filled the room', () => {
  const filter = filterWith(0);
  const gauge = new FillGauge(filter, DECAY, 'throw');
  gauge.before(1);
  expect(filter.asked).toBe(1);
  // Room for about half of the bits, of which a key sets seven.
  for (let i = 0; i < 700; i++) gauge.before(1);
  expect(filter.asked).toBe(1);
  for (let i = 0; i < 100; i++) gauge.before(1);
  expect(filter.asked).toBe(2);
});

test('before says whether a batch certainly fits, by the keys that were new', () => {
  const gauge = new FillGauge(filterWith(0), DECAY, 'throw');
  expect(gauge.before(700)).toBe(true);
  gauge.after(700);
  expect(gauge.before(301)).toBe(false);
  expect(gauge.before(300)).toBe(true);
  gauge.after(300);
  expect(gauge.before(1)).toBe(false);
  expect(() => gauge.refuse()).toThrow(/^Cannot add keys: expected at most 1000, got more$/);
  gauge.after(-1);
  expect(gauge.before(1)).toBe(true);
});

test('beforeMerge judges the ones that the merge would leave', () => {
  const gauge = new FillGauge(filterWith(0), DECAY, 'throw');
  expect(() => gauge.beforeMerge(() => meanOnes(CAPACITY))).not.toThrow();
  expect(() => gauge.beforeMerge(() => meanOnes(1.2 * CAPACITY))).toThrow(
    /^Cannot add keys: expected at most 1000, got more$/,
  );
  const lax = new FillGauge(filterWith(0), DECAY);
  lax.beforeMerge(() => expect.fail('counted'));
});

test('a filter of a few bits is overfull with more ones than its capacity can set', () => {
  const filter = { ...filterWith(9), bits: 15, hashes: 1, capacity: 10 };
  const gauge = new FillGauge(filter, decayOf(1, 1 / 15), 'throw');
  expect(gauge.before(1)).toBe(true);
  filter.ones = 11;
  gauge.reset();
  expect(gauge.before(1)).toBe(false);
});

test("before never counts under 'allow'", () => {
  const filter = filterWith(BITS);
  const gauge = new FillGauge(filter, DECAY);
  gauge.before(1e12);
  gauge.reset();
  gauge.before(1e12);
  expect(filter.asked).toBe(0);
});

test('a gauge checks capacity and policy', () => {
  expect(() => new FillGauge(filterWith(0, 0), DECAY)).toThrow(/Cannot use capacity: expected an integer/);
  expect(() => new FillGauge({ ...filterWith(0), capacity: undefined }, DECAY, 'warn')).toThrow(
    /^Cannot use overfull 'warn': expected a capacity, got none$/,
  );
  expect(() => new FillGauge(filterWith(0), DECAY, 'shrug' as OverfullPolicy)).toThrow(
    /Cannot use overfull: expected/,
  );
});
