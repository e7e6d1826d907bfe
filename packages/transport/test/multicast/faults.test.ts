import { until } from '@bloomery/testkit/eventually';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { expect, test } from 'vitest';
import type { MulticastTransport } from '../../src/multicast/index.ts';
import { MulticastFleet } from './multicast-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const stateOf = (transport: MulticastTransport, id: string) =>
  transport.peers().find((peer) => peer.id === id)?.state;
const areUp = (transport: MulticastTransport, ...ids: string[]) =>
  ids.every((id) => stateOf(transport, id) === 'up');

/** Drops the datagrams that hold a text, the given number of times. */
function dropping(text: string, times = 1) {
  let left = times;
  return (datagram: Buffer) => (datagram.includes(text) && left-- > 0 ? null : datagram);
}

/** Three nodes, of which b and c hear the topic x of a. */
async function listeners(fleet: MulticastFleet) {
  const [a, b, c] = ['a', 'b', 'c'].map((name) => fleet.node(name));
  await until('all are up', () => areUp(a, 'b', 'c') && areUp(b, 'a', 'c') && areUp(c, 'a', 'b'));
  const [atB, atC] = [new Recorder(), new Recorder()];
  b.subscribe(fleet.address('a'), 'x', atB);
  c.subscribe(fleet.address('a'), 'x', atC);
  await until('both are open', () => atB.count('open') + atC.count('open') === 2);
  return { a, b, c, atB, atC };
}

test('nodes find each other without a list, and one that leaves is down at once', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b, c } = await listeners(fleet);
  expect(new Set(a.peers().map(({ address }) => address))).toEqual(
    new Set([fleet.address('b'), fleet.address('c')]),
  );
  await c.close();
  await until('c is down', () => stateOf(a, 'c') === 'down' && stateOf(b, 'c') === 'down');
  expect(a.peers().find(({ id }) => id === 'c')?.why).toBe('it is shutting down');
});

test('a datagram that all receivers lost goes to the group again, and comes in its order', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b, c, atB, atC } = await listeners(fleet);
  fleet.setFaults('a', { sent: dropping('second') });
  for (const text of ['first', 'second', 'third']) a.publish('x', bytes(text));
  await until('all have come', () => atB.messages.length === 3 && atC.messages.length === 3);
  const expected = ['open', 'message first', 'message second', 'message third'];
  expect([atB.told, atC.told]).toEqual([expected, expected]);
  expect(a.status()).toMatchObject({ repeated: 1, missed: 0, repaired: 0, reconnects: 0 });
  for (const each of [b, c]) expect(each.status()).toMatchObject({ givenUp: 0, missed: 1, repaired: 1 });
});

test('the last message of a burst is missed until the next beat names it', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, atB, atC } = await listeners(fleet);
  fleet.setFaults('a', { sent: dropping('last') });
  a.publish('x', bytes('last'));
  await until('it has come', () => atB.messages.length === 1 && atC.messages.length === 1);
  expect(atB.told).toEqual(['open', 'message last']);
});

test('a receiver that loses every repetition fetches the message for itself', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b, c, atB, atC } = await listeners(fleet);
  fleet.setFaults('b', { heard: dropping('second', Number.POSITIVE_INFINITY) });
  for (const text of ['first', 'second', 'third']) a.publish('x', bytes(text));
  await until('all have come', () => atB.messages.length === 3 && atC.messages.length === 3);
  expect(atB.told).toEqual(['open', 'message first', 'message second', 'message third']);
  expect(b.status()).toMatchObject({ fetched: 1, missed: 1, repaired: 1 });
  expect(c.status()).toMatchObject({ fetched: 0, missed: 0, repaired: 0 });
});

test('a gap that cannot be repaired closes and opens the subscription', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b, atB } = await listeners(fleet);
  fleet.setFaults('b', { heard: dropping('lost', Number.POSITIVE_INFINITY) });
  for (let i = 0; i < 40; i++) a.publish('x', bytes(`lost ${i}`));
  a.publish('x', bytes('after'));
  await until('it has come', () => atB.told.includes('message after'));
  expect(atB.told).toEqual(['open', 'closed', 'open', 'message after']);
  expect(b.status().givenUp).toBe(1);
  expect(b.status().missed).toBeGreaterThan(30);
  expect(b.status().repaired).toBe(0);
});

test('status counts the datagrams of others, and not those of the node itself', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b, atB } = await listeners(fleet);
  const total = 50 * 1000;
  for (let i = 0; i < 50; i++) a.publish('x', bytes('x'.repeat(1000)));
  await until('all have come', () => atB.messages.length === 50);
  const [sent, received] = [a.status().traffic, b.status().traffic];
  expect(sent.messagesSent).toBeGreaterThan(50);
  expect(sent.bytesSent).toBeGreaterThan(total);
  expect(received.messagesReceived).toBeGreaterThan(0);
  expect(received.bytesReceived).toBeGreaterThan(1000);
  // It hears the beats of the others, and the system brings it all that it sent.
  expect(sent.bytesReceived).toBeGreaterThan(0);
  expect(sent.bytesReceived).toBeLessThan(total);
});

test('a gap at the end that cannot be repaired closes and opens the subscription at the next beat', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, atB } = await listeners(fleet);
  fleet.setFaults('b', { heard: dropping('lost', Number.POSITIVE_INFINITY) });
  for (let i = 0; i < 40; i++) a.publish('x', bytes(`lost ${i}`));
  await until('it was told', () => atB.count('open') === 2);
  expect(atB.told).toEqual(['open', 'closed', 'open']);
});

test('a message that does not fit into a datagram is fetched, and one that fits is not', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b, atB } = await listeners(fleet);
  const most = a.datagramBytes('x');
  let longest = 0;
  fleet.setFaults('a', {
    sent: (datagram) => {
      longest = Math.max(longest, datagram.length);
      return datagram;
    },
  });
  a.publish('x', new Uint8Array(most).fill(1));
  a.publish('x', new Uint8Array(most + 1).fill(2));
  a.publish('x', bytes('short'));
  await until('all have come', () => atB.messages.length === 3);
  expect(atB.messages.map((message) => [message.length, message[0]])).toEqual([
    [most, 1],
    [most + 1, 2],
    [5, 's'.charCodeAt(0)],
  ]);
  expect(b.status()).toMatchObject({ fetched: 1, givenUp: 0 });
  expect(longest).toBe(1400);
});

test('30 % of all datagrams lost, both ways: every message comes once and in order, or the link says so', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b, atB } = await listeners(fleet);
  // A fixed pattern, so that the test is the same each time.
  let seed = 12_345;
  const isLost = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff < 0.3;
  };
  const lossy = (datagram: Buffer) => (isLost() ? null : datagram);
  fleet.setFaults('b', { heard: lossy, sent: lossy });
  for (let i = 0; i < 200; i++) {
    a.publish('x', bytes(`${i}`));
    if (i % 10 === 9) await new Promise((resolve) => setImmediate(resolve));
  }
  fleet.setFaults('b');
  a.publish('x', bytes('end'));
  await until('the end has come', () => atB.told.includes('message end'));
  const numbers = atB.messages.slice(0, -1).map((message) => Number(new TextDecoder().decode(message)));
  expect(numbers).toEqual([...numbers].sort((one, two) => one - two));
  expect(new Set(numbers).size).toBe(numbers.length);
  // A message is missing only where the subscriber was told to catch up.
  const closed = atB.count('closed');
  expect(closed).toBe(b.status().givenUp);
  if (numbers.length < 200) expect(closed).toBeGreaterThan(0);
});

test('a neighbour that has been down for long is gone from the list, and can come back', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b');
  const a = fleet.node('a', { limits: { forgetMs: 500 } });
  const b = fleet.node('b');
  await until('b is up', () => areUp(a, 'b'));
  await b.close();
  await until('b is gone', () => a.peers().length === 0);
  fleet.node('b');
  await until('b is up again', () => areUp(a, 'b'));
});

test('publish() refuses a topic whose name does not fit into the beats, and keeps the others', async () => {
  await using fleet = await MulticastFleet.withNames('a');
  const a = fleet.node('a');
  const names = Array.from({ length: 30 }, (_, i) => `${'t'.repeat(60)}${i}`);
  expect(() => {
    for (const name of names) a.publish(name, bytes('x'));
  }).toThrow(/^Cannot publish on a topic: expected a beat with all topics of at most \d+ bytes, got \d+/);
  a.publish(names[0], bytes('again'));
});

test('a group that cannot be joined is told to the operator, and tried again', async () => {
  await using fleet = await MulticastFleet.withNames('a');
  const a = fleet.node('a', { network: '203.0.113.9', openSocket: undefined });
  await until('it was told', () => fleet.events.some(({ name }) => name === 'multicast-down'));
  expect(a.status()).toMatchObject({ isJoined: false });
  expect(a.status().why).not.toBe(null);
});
