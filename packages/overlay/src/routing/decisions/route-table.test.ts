import { AttenuatedBloomFilter, hashKey, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { planRoutes } from './route-plan.ts';
import { hashName, RouteTable } from './route-table.ts';

const plan = planRoutes({ objectsPerNode: 50 });
const key = (text: string) => hashKey(text);

/** A row of nodes, each of which knows the ones beside it. */
function row(length: number, rounds: number): RouteTable[] {
  const tables = Array.from({ length }, () => new RouteTable({ plan }));
  for (const [i, table] of tables.entries()) table.announce(key(`at ${i}`));
  for (let round = 0; round < rounds; round++) {
    const arrays = tables.map((table) => table.outgoing());
    for (const [i, table] of tables.entries())
      for (const beside of [i - 1, i + 1])
        if (arrays[beside] !== undefined) table.setNeighbour(String(beside), arrays[beside]);
  }
  return tables;
}

test('RouteTable leads to each key within reach, at its distance, and to none beyond', () => {
  const tables = row(6, 3);
  expect(tables[0].leads(key('at 1'), 3)).toEqual([{ neighbour: '1', distance: 0 }]);
  expect(tables[0].leads(key('at 3'), 3)).toEqual([{ neighbour: '1', distance: 2 }]);
  expect(tables[0].leads(key('at 3'), 2)).toEqual([]);
  expect(tables[0].leads(key('at 4'), 3)).toEqual([]);
  expect(tables[2].leads(key('at 3'), 3)).toEqual([
    { neighbour: '3', distance: 0 },
    { neighbour: '1', distance: 2 },
  ]);
});

test('a withdrawn key is gone from the arrays after as many rounds as it is hops away', () => {
  const tables = row(3, 3);
  expect(tables[2].withdraw(key('at 2'))).toBe(true);
  expect(tables[2].withdraw(key('at 2'))).toBe(false);
  tables[1].setNeighbour('2', tables[2].outgoing());
  tables[0].setNeighbour('1', tables[1].outgoing());
  expect(tables[0].leads(key('at 2'), 3)).toEqual([]);
  expect(tables[2].announce(key('new'))).toBe(true);
  expect(tables[2].announce(key('new'))).toBe(false);
  expect(tables[2].outgoing().distanceHash(key('new'))).toBe(0);
});

test('a table that passes nothing on is smaller, and leads as well', () => {
  const tables = row(5, 3);
  const leaf = new RouteTable({ plan, forwards: false });
  const full = new RouteTable({ plan });
  for (const table of [leaf, full]) table.setNeighbour('1', tables[1].outgoing());
  for (let i = 0; i < 5; i++) expect(leaf.leads(key(`at ${i}`), 3)).toEqual(full.leads(key(`at ${i}`), 3));
  expect(leaf.neighbourBytes / full.neighbourBytes).toBeLessThan(0.45);
  leaf.announce(key('mine'));
  expect(leaf.outgoing().distanceHash(key('at 2'))).toBe(undefined);
  expect(leaf.outgoing().distanceHash(key('mine'))).toBe(0);
});

test('arrays of another plan or under another secret are refused, and the last one is dropped', () => {
  const table = row(2, 1)[0];
  const { levels, bits, hashes } = plan;
  const others = [
    { levels: 2, bits, hashes },
    { levels, bits: 2 * bits, hashes },
    { levels, bits, hashes, key: new SecretKey(new Uint8Array(16)) },
  ];
  for (const options of others) {
    expect(table.setNeighbour('1', new AttenuatedBloomFilter(options))).toBe(false);
    expect(table.leads(key('at 1'), 3)).toEqual([]);
  }
  expect([...table.neighbours()]).toEqual([]);
});

test('hashName has the 64 bits', () => {
  expect(hashName({ high: 0x12, low: -1 })).toBe('00000012ffffffff');
});
