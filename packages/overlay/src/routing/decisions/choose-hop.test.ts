import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { chooseHop, newPath } from './choose-hop.ts';
import { planRoutes } from './route-plan.ts';
import { RouteTable } from './route-table.ts';

const plan = planRoutes({ objectsPerNode: 50 });
const hash = hashKey('a key');

/** A table with three neighbours that have the key at these distances. */
function tableWith(distances: Record<string, number>): RouteTable {
  const table = new RouteTable({ plan });
  for (const [neighbour, distance] of Object.entries(distances)) {
    const array = new RouteTable({ plan }).outgoing();
    array.addHash(hash, distance);
    table.setNeighbour(neighbour, array);
  }
  return table;
}

const query = { hash, reach: 3, hopsLeft: 3 };

test('chooseHop follows the nearest lead, and gives its distance as reach', () => {
  const table = tableWith({ far: 2, near: 0, middle: 1 });
  expect(chooseHop(table, { ...query, path: newPath(1) })).toEqual({ kind: 'forward', to: 'near', reach: 0 });
});

test('chooseHop stays where the key is', () => {
  const table = tableWith({ near: 0 });
  table.announce(hash);
  expect(chooseHop(table, { ...query, reach: 0, hopsLeft: 0, path: newPath(1) })).toEqual({ kind: 'here' });
});

test('chooseHop skips neighbours that were visited or are down, and goes back without one', () => {
  const table = tableWith({ far: 2, near: 0, middle: 1 });
  const path = newPath(1);
  path.visit('near');
  expect(chooseHop(table, { ...query, path })).toEqual({ kind: 'forward', to: 'middle', reach: 1 });
  const isUp = (neighbour: string) => neighbour !== 'middle';
  expect(chooseHop(table, { ...query, path }, isUp)).toEqual({ kind: 'forward', to: 'far', reach: 2 });
  path.visit('far');
  expect(chooseHop(table, { ...query, path }, isUp)).toEqual({ kind: 'back' });
});

test('chooseHop keeps to the reach of the lead that brought the query, and to the hop limit', () => {
  const table = tableWith({ middle: 1, far: 2 });
  expect(chooseHop(table, { ...query, reach: 1, path: newPath(1) })).toEqual({ kind: 'back' });
  expect(chooseHop(table, { ...query, hopsLeft: 1, path: newPath(1) })).toEqual({ kind: 'back' });
  expect(chooseHop(table, { ...query, reach: 2, path: newPath(1) }).kind).toBe('forward');
});
