import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { hashScheme, type KeyHash } from 'bloomery';
import { expect, test } from 'vitest';
import {
  type Instant,
  type PendingChanges,
  SummaryKeeper,
  type SummaryKeeperOptions,
  type SummaryPublisher,
  type SummarySteps,
} from './summary-keeper.ts';

const scheme = hashScheme({ seed: 5 });
const START = 1_700_000_000_000;

function at(ms: number): Instant {
  return { wallMs: START + ms, steadyMs: ms };
}

function hashOf(number: number): KeyHash {
  return { scheme, low: number, high: Math.imul(number, 0x9e3779b1) >>> 0 };
}

/** A publisher that keeps plain sets of hashes, and publishes in two steps. */
class PlainPublisher implements SummaryPublisher {
  readonly held = new Set<number>();
  published = new Set<number>();
  universe = 2 ** 20;
  epochs = 0;

  get size(): number {
    return this.held.size;
  }

  addHash({ low }: KeyHash): void {
    expect(this.held.has(low)).toBe(false);
    this.held.add(low);
  }

  deleteHash(hash: KeyHash): void {
    expect(hash).toEqual(hashOf(hash.low));
    expect(this.held.delete(hash.low)).toBe(true);
  }

  *publishInSteps({ additionsOnly = false }): SummarySteps {
    const next = new Set(this.held);
    if (additionsOnly) for (const old of this.published) next.add(old);
    yield;
    this.published = next;
    return new Uint8Array(next.size);
  }

  *resizeInSteps(universe: number, hashes: Iterable<KeyHash>): SummarySteps {
    for (const { low } of hashes) {
      this.published.add(low);
      yield;
    }
    this.published = new Set(this.held);
    this.universe = universe;
    this.epochs++;
    return new Uint8Array(1);
  }
}

/** Publishes whatever there is, at once. */
function eager({ additions, removals }: PendingChanges) {
  return { send: additions + removals > 0 ? ('all' as const) : ('nothing' as const), waitMs: 1000 };
}

function keeperOf(options: Partial<SummaryKeeperOptions> = {}) {
  const publisher = new PlainPublisher();
  const keeper = new SummaryKeeper({
    publisher,
    scheme,
    neighbours: 4,
    mostBytes: 2 ** 23,
    pace: eager,
    now: at(0),
    marginMs: 1000,
    ...options,
  });
  /** Does everything that is to be done. */
  const settle = (now: Instant) => {
    for (;;) {
      const step = keeper.next(now);
      if (step.kind === 'wait' && step.waitMs > 0) return step.waitMs;
      if (step.kind === 'wait') continue;
      let result = step.steps.next();
      while (!result.done) result = step.steps.next();
      keeper.finish(result.value, now);
    }
  };
  return { publisher, keeper, settle };
}

test('a key is in the summary until its margin before it goes stale', () => {
  const { keeper, publisher, settle } = keeperOf();
  expect(keeper.keep(hashOf(1), START + 10_000, at(0))).toBe(true);
  settle(at(0));
  expect([...publisher.published]).toEqual([1]);
  settle(at(8749));
  expect([...publisher.published]).toEqual([1]);
  settle(at(9000));
  expect([...publisher.published]).toEqual([]);
  expect(keeper.size).toBe(0);
});

test('a response that is nearly stale never enters, and one that became so leaves at once', () => {
  const { keeper, publisher } = keeperOf();
  expect(keeper.keep(hashOf(1), START + 1000, at(0))).toBe(false);
  expect(keeper.keep(hashOf(1), START + 1001, at(0))).toBe(true);
  expect(keeper.keep(hashOf(1), START + 500, at(0))).toBe(true);
  expect([publisher.size, keeper.size]).toEqual([0, 0]);
});

test('a response that is validated stays for its new time, without a change', () => {
  const { keeper, publisher, settle } = keeperOf();
  keeper.keep(hashOf(1), START + 5000, at(0));
  settle(at(0));
  expect(keeper.keep(hashOf(1), START + 60_000, at(3000))).toBe(false);
  settle(at(50_000));
  expect([...publisher.published]).toEqual([1]);
  expect(keeper.drop(hashOf(1), at(50_000))).toBe(true);
  expect(keeper.drop(hashOf(1), at(50_000))).toBe(false);
});

test('the pace is told the changes since the last publication', () => {
  const told: PendingChanges[] = [];
  let send: 'all' | 'additions' | 'nothing' = 'nothing';
  const { keeper, settle } = keeperOf({
    pace: (pending) => {
      told.push(pending);
      const now = send;
      send = 'nothing';
      return { send: now, waitMs: 77 };
    },
  });
  for (let i = 0; i < 3; i++) keeper.keep(hashOf(i), START + 60_000, at(10 + i));
  keeper.drop(hashOf(0), at(20));
  expect(settle(at(30))).toBe(77);
  const nothing = { additions: 0, oldestAdditionMs: null, removals: 0, oldestRemovalMs: null };
  const before = { lastSentMs: null, lastSentBytes: 0 };
  const first = { additions: 3, oldestAdditionMs: 10, removals: 1, oldestRemovalMs: 20, size: 2 };
  expect(told.at(-1)).toEqual({ ...first, ...before });
  send = 'additions';
  settle(at(40));
  const after = { lastSentMs: 40, lastSentBytes: 2 };
  expect(told.at(-1)).toEqual({ ...nothing, removals: 1, oldestRemovalMs: 20, size: 2, ...after });
  send = 'all';
  settle(at(50));
  expect(told.at(-1)).toEqual({ ...nothing, size: 2, lastSentMs: 50, lastSentBytes: 2 });
});

test('changes that come while a message is written count for the next one', () => {
  const { keeper, publisher, settle } = keeperOf();
  keeper.keep(hashOf(1), START + 60_000, at(0));
  const step = keeper.next(at(0));
  if (step.kind === 'wait') throw new Error('Cannot test: expected work, got none');
  step.steps.next();
  keeper.keep(hashOf(2), START + 60_000, at(0));
  expect(() => keeper.next(at(0))).toThrow('Cannot begin: expected the running work to finish');
  keeper.finish(step.steps.next().value ?? null, at(0));
  expect([...publisher.published]).toEqual([1]);
  settle(at(1));
  expect([...publisher.published]).toEqual([1, 2]);
});

test('a keeper asks to be called again when a key may go stale, and within 5 s', () => {
  const pace = (pending: PendingChanges) => ({ ...eager(pending), waitMs: Number.POSITIVE_INFINITY });
  const { keeper, settle } = keeperOf({ pace });
  expect(settle(at(0))).toBe(5000);
  keeper.keep(hashOf(1), START + 3_600_000, at(0));
  expect(settle(at(0))).toBe(5000);
  keeper.keep(hashOf(2), START + 4000, at(0));
  expect(settle(at(0))).toBe(250);
});

test('many keys that go stale at once leave in slices', () => {
  const { keeper, publisher } = keeperOf();
  for (let i = 0; i < 10_000; i++) keeper.keep(hashOf(i), START + 10_000, at(0));
  const sizes: number[] = [];
  for (let step = keeper.next(at(0)); step.kind !== 'wait'; step = keeper.next(at(0))) {
    for (let result = step.steps.next(); !result.done; result = step.steps.next());
    keeper.finish(null, at(0));
  }
  for (;;) {
    const step = keeper.next(at(10_000));
    sizes.push(publisher.size);
    if (step.kind !== 'wait' || step.waitMs > 0) break;
  }
  expect(sizes.length).toBeGreaterThan(5);
  expect(sizes.at(-1)).toBe(0);
});

test('the universe grows when the summary exceeds its rate, and when the fleet grows', () => {
  const { keeper, publisher, settle } = keeperOf();
  // 2^20 · 0.005: the rate of four neighbours.
  for (let i = 0; i < 5242; i++) keeper.keep(hashOf(i), START + 1e9, at(0));
  settle(at(0));
  expect([publisher.epochs, publisher.universe]).toEqual([0, 2 ** 20]);
  keeper.keep(hashOf(6000), START + 1e9, at(0));
  settle(at(0));
  expect([publisher.epochs, publisher.universe]).toEqual([1, 2 ** 21]);
  keeper.neighbours = 64;
  settle(at(0));
  expect([publisher.epochs, publisher.universe]).toEqual([2, 2 ** 25]);
  expect(publisher.published).toEqual(publisher.held);
});

test('a clock that is set back stops neither the pace nor the keeper', () => {
  const { keeper, publisher, settle } = keeperOf();
  keeper.keep(hashOf(1), START + 10_000, at(0));
  settle(at(0));
  const early = { wallMs: START - 1e9, steadyMs: 5000 };
  keeper.keep(hashOf(2), START + 10_000, early);
  settle(early);
  expect([...publisher.published]).toEqual([1, 2]);
});

test('over random changes and times, the summary is what a plain model says', () => {
  const random = new Random(41);
  for (let round = 0; round < withEffort(5, 2); round++) {
    const { keeper, publisher, settle } = keeperOf();
    const untils = new Map<number, number>();
    let now = 0;
    for (let i = 0; i < 500; i++) {
      const key = random.below(60);
      if (random.below(3) > 0) {
        const until = START + now + random.below(200_000);
        keeper.keep(hashOf(key), until, at(now));
        untils.set(key, until);
      } else if (random.below(2) === 0) {
        keeper.drop(hashOf(key), at(now));
        untils.delete(key);
      }
      now += random.below(5000);
      settle(at(now));
      for (const [one, until] of untils) {
        const leftMs = until - START - now - 1000;
        // Up to one tick of the wheel early, and never late.
        if (leftMs >= 250 && !publisher.published.has(one)) expect.fail(`${one} left too early`);
        if (leftMs <= 0 && publisher.published.has(one)) expect.fail(`${one} did not leave`);
      }
      expect([...publisher.published].filter((one) => !untils.has(one))).toEqual([]);
    }
  }
});

test('everything that a part told leaves in steps, and the rest stays', () => {
  const { keeper, publisher, settle } = keeperOf();
  // More than the first length of the list of parts.
  for (let i = 0; i < 3000; i++) keeper.keep(hashOf(i), START + 60_000, at(0), i % 3);
  settle(at(0));
  const steps = keeper.dropPart(1, () => at(100));
  expect(steps.next()).toEqual({ done: false, value: undefined });
  expect(keeper.size).toBeGreaterThan(2900);
  // Meanwhile, the next life of the same worker tells one of them again, as another part.
  expect(keeper.keep(hashOf(2998), START + 60_000, at(50), 7)).toBe(false);
  let step = steps.next();
  while (!step.done) step = steps.next();
  expect(step.value).toBe(true);
  settle(at(100));
  const left = Array.from({ length: 3000 }, (_, i) => i).filter((i) => i % 3 !== 1 || i === 2998);
  expect([...publisher.published].sort((a, b) => a - b)).toEqual(left);
  expect(keeper.size).toBe(left.length);
  expect([...keeper.dropPart(1, () => at(200))].length).toBeGreaterThan(0);
  expect(keeper.size).toBe(left.length);
  // Nothing of them is left on the wheel.
  settle(at(60_000));
  expect(keeper.size).toBe(0);
});

test('a part that changes while it leaves is complete at the end', () => {
  const { keeper } = keeperOf();
  for (let i = 0; i < 500; i++) keeper.keep(hashOf(i), START + 60_000, at(0), 1);
  const steps = keeper.dropPart(1, () => at(1));
  steps.next();
  // Numbers of entries become free and are used again, by keys of another part.
  for (let i = 400; i < 450; i++) keeper.drop(hashOf(i), at(1));
  for (let i = 1000; i < 1100; i++) keeper.keep(hashOf(i), START + 60_000, at(1), 2);
  while (!steps.next().done);
  expect(keeper.size).toBe(100);
});
