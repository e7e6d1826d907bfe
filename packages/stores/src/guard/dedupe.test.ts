import { BloomFilter, RotatingBloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { dedupe } from './dedupe.ts';

class MemoryStore {
  readonly ids = new Set<string>();
  readonly batches: string[][] = [];
  asked = 0;
  isAway = false;

  async has(id: string): Promise<boolean> {
    await turn();
    this.asked++;
    return this.ids.has(id);
  }

  async add(ids: readonly string[]): Promise<void> {
    await turn();
    if (this.isAway) throw new Error('the store is away');
    this.batches.push([...ids]);
    for (const id of ids) this.ids.add(id);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

function filter(capacity = 1000, falsePositiveRate = 0.01) {
  return BloomFilter.forCapacity({ capacity, falsePositiveRate });
}

test('dedupe is exact also where the filter is nearly always wrong', async () => {
  const store = new MemoryStore();
  const isNew = dedupe(store, { filter: new BloomFilter({ bits: 64, hashes: 1 }) });
  const seen = new Set<string>();
  let random = 1;
  for (let at = 0; at < 3000; at++) {
    random = (random * 48_271) % 2_147_483_647;
    const id = `event-${random % 1000}`;
    expect(await isNew(id)).toBe(!seen.has(id));
    seen.add(id);
  }
  expect(isNew.stats().newByStore).toBeGreaterThan(800);
});

test('dedupe asks the store only on maybe, and records together what comes together', async () => {
  const store = new MemoryStore();
  const isNew = dedupe(store, { filter: filter() });
  const answers = await Promise.all(Array.from({ length: 500 }, (_, at) => isNew(`event-${at}`)));
  expect(answers.every(Boolean)).toBe(true);
  const { certainlyNew, writes } = isNew.stats();
  expect(store.asked).toBe(500 - certainlyNew);
  expect(store.asked).toBeLessThan(20);
  expect(writes).toBe(store.batches.length);
  expect(writes).toBeLessThan(5);
  expect(store.ids.size).toBe(500);
});

test('two calls with one id at the same time: one is new', async () => {
  const store = new MemoryStore();
  const isNew = dedupe(store, { filter: filter() });
  expect(await Promise.all([isNew('a'), isNew('a'), isNew('b'), isNew('a')])).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(isNew.stats()).toMatchObject({ asked: 4, repeated: 2 });
});

test('an id whose recording failed is new at the next attempt', async () => {
  const store = new MemoryStore();
  const isNew = dedupe(store, { filter: filter() });
  store.isAway = true;
  const both = await Promise.allSettled([isNew('a'), isNew('a')]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  store.isAway = false;
  expect([await isNew('a'), await isNew('a')]).toEqual([true, false]);
});

test('a filter that is not live is not believed', async () => {
  const store = new MemoryStore();
  store.ids.add('before the start');
  const empty = filter();
  const building = {
    state: 'building',
    has: (id: string) => empty.has(id),
    add: (id: string) => empty.add(id),
  };
  const isNew = dedupe(store, { filter: building as never });
  expect(await isNew('before the start')).toBe(false);
  expect(await isNew('after it')).toBe(true);
});

test('no more ids than mostIds in one write', async () => {
  const store = new MemoryStore();
  const isNew = dedupe(store, { filter: filter(), mostIds: 100 });
  await Promise.all(Array.from({ length: 250 }, (_, at) => isNew(`event-${at}`)));
  expect(store.batches.every((batch) => batch.length <= 100)).toBe(true);
  expect(store.batches.flat().length).toBe(250);
});

test('a rotating filter is advanced by the clock', async () => {
  let now = 1_000_000;
  const rotating = new RotatingBloomFilter({
    capacity: 100,
    falsePositiveRate: 1e-6,
    generations: 3,
    ttlMs: 1000,
    nowMs: now,
  });
  const store = new MemoryStore();
  const isNew = dedupe(store, { filter: rotating, now: () => now });
  expect(await isNew('a')).toBe(true);
  now += 900;
  expect(await isNew('a')).toBe(false);
  now += 10_000;
  store.ids.clear(); // the store forgets as well
  expect(await isNew('a')).toBe(true);
  expect(isNew.stats()).toMatchObject({ certainlyNew: 2, repeated: 1 });
});

test('dedupe refuses wrong arguments', async () => {
  expect(() => dedupe({} as never, { filter: filter() })).toThrow(
    'expected a store with the methods has and add',
  );
  expect(() => dedupe(new MemoryStore(), {} as never)).toThrow(
    'expected { filter } with the methods has and add',
  );
  expect(() => dedupe(new MemoryStore(), { filter: filter(), mostIds: 0 })).toThrow(
    'whole number above 0, got 0',
  );
  await expect(dedupe(new MemoryStore(), { filter: filter() })(3 as never)).rejects.toThrow(
    'expected an id as text',
  );
});
