import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ExpiryWheel } from './expiry-wheel.ts';

const TICK = 250;

/** A plain map with the semantics of the wheel: a thing expires in the tick of its time. */
class Model {
  readonly times = new Map<number, number>();

  /** Things whose tick is not after that of `now`, in the order of their ticks. */
  due(now: number): number[] {
    const tick = Math.floor(now / TICK);
    return [...this.times].filter(([, time]) => Math.floor(time / TICK) <= tick).map(([thing]) => thing);
  }
}

function advanced(wheel: ExpiryWheel, now: number, mostSteps?: number): number[] {
  const expired: number[] = [];
  while (!wheel.advance(now, (thing) => expired.push(thing), mostSteps));
  return expired;
}

test('a thing expires in the tick of its time, not before and not after', () => {
  const wheel = new ExpiryWheel({ now: 1000, tickMs: TICK });
  wheel.set(3, 2000);
  expect(advanced(wheel, 1999)).toEqual([]);
  expect(wheel.has(3)).toBe(true);
  expect(advanced(wheel, 2000)).toEqual([3]);
  expect([wheel.has(3), wheel.size]).toEqual([false, 0]);
});

test('waitMs never lets a thing expire late, and waits long for things that are far away', () => {
  const wheel = new ExpiryWheel({ now: 0, tickMs: TICK });
  expect(wheel.waitMs(0)).toBe(Number.POSITIVE_INFINITY);
  wheel.set(1, 100_000);
  wheel.set(2, 3_600_000);
  let now = 0;
  let looks = 0;
  const times = new Map<number, number>();
  while (wheel.size > 0) {
    now += wheel.waitMs(now);
    looks++;
    for (const thing of advanced(wheel, now)) times.set(thing, now);
  }
  expect([times.get(1), times.get(2)]).toEqual([100_000, 3_600_000]);
  // One look per turn of the first wheel, 64 s, and one per tick in the turns of the two things.
  expect(looks).toBeLessThan(3_600_000 / 64_000 + 2 * 256 + 10);
});

test('a wheel behaves as a plain map, over seconds, years and pauses', () => {
  const random = new Random(11);
  for (let round = 0; round < withEffort(8, 3); round++) {
    const wheel = new ExpiryWheel({ now: 0, tickMs: TICK });
    const model = new Model();
    let now = 0;
    for (let i = 0; i < 2000; i++) {
      const thing = random.below(200);
      const action = random.below(10);
      if (action < 6) {
        // Times from the past to years ahead, each order of magnitude as often as another.
        const time = now - 1000 + Math.floor(2 ** random.below(40) * (1 + random.below(1000) / 1000));
        wheel.set(thing, time);
        model.times.set(thing, time);
      } else if (action < 8) expect(wheel.remove(thing)).toBe(model.times.delete(thing));
      else {
        now += Math.floor(2 ** random.below(action === 8 ? 12 : 36));
        const due = model.due(now);
        for (const one of due) model.times.delete(one);
        const expired = advanced(wheel, now, random.below(2) === 0 ? 7 : undefined);
        expect(expired.sort((a, b) => a - b)).toEqual(due.sort((a, b) => a - b));
      }
      expect(wheel.size).toBe(model.times.size);
      expect(wheel.has(thing)).toBe(model.times.has(thing));
    }
  }
});

test('things expire in the order of their ticks', () => {
  const random = new Random(12);
  const wheel = new ExpiryWheel({ now: 0, tickMs: 1 });
  const times = Array.from({ length: 5000 }, () => random.below(10_000_000));
  for (const [thing, time] of times.entries()) wheel.set(thing, time);
  const order = advanced(wheel, 10_000_000).map((thing) => times[thing]!);
  expect(order).toEqual([...times].sort((a, b) => a - b));
});

test('a thing may be added and removed while others expire', () => {
  const wheel = new ExpiryWheel({ now: 0, tickMs: TICK });
  for (let thing = 0; thing < 4; thing++) wheel.set(thing, 1000);
  const expired: number[] = [];
  wheel.advance(1000, (thing) => {
    expired.push(thing);
    wheel.remove((thing + 1) % 4);
    if (thing < 4) wheel.set(thing + 10, thing % 2 === 0 ? 1000 : 5000);
  });
  expect(expired.length).toBeGreaterThan(2);
  for (const thing of expired) expect(wheel.has(thing)).toBe(false);
});

test('steps bound the work of a call, and no thing is lost between calls', () => {
  const wheel = new ExpiryWheel({ now: 0, tickMs: TICK });
  // All in one slot of the second wheel, so they move down before they expire.
  for (let thing = 0; thing < 1000; thing++) wheel.set(thing, 300 * TICK);
  let expired = 0;
  let calls = 1;
  while (!wheel.advance(300 * TICK, () => expired++, 100)) {
    expect(expired).toBeLessThanOrEqual(100 * calls++);
    wheel.set(2000 + calls, 300 * TICK);
  }
  expect(expired).toBe(1000 + calls - 1);
  expect(calls).toBeGreaterThan(20);
});

test('a million things with one hour of times cost a few steps each', () => {
  const random = new Random(13);
  const things = withEffort(1_000_000, 10_000);
  const wheel = new ExpiryWheel({ now: 0, tickMs: TICK });
  for (let thing = 0; thing < things; thing++) wheel.set(thing, random.below(3_600_000));
  let calls = 0;
  let expired = 0;
  while (!wheel.advance(3_600_000, () => expired++, 1)) calls++;
  expect(expired).toBe(things);
  // One move for each digit in use, the expiry, and each slot that is passed.
  expect(calls).toBeLessThan(3 * things + 3_600_000 / TICK);
});

test('time that goes backwards stands still, and a time beyond 34 years waits as long as it can', () => {
  const wheel = new ExpiryWheel({ now: 1_000_000, tickMs: TICK });
  wheel.set(1, 2_000_000);
  expect(advanced(wheel, 0)).toEqual([]);
  wheel.set(2, Number.MAX_SAFE_INTEGER);
  expect(advanced(wheel, 2_000_000)).toEqual([1]);
  expect(wheel.has(2)).toBe(true);
});

test('a thing that is no index is refused', () => {
  for (const thing of [-1, 0.5, NaN])
    expect(() => new ExpiryWheel({ now: 0 }).set(thing, 0)).toThrow(
      `Cannot note an expiry: expected a thing of 0 or more, got ${thing}`,
    );
});
