import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, describe, expect, test } from 'vitest';
import { ChangeIndex, removeScratch } from './change-index.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-index-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('ChangeIndex', () => {
  test('it equals a Map, in memory and in its file, also with equal hashes and crowded places', () => {
    const random = new Random(5);
    const index = new ChangeIndex(folder);
    const model = new Map<string, number>();
    const keyAt = new Map<number, string>();
    for (let position = 0; position < 1500; position++) {
      if (position === 400) index.seal();
      // A few hashes for many keys: some differ in nothing, many share the last slots of the table.
      const name = `${random.below(600)}`;
      const hash = { low: Number(name) % 7, high: 0xffff_ff00 + (Number(name) % 256) };
      const isKey = (at: number) => keyAt.get(at) === name;
      expect(index.get(hash, isKey)).toBe(model.get(name));
      index.reserve(1);
      keyAt.set(position, name);
      index.set(hash, position, isKey);
      model.set(name, position);
      expect(index.count).toBe(model.size);
    }
    expect([...index.slots()].map(({ position }) => position).sort((a, b) => a - b)).toEqual(
      [...model.values()].sort((a, b) => a - b),
    );
    expect(readdirSync(folder), 'the file has no name').toEqual([]);
    index.close();
  });

  test('removeScratch removes the files of killed processes, and nothing else', () => {
    writeFileSync(join(folder, '.index-0123456789abcdef.bloomery-scratch'), '');
    writeFileSync(join(folder, 'layer.json'), '');
    removeScratch(folder);
    expect(readdirSync(folder)).toEqual(['layer.json']);
  });
});
