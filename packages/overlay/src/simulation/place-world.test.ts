import { expectNormal } from '@bloomery/testkit/statistics';
import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { centreOf, commonLevel, siblingsOf, squareOf } from '../routing/places/quad-tree.ts';
import { PlaceWorld } from './place-world.ts';

test('a region of side k has log2(k) + 1 levels, and a cell 3 log2(k) filters', () => {
  const world = new PlaceWorld({ seed: 1, depth: 4, hosts: 300 });
  expect(world.side).toBe(16);
  expect(commonLevel({ x: 0, y: 0 }, { x: 15, y: 15 })).toBe(4);
  for (const { filters } of world.tables) expect(filters).toBe(3 * 4);
  expect(world.tables[0].setFilter({ level: 1, x: 5, y: 5 }, null as never)).toBe(false);
});

test('siblings share a parent, and the centre of a square lies in it', () => {
  for (const level of [0, 1, 2, 3]) {
    const square = squareOf({ x: 13, y: 6 }, level);
    const siblings = siblingsOf(square);
    expect(siblings).toHaveLength(3);
    for (const { x, y } of siblings) expect([x >> 1, y >> 1]).toEqual([square.x >> 1, square.y >> 1]);
    expect(squareOf(centreOf(square), level)).toEqual(square);
  }
});

test('every host is found by filters and by records, over ways that are not much longer', () => {
  const world = new PlaceWorld({ seed: 2, depth: 5, hosts: 1500 });
  for (const host of world.hosts.slice(0, 400)) {
    const from = world.drawCell();
    expect(world.searchByFilters(from, host.hash).isFound).toBe(true);
    expect(world.searchByRecords(from, host).isFound).toBe(true);
  }
});

test('absent hosts are searched for as often as the filters of a cell predict', () => {
  const world = new PlaceWorld({ seed: 3, depth: 4, hosts: 2000, falsePositiveRate: 0.02 });
  let [sent, expected, variance] = [0, 0, 0];
  for (let i = 0; i < 4000; i++) {
    const from = world.drawCell();
    if (world.searchByFilters(from, hashKey(`nobody ${i}`)).detours > 0) sent++;
    const rate = 1 - world.ratesAt(from).reduce((none, each) => none * (1 - each), 1);
    expected += rate;
    variance += rate * (1 - rate);
  }
  expect(expected).toBeGreaterThan(300);
  expectNormal(sent, expected, Math.sqrt(variance), 'absent hosts that were searched for');
});

test('hosts that move are lost to filters until the next period, and never to records', () => {
  const world = new PlaceWorld({ seed: 4, depth: 4, hosts: 800 });
  const found = () =>
    world.hosts.filter(({ hash }) => world.searchByFilters({ x: 0, y: 0 }, hash).isFound).length;
  expect(found()).toBe(800);
  world.move(0.5);
  expect(found()).toBeLessThan(800);
  expect(world.recordCost).toBeGreaterThan(0);
  world.tell();
  expect(found()).toBe(800);
  expect(world.filterCost).toBeGreaterThan(0);
});
