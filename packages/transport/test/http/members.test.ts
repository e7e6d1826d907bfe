/** Neighbours of a running transport that come and go, and one node at two addresses. */

import { until } from '@bloomery/testkit/eventually';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { afterEach, expect, test } from 'vitest';
import type { Peer } from '../../src/transport.ts';
import { HttpFleet } from './http-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function fleetOf(...names: string[]): Promise<HttpFleet> {
  const fleet = await HttpFleet.withNames(...names);
  endings.push(() => fleet.end());
  return fleet;
}

const stateOf = (peers: readonly Peer[], address: string) =>
  peers.find((peer) => peer.address === address)?.state;

test('changePeers adds and removes neighbours while links to the others go on', async () => {
  const fleet = await fleetOf('a', 'b', 'c');
  const [a, b] = [fleet.start('a', ['b']), fleet.start('b', [])];
  const c = fleet.start('c', []);
  const [toB, toC] = [fleet.address('b'), fleet.address('c')];
  const seen: string[] = [];
  a.watchPeers(({ address, state }) => seen.push(`${address === toB ? 'b' : 'c'} ${state}`));
  const [fromB, fromC] = [new Recorder(), new Recorder()];
  a.subscribe(toB, 'x', fromB);
  await until('b is heard', () => fromB.count('open') === 1);
  a.changePeers([toB, toC]);
  a.subscribe(toC, 'x', fromC);
  await until('c is heard', () => fromC.count('open') === 1);
  a.changePeers([toC]);
  expect(fromB.told).toEqual(['open', 'closed']);
  expect(a.peers().map(({ address, state }) => [address, state])).toEqual([[toC, 'up']]);
  expect(seen).toEqual(['b up', 'c down', 'c up', 'b gone']);
  await expect(a.request(toB, 'x', bytes(''), { timeoutMs: 1000 })).rejects.toMatchObject({ code: 'peer' });
  b.publish('x', bytes('lost'));
  c.publish('x', bytes('kept'));
  await until('c is still heard', () => fromC.messages.length === 1);
  expect(fromC.told).toEqual(['open', 'message kept']);
  expect(fromB.messages).toEqual([]);
  a.changePeers([toB, toC]);
  await until('b is back', () => stateOf(a.peers(), toB) === 'up');
});

test('changePeers ends the stream at the neighbour that was removed', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', ['b']);
  fleet.start('b', []);
  await until('b is up', () => a.peers()[0]!.state === 'up');
  const isOpen = () => fleet.relay('b').connections.some(({ open }) => open);
  expect(isOpen()).toBe(true);
  a.changePeers([]);
  await until('the connection has ended', () => !isOpen());
});

test('changePeers with a wrong address changes nothing', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', ['b']);
  expect(() => a.changePeers(['no address'])).toThrow('Cannot use the address of a neighbour');
  expect(a.peers().map(({ address }) => address)).toEqual([fleet.address('b')]);
});

test('a node at two addresses is one neighbour, and the second address takes over from the first', async () => {
  const fleet = await fleetOf('a', 'b');
  fleet.start('b', []);
  const other = await TcpRelay.start({ target: fleet.relay('b').port });
  endings.push(() => other[Symbol.asyncDispose]());
  const twin = `http://127.0.0.1:${other.port}`;
  const a = fleet.start('a', ['b']);
  await until('b is up', () => a.peers()[0]!.state === 'up');
  a.changePeers([fleet.address('b'), twin]);
  await until('the twin is known', () => a.peers().some(({ why }) => why?.includes(fleet.address('b'))));
  expect(a.peers().map(({ state }) => state)).toEqual(['up', 'down']);
  a.changePeers([twin]);
  await until('the twin took over', () => stateOf(a.peers(), twin) === 'up');
});

test('leave says goodbye: neighbours mask the node at once, and its own links go on', async () => {
  const fleet = await fleetOf('a', 'b');
  const [a, b] = [fleet.start('a', ['b']), fleet.start('b', ['a'])];
  b.serve('x', (body) => body);
  const fromA = new Recorder();
  b.subscribe(fleet.address('a'), 'x', fromA);
  await until('both are up', () => [a, b].every((node) => node.peers()[0]!.state === 'up'));
  await until('the subscription is open', () => fromA.count('open') === 1);
  a.publish('x', bytes('last'));
  a.leave();
  a.leave();
  a.publish('x', bytes('too late'));
  await until('b knows', () => b.peers()[0]!.state === 'down');
  expect(b.peers()[0]).toMatchObject({ id: 'a', why: 'it is shutting down' });
  expect(fromA.told).toEqual(['open', 'message last', 'closed']);
  const asked = b.request(fleet.address('a'), 'x', bytes(''), { timeoutMs: 5000 });
  await expect(asked).rejects.toMatchObject({ code: 'closed' });
  expect(a.peers()[0]!.state).toBe('up');
  const answer = await a.request(fleet.address('b'), 'x', bytes('still'), { timeoutMs: 5000 });
  expect(new TextDecoder().decode(answer)).toBe('still');
  await a.close();
  // The node that takes its place is heard again.
  fleet.start('a', ['b']);
  await until('b is connected again', () => b.peers()[0]!.state === 'up');
});
