import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import type { Peer } from '../transport.ts';
import { PeerList } from './peer-list.ts';

test('PeerList tells changes of state, id and keys, and the time of the last change of state', async () => {
  const clock = new VirtualClock({ now: 1000 });
  const list = new PeerList(clock, ['a', 'b']);
  const told: Peer[] = [];
  const cancel = list.watch((peer) => told.push(peer));
  await clock.advance(10);
  list.set('a', { state: 'up', why: null, id: 'node' });
  await clock.advance(10);
  list.set('a', { state: 'up', why: null, id: 'other' });
  list.set('a', { state: 'up', why: null });
  list.set('a', { state: 'up', why: null, keys: [7, 5] });
  list.set('a', { state: 'up', why: null, keys: [7, 5] });
  list.set('unknown', { state: 'up', why: null });
  cancel();
  list.set('a', { state: 'down', why: 'closed' });
  expect(told).toEqual([
    { address: 'a', id: 'node', state: 'up', since: 1010, why: null, keys: [] },
    { address: 'a', id: 'other', state: 'up', since: 1010, why: null, keys: [] },
    { address: 'a', id: 'other', state: 'up', since: 1010, why: null, keys: [7, 5] },
  ]);
  expect(list.all()).toEqual([
    { address: 'a', id: 'other', state: 'down', since: 1020, why: 'closed', keys: [7, 5] },
    { address: 'b', id: null, state: 'down', since: 1000, why: 'not yet reached', keys: [] },
  ]);
});

test('PeerList tells neighbours that join and that are gone, once each', () => {
  const list = new PeerList(new VirtualClock({ now: 1000 }), ['a']);
  const told: string[] = [];
  list.watch(({ address, state }) => told.push(`${address} ${state}`));
  list.add('b');
  list.add('b');
  list.remove('a');
  list.remove('a');
  list.set('a', { state: 'up', why: null });
  expect(told).toEqual(['b down', 'a gone']);
  expect(list.all().map(({ address }) => address)).toEqual(['b']);
});

test('PeerList refuses addresses that are not configured, and its own', () => {
  const list = new PeerList(new VirtualClock(), ['a']);
  expect(list.other('a').state).toBe('down');
  expect(() => list.other('b')).toThrow('Cannot reach a neighbour: expected a configured address, got b');
  list.set('a', { state: 'self', why: null });
  expect(() => list.other('a')).toThrow('Cannot reach a neighbour: expected another node, got this one (a)');
});
