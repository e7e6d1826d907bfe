/** All keys while they change; and that `has` says what listeners were told, at each moment. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keysOf, pause, storeBody } from '../../../../test/store/stored-responses.ts';
import { DiskStore } from '../disk-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a key whose entry is replaced while keys are listed is not missed', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 28, inlineBytes: 60_000 });
  try {
    const all = Array.from({ length: 100 }, (_, i) => `http://a/${i}`);
    for (const [i, key] of all.entries()) await storeBody(store, { key, bodyLength: 40_000, time: i });
    const found = new Set<string>();
    let time = 1000;
    for await (const key of store.keys()) {
      found.add(key);
      // Some 25 are read at a time: the last ones come after they were replaced.
      if (found.size === 10) {
        for (const other of all.slice(60))
          await storeBody(store, { key: other, bodyLength: 50, time: ++time });
      }
    }
    expect(found).toEqual(new Set(all));
  } finally {
    await store.close();
  }
});

test('a list ends, however much comes while it is made', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 24 });
  try {
    for (let i = 0; i < 20; i++) await storeBody(store, { key: `old${i}`, bodyLength: 10, time: i });
    const found = new Set<string>();
    let given = 0;
    for await (const key of store.keys()) {
      found.add(key);
      // One more for each that is given.
      await storeBody(store, { key: `new${given}`, bodyLength: 10, time: 100 + given });
      if (++given === 60) break;
    }
    expect(given).toBe(20);
    for (let i = 0; i < 20; i++) expect(found).toContain(`old${i}`);
  } finally {
    await store.close();
  }
});

test('keys that are there all the while are given, whatever happens to them and to others', async () => {
  // Small packs, so that records are moved and slots used again while keys are listed.
  const store = await DiskStore.open({
    folder,
    capacityBytes: 2 ** 20,
    inlineBytes: 4000,
    headCacheBytes: 0,
  });
  try {
    const random = new Random(5);
    const variants = ['a', 'b', 'c'];
    let time = 0;
    const put = (key: string) =>
      storeBody(store, { key, bodyLength: 300, time: ++time, varied: [['accept', random.pick(variants)]] });
    const lasting = Array.from({ length: 150 }, (_, i) => `lasting${i}`);
    for (const key of lasting) await put(key);
    let working = true;
    const change = async () => {
      while (working) {
        const other = `passing${random.below(100)}`;
        const kind = random.below(4);
        if (kind < 2) await put(random.pick(lasting));
        else if (kind === 2) await put(other);
        else await store.removeKey(other);
      }
    };
    const changing = Promise.all([change(), change(), change(), change()]);
    for (let round = 0; round < 8; round++) {
      const found = new Set<string>();
      for await (const key of store.keys()) {
        found.add(key);
        if (random.below(10) === 0) await pause(1);
      }
      expect(lasting.filter((key) => !found.has(key))).toEqual([]);
    }
    working = false;
    await changing;
    expect(store.statistics.evictions).toBe(0);
  } finally {
    await store.close();
  }
});

test('several packs, variants, slots that were used before: each key once', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 22 });
  try {
    const random = new Random(3);
    const left = new Set<string>();
    for (let i = 0; i < 300; i++) {
      const key = `http://a/${random.below(60)}`;
      if (random.below(4) === 0) {
        await store.removeKey(key);
        left.delete(key);
        continue;
      }
      const varied = [['accept', random.pick(['a', 'b'])]] as const;
      await storeBody(store, { key, bodyLength: random.below(9_000), time: i, varied });
      left.add(key);
    }
    const listed: string[] = [];
    for await (const key of store.keys()) listed.push(key);
    expect(listed.sort()).toEqual([...left].sort());
  } finally {
    await store.close();
  }
});

test('has says what listeners were told, at each moment, also while things are evicted', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 1_000_000 });
  const keys = Array.from({ length: 60 }, (_, i) => `http://a/${i}`);
  const told = new Set<string>();
  const wrong: string[] = [];
  const compare = (when: string) => {
    for (const key of keys) if (store.has(key) !== told.has(key)) wrong.push(`${key} ${when}`);
  };
  store.watch((key, change) => {
    if (change === 'added') told.add(key);
    else if (change === 'removed') told.delete(key);
    compare(`when ${key} was ${change}`);
  });
  let working = true;
  const look = () => {
    compare('between');
    if (working) setImmediate(look);
  };
  look();
  try {
    const random = new Random(4);
    for (let i = 0; i < 40; i++) {
      await Promise.all(
        Array.from({ length: 8 }, async (_, n) => {
          const key = random.pick(keys);
          if (random.below(5) === 0) await store.removeKey(key);
          else await storeBody(store, { key, bodyLength: n % 2 === 0 ? 30_000 : 9_000, time: 8 * i + n });
        }),
      );
    }
    expect(store.statistics.evictions).toBeGreaterThan(30);
    expect(wrong).toEqual([]);
    expect(await keysOf(store)).toEqual(told);
  } finally {
    working = false;
    await store.close();
  }
});
