import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, describe, expect, test } from 'vitest';
import type { Base, Change, MergeIntoOptions } from './base.ts';
import { layered } from './layered.ts';
import { jsonValues, textValues } from './values.ts';

const root = mkdtempSync(join(tmpdir(), 'bloomery-layered-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const folder = () => join(root, `layer${folders++}`);

/** A base in memory that can be merged into: each merge makes a new map, as a new file would be. */
class MemoryBase implements Base<string> {
  readonly records: ReadonlyMap<string, string>;
  readonly place: { base: MemoryBase | null };
  readonly stamps: ReadonlyMap<string, number>;
  closed = false;

  constructor(
    records: ReadonlyMap<string, string>,
    place: { base: MemoryBase | null } = { base: null },
    stamps: ReadonlyMap<string, number> = new Map(),
  ) {
    this.records = records;
    this.place = place;
    this.stamps = stamps;
    place.base ??= this;
  }

  get(key: string) {
    expect(this.closed, 'a closed base is not read').toBe(false);
    return this.records.get(key);
  }

  entries() {
    return this.records.entries();
  }

  count() {
    return this.records.size;
  }

  identity() {
    return `memory ${[...this.stamps].join()}`;
  }

  mergedThrough(log: string) {
    return this.stamps.get(log);
  }

  async merge(changes: AsyncIterable<Change<string>>, { log, position }: MergeIntoOptions) {
    const records = new Map(this.records);
    for await (const change of changes) {
      if (change.deleted === true) records.delete(change.key);
      else records.set(change.key, change.value);
    }
    const base = new MemoryBase(records, this.place, new Map([[log, position]]));
    this.place.base = base;
    return base;
  }

  close() {
    this.closed = true;
  }
}

const texts = { values: textValues };

async function allOf(records: AsyncIterable<[string, string]>): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const [key, value] of records) {
    expect(found.has(key), `${key} comes once`).toBe(false);
    found.set(key, value);
  }
  return found;
}

describe('layered', () => {
  test('records are those of the base until they are changed, also after it is opened again', async () => {
    const base = new Map([
      ['a', 'base a'],
      ['b', 'base b'],
    ]);
    const place = folder();
    const layer = await layered(base, place, texts);
    expect([await layer.get('a'), await layer.get('b'), await layer.get('c')]).toEqual([
      'base a',
      'base b',
      undefined,
    ]);
    await layer.set('a', 'new a');
    await layer.delete('b');
    await layer.batch([
      { key: 'c', value: '' },
      { key: 'd', value: 'd' },
      { key: 'd', deleted: true },
    ]);
    const check = async (records: typeof layer) => {
      expect(await Promise.all(['a', 'b', 'c', 'd'].map((key) => records.get(key)))).toEqual([
        'new a',
        undefined,
        '',
        undefined,
      ]);
      expect([await records.has('a'), await records.has('b')]).toEqual([true, false]);
      expect(await records.changeOf('b')).toEqual({ key: 'b', deleted: true });
      expect(await allOf(records.entries())).toEqual(
        new Map([
          ['a', 'new a'],
          ['c', ''],
        ]),
      );
    };
    await check(layer);
    await layer.close();
    const again = await layered(base, place, texts);
    await check(again);
    expect(again.stats().changedKeys).toBe(4);
    await again.close();
  });

  test('a layer equals a Map under random changes, batches, merges and new starts', async () => {
    const random = new Random(19);
    const place = folder();
    const model = new Map(Array.from({ length: 200 }, (_, i) => [`key${i}`, `base${i}`]));
    const first = new MemoryBase(new Map(model));
    const open = () => {
      const { records, stamps } = first.place.base!;
      const base = new MemoryBase(records, first.place, stamps);
      return layered<string>(base, place, { ...texts, expectedChanges: 4 });
    };
    let layer = await open();
    const draw = (): Change<string> => {
      const key = `key${random.below(400)}`;
      return random.below(3) === 0 ? { key, deleted: true } : { key, value: `${random.bits()}` };
    };
    const apply = (change: Change<string>) =>
      change.deleted === true ? model.delete(change.key) : model.set(change.key, change.value);
    for (let step = 0; step < withEffort(600, 300); step++) {
      const what = random.below(100);
      if (what < 60) {
        const changes = Array.from({ length: 1 + random.below(4) }, draw);
        await layer.batch(changes);
        changes.forEach(apply);
      } else if (what < 93) {
        const key = `key${random.below(420)}`;
        expect(await layer.get(key), `step ${step}`).toBe(model.get(key));
      } else if (what < 95) expect(await allOf(layer.entries())).toEqual(model);
      else if (what < 98) {
        // Changes and reads go on during a merge.
        const merge = layer.merge();
        const change = draw();
        await layer.batch([change]);
        apply(change);
        expect(await layer.get(change.key)).toBe(model.get(change.key));
        await merge;
      } else {
        await layer.close();
        layer = await open();
      }
    }
    expect(await allOf(layer.entries())).toEqual(model);
    const { merges, changedKeys } = layer.stats();
    expect(merges + changedKeys).toBeGreaterThan(0);
    await layer.close();
  });

  test('an iteration sees each key once while records are changed', async () => {
    const records = new Map(Array.from({ length: 50 }, (_, i) => [`key${i}`, 'old']));
    const layer = await layered(records, folder(), texts);
    for (let i = 0; i < 30; i++) await layer.set(`key${i * 2}`, 'changed');
    const found = new Map<string, string>();
    let step = 0;
    for await (const [key, value] of layer) {
      expect(found.has(key), key).toBe(false);
      found.set(key, value);
      // Keys that were changed before, keys that were not, those that come and those that came.
      await layer.set(`key${(step * 7) % 59}`, 'during');
      step++;
    }
    // key50 to key58: the even ones were set before the iteration.
    const expected = [...records.keys(), 'key50', 'key52', 'key54', 'key56', 'key58'].sort();
    const even = [...found.keys()].filter(
      (key) => Number(key.slice(3)) < 50 || Number(key.slice(3)) % 2 === 0,
    );
    expect(even.sort()).toEqual(expected);
    await layer.close();
  });

  test('values are JSON, and keys any well-formed text', async () => {
    const layer = await layered(new Map<string, unknown>(), folder(), { values: jsonValues<unknown>() });
    for (const key of ['', '\0', 'ü', '💧', 'a'.repeat(65_535), 'constructor']) {
      await layer.set(key, { key, list: [1, null] });
      expect(await layer.get(key)).toEqual({ key, list: [1, null] });
    }
    await expect(layer.set('\ud800', 1)).rejects.toThrow('lone surrogate');
    await expect(layer.set('x', undefined)).rejects.toThrow('JSON can express');
    await expect(layer.set('a'.repeat(65_536), 1)).rejects.toMatchObject({ code: 'limit' });
    await expect(layer.set('large', 'x'.repeat(64 * 1024 * 1024))).rejects.toMatchObject({ code: 'limit' });
    expect(await layer.get('a'.repeat(65_536))).toBeUndefined();
    await layer.close();
    await expect(layer.get('x')).rejects.toMatchObject({ code: 'closed' });
  });

  test('a merge comes by itself at a size and at a share of the base', async () => {
    const records = new Map(Array.from({ length: 100 }, (_, i) => [`key${i}`, 'old']));
    for (const merge of [{ atBytes: 1000 }, { atShare: 0.2 }]) {
      const base = new MemoryBase(records);
      const layer = await layered<string>(base, folder(), { ...texts, merge });
      for (let i = 0; i < 60; i++) await layer.set(`key${i}`, 'new');
      await layer.merge();
      expect(layer.stats().merges).toBeGreaterThan(1);
      expect(await layer.get('key59')).toBe('new');
      expect(base.closed, 'the old base is closed').toBe(true);
      await layer.close();
    }
    const options = { ...texts, merge: { atShare: 0.2 } };
    await expect(layered({ get: () => undefined }, folder(), options)).rejects.toMatchObject({
      code: 'unable',
    });
    await expect(layered(records, folder(), { ...texts, merge: { atTime: '24:00' } })).rejects.toThrow(
      RangeError,
    );
  });
});
