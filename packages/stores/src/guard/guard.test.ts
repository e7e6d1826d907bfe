import { BloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { guard } from './guard.ts';
import type { RateProblem } from './rate-watch.ts';

const USERS = new Map(Array.from({ length: 1000 }, (_, at) => [`user-${at}`, { id: at }]));

function lookup(calls: unknown[][] = []) {
  return async (key: unknown, ...rest: unknown[]) => {
    calls.push([key, ...rest]);
    return USERS.get(String(key));
  };
}

function filterOf(keys: Iterable<string>, falsePositiveRate = 0.01): BloomFilter {
  const filter = BloomFilter.forCapacity({ capacity: 1000, falsePositiveRate });
  filter.addMany(keys);
  return filter;
}

test('guard asks the store only on maybe, and gives what the store gives', async () => {
  const calls: unknown[][] = [];
  const user = guard(lookup(calls), { filter: filterOf(USERS.keys()) });
  for (let at = 0; at < 2000; at++) expect(await user(`user-${at}`)).toBe(USERS.get(`user-${at}`));
  const { falseHits, ...stats } = user.stats();
  expect(stats).toMatchObject({ asked: 2000, trueHits: 1000, trueMisses: 1000 - falseHits, unsure: 0 });
  expect(stats).toMatchObject({ saved: 1000 - falseHits, falseMisses: 0, failures: 0 });
  expect(calls.length).toBe(1000 + falseHits);
  expect(falseHits).toBeLessThan(10 + 5 * Math.sqrt(10));
});

test('guard passes further arguments on, and null counts as absent', async () => {
  const calls: unknown[][] = [];
  const filter = filterOf(['user-1', 'gone']);
  const user = guard(
    async (key, tenant: string, limit: number) => {
      calls.push([key, tenant, limit]);
      return key === 'gone' ? null : 'found';
    },
    { filter },
  );
  expect(await user('user-1', 'acme', 3)).toBe('found');
  expect(await user('gone', 'acme', 4)).toBeUndefined();
  expect(calls).toEqual([
    ['user-1', 'acme', 3],
    ['gone', 'acme', 4],
  ]);
  expect(user.stats()).toMatchObject({ trueHits: 1, falseHits: 1 });
});

test('guard passes everything through while the filter is not live', async () => {
  let state = 'catching-up';
  const filter = {
    get state() {
      return state;
    },
    has: () => false,
  };
  const user = guard(lookup(), { filter });
  expect(await user('user-1')).toEqual({ id: 1 });
  expect(user.stats()).toMatchObject({ asked: 1, unsure: 1, trueHits: 0, saved: 0 });
  state = 'live';
  expect(await user('user-1')).toBeUndefined();
  expect(user.stats()).toMatchObject({ asked: 2, unsure: 1, saved: 1 });
});

test('guard counts lookups that fail, and rejects as they do', async () => {
  const user = guard(() => Promise.reject(new Error('the store is away')), { filter: filterOf(['a']) });
  await expect(user('a')).rejects.toThrow('the store is away');
  expect(user.stats()).toMatchObject({ asked: 1, failures: 1, trueHits: 0, falseHits: 0 });
});

test('guard tells the time that it saved by the mean of lookups of absent keys', async () => {
  let now = 0;
  const user = guard(
    async (key) => {
      now += key === 'there' ? 100 : 4;
      return key === 'there' ? 'found' : undefined;
    },
    { filter: { has: (key) => key !== 'no' }, now: () => now },
  );
  expect(user.stats()).toMatchObject({ meanLookupMs: undefined, savedMs: 0 });
  await user('there');
  await user('no');
  expect(user.stats().savedMs).toBe(100); // as long as no lookup of an absent key was made
  await user('absent');
  await user('no');
  expect(user.stats()).toMatchObject({ saved: 2, savedMs: 8, meanLookupMs: 52 });
});

test('guard reports false hits beyond the promised rate, and not those within it', async () => {
  const problems: RateProblem[] = [];
  const rateExceeded = (problem: RateProblem) => problems.push(problem);
  const right = guard(lookup(), { filter: filterOf(USERS.keys()), rateExceeded });
  for (let at = 0; at < 20_000; at++) await right(`absent-${at}`);
  expect(problems).toEqual([]);
  const overfull = filterOf(Array.from({ length: 4000 }, (_, at) => `row-${at}`));
  const wrong = guard(lookup(), { filter: overfull, falsePositiveRate: 0.01, rateExceeded });
  for (let at = 0; at < 20_000; at++) await wrong(`absent-${at}`);
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.length).toBeLessThan(12); // at most one for each doubling
  const { falseHits, absent, measuredRate, promisedRate } = problems.at(-1)!;
  expect(measuredRate).toBe(falseHits / absent);
  expect(promisedRate).toBe(0.01);
  expect(measuredRate).toBeGreaterThan(0.1);
});

test('guard with audits finds keys that were never added', async () => {
  const missed: unknown[] = [];
  const user = guard(lookup(), {
    filter: filterOf(['user-0']),
    audit: 1,
    falseMissed: (key) => missed.push(key),
  });
  expect(await user('user-7')).toEqual({ id: 7 });
  expect(await user('absent')).toBeUndefined();
  expect(missed).toEqual(['user-7']);
  expect(user.stats()).toMatchObject({ falseMisses: 1, trueMisses: 1, saved: 0 });
});

test('guard audits the share that was asked for', async () => {
  const calls: unknown[][] = [];
  const rolls = [0.05, 0.2, 0.09, 0.9];
  const user = guard(lookup(calls), { filter: filterOf([]), audit: 0.1, random: () => rolls.shift()! });
  for (const key of ['a', 'b', 'c', 'd']) await user(key);
  expect(calls).toEqual([['a'], ['c']]);
});

test('add lets a key through, and needs a filter that can add', async () => {
  const user = guard(lookup(), { filter: filterOf([]) });
  expect(await user('user-5')).toBeUndefined();
  await user.add('user-5');
  expect(await user('user-5')).toEqual({ id: 5 });
  const fixed = guard(lookup(), { filter: { has: () => true } });
  await expect(fixed.add('x')).rejects.toThrow(
    'Cannot add a key: expected a filter with add, got one without',
  );
});

test('guard takes a lookup by its own type of key', async () => {
  const byName = async (name: string) => USERS.get(name);
  const user = guard(byName, { filter: filterOf(USERS.keys()) });
  const found: { id: number } | undefined = await user('user-3');
  expect(found).toEqual({ id: 3 });
  // @ts-expect-error: a key of another type is refused by the compiler
  await user(3);
});

test('guard refuses wrong arguments', () => {
  expect(() => guard(lookup(), { filter: filterOf([]), falsePositiveRate: 1 })).toThrow(
    'expected a falsePositiveRate of at least 0 and below 1, got 1',
  );
  expect(() => guard(3 as never, { filter: filterOf([]) })).toThrow('expected a function, got number');
  expect(() => guard(lookup(), {} as never)).toThrow('expected { filter } with a method has');
  expect(() => guard(lookup(), { filter: filterOf([]), audit: 2 })).toThrow(
    'expected an audit from 0 to 1, got 2',
  );
});
