import { until } from '@bloomery/testkit/eventually';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { expect, test } from 'vitest';
import type { NatsTransport } from '../../src/nats/index.ts';
import { NatsFleet } from './nats-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const stateOf = (transport: NatsTransport, id: string) =>
  transport.peers().find((peer) => peer.id === id)?.state;
const areUp = (transport: NatsTransport, ...ids: string[]) =>
  ids.every((id) => stateOf(transport, id) === 'up');

test('nodes find each other without a list, and one that leaves is down at once', async () => {
  await using fleet = await NatsFleet.start();
  const [a, b, c] = [await fleet.node('a'), await fleet.node('b'), await fleet.node('c')];
  await until('all are up', () => areUp(a, 'b', 'c') && areUp(b, 'a', 'c') && areUp(c, 'a', 'b'));
  expect(
    a
      .peers()
      .map(({ address }) => address)
      .sort(),
  ).toEqual([fleet.address('b'), fleet.address('c')]);
  await c.close();
  await until('c is down', () => stateOf(a, 'c') === 'down' && stateOf(b, 'c') === 'down');
  expect(a.peers().find(({ id }) => id === 'c')?.why).toBe('it is shutting down');
});

test('a node whose connection ended is down at the first question, before three beats are missed', async () => {
  await using fleet = await NatsFleet.start();
  // Without the word of the server it would take a minute.
  const limits = { heartbeatMs: 20_000 };
  const [a, b] = [await fleet.node('a', { limits }), await fleet.node('b', { limits })];
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  fleet.relay('b').setFaults({ refuse: true });
  fleet.relay('b').cut();
  await until('b is down', async () => {
    const asked = a.request(fleet.address('b'), 'x', bytes('?'), { timeoutMs: 1000 });
    await expect(asked).rejects.toMatchObject({ code: expect.any(String) });
    return stateOf(a, 'b') === 'down';
  });
  expect(a.peers()[0]?.why).toBe('not connected to the NATS server');
  fleet.relay('b').setFaults();
  await until('b is up again', () => areUp(a, 'b'));
});

test('a subscription opens when the server knows it, so that nothing after `open` is missed', async () => {
  await using fleet = await NatsFleet.start();
  // Long beats: a stall of a few of them would take the link down.
  const limits = { heartbeatMs: 20_000 };
  const [a, b] = [await fleet.node('a', { limits }), await fleet.node('b', { limits })];
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  const [first, second, on] = [new Recorder(), new Recorder(), new Recorder()];
  b.subscribe(fleet.address('a'), 'early', first);
  await until('the server knows the topic', () => first.count('open') === 1);
  fleet.relay('b').setFaults({ toServer: { stallAfter: 0 } });
  b.subscribe(fleet.address('a'), 'late', on);
  b.subscribe(fleet.address('a'), 'early', second);
  await until('a subscription that was made later is open', () => second.count('open') === 1);
  expect(on.told).toEqual([]);
  fleet.relay('b').setFaults();
  await until('it is open', () => on.count('open') === 1);
  a.publish('late', bytes('one'));
  await until('it has come', () => on.messages.length === 1);
  expect(on.told).toEqual(['open', 'message one']);
});

test('a neighbour that has been down for long is gone from the list, and can come back', async () => {
  await using fleet = await NatsFleet.start();
  const a = await fleet.node('a', { limits: { forgetMs: 500 } });
  const b = await fleet.node('b');
  const told: string[] = [];
  a.watchPeers(({ id, state }) => told.push(`${id} ${state}`));
  await until('b is up', () => areUp(a, 'b'));
  await b.close();
  await until('b is gone', () => a.peers().length === 0);
  await fleet.node('b');
  await until('b is up again', () => areUp(a, 'b'));
  expect(told).toEqual(['null down', 'b up', 'b down', 'b gone', 'null down', 'b up']);
});

test('a node without an address asks others, and is no neighbour of theirs', async () => {
  await using fleet = await NatsFleet.start();
  const a = await fleet.node('a');
  const quiet = await fleet.node('quiet', { address: null });
  a.serve('echo', (body, from) => bytes(`${from} ${body.length}`));
  await until('a is up', () => areUp(quiet, 'a'));
  const answer = await quiet.request(fleet.address('a'), 'echo', bytes('?'), { timeoutMs: 5000 });
  expect(`${Buffer.from(answer)}`).toBe('quiet 1');
  expect(a.peers()).toEqual([]);
});

test('kill -9 of the server: links are down at once, and current again after its restart', async () => {
  await using fleet = await NatsFleet.start();
  const [a, b] = [await fleet.node('a'), await fleet.node('b')];
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  await until('open', () => on.count('open') === 1);
  a.serve('echo', (body) => body);
  await fleet.server.kill();
  await until('both are down', () => stateOf(a, 'b') === 'down' && stateOf(b, 'a') === 'down');
  expect(b.peers()[0].why).toBe('no connection to the NATS server');
  expect(on.told).toEqual(['open', 'closed']);
  await expect(b.request(fleet.address('a'), 'echo', bytes('?'), { timeoutMs: 9000 })).rejects.toMatchObject({
    code: 'unreachable',
  });
  // This message has no way, and its publisher is not told.
  a.publish('x', bytes('lost'));
  await fleet.server.start();
  await until('open again', () => on.count('open') === 2);
  a.publish('x', bytes('after'));
  await until('the message has come', () => on.told.includes('message after'));
  expect(on.told).toEqual(['open', 'closed', 'open', 'message after']);
  expect(await b.request(fleet.address('a'), 'echo', bytes('!'), { timeoutMs: 9000 })).toEqual(bytes('!'));
});

test('a message that the server lost is noticed by the next beat, and the link opens again', async () => {
  await using fleet = await NatsFleet.start();
  // A machine that stands still for three beats would close the link before the first message.
  const limits = { heartbeatMs: 1500 };
  const [a, b] = [await fleet.node('a', { limits }), await fleet.node('b', { limits })];
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  await until('open', () => on.count('open') === 1);
  a.publish('x', bytes('first'));
  await until('it has come', () => on.messages.length === 1);
  // The connection of a breaks in the moment of the second message, and b stays connected.
  fleet.relay('a').setFaults({ toServer: { stallAfter: 0 } });
  a.publish('x', bytes('second'));
  fleet.relay('a').cut();
  fleet.relay('a').setFaults();
  await until('b was told', () => on.count('open') === 2);
  expect(on.told).toEqual(['open', 'message first', 'closed', 'open']);
  a.publish('x', bytes('third'));
  await until('the third has come', () => on.told.includes('message third'));
});

test('a node that starts before its server connects when the server comes', async () => {
  await using fleet = await NatsFleet.start();
  await fleet.server.kill();
  const [a, b] = [await fleet.node('a'), await fleet.node('b')];
  await until('a was told', () => fleet.events.some(({ name }) => name === 'nats-down'));
  expect(a.status()).toMatchObject({ isConnected: false, fleet: 'test' });
  await fleet.server.start();
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  expect(a.status()).toMatchObject({ isConnected: true, why: null, reconnects: 0 });
});

test('status counts connections, messages and bytes, those of lost connections included', async () => {
  await using fleet = await NatsFleet.start();
  const [a, b] = [await fleet.node('a'), await fleet.node('b')];
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  await until('b listens', () => on.count('open') === 1);
  a.publish('x', bytes('x'.repeat(100_000)));
  await until('it has come', () => on.messages.length === 1);
  expect(a.status().traffic.bytesSent).toBeGreaterThan(100_000);
  expect(b.status().traffic.bytesReceived).toBeGreaterThan(100_000);
  expect(a.status().traffic.bytesReceived).toBeLessThan(100_000);
  const before = a.status().traffic;
  fleet.relay('a').cut();
  await until('it is connected again', () => a.status().reconnects === 1 && areUp(a, 'b'));
  const after = a.status().traffic;
  expect(after.messagesSent).toBeGreaterThan(before.messagesSent);
  expect(after.bytesSent).toBeGreaterThan(before.bytesSent);
  expect(after.messagesReceived).toBeGreaterThan(before.messagesReceived);
});

test('max_payload: messages of 8 MB pass a server that allows 8 KB, and one below 4 KB is refused', async () => {
  await using fleet = await NatsFleet.start({ config: 'max_payload: 8KB' });
  const [a, b] = [await fleet.node('a'), await fleet.node('b')];
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  await until('open', () => on.count('open') === 1);
  const long = new Uint8Array(8 * 1024 * 1024).map((_, i) => i * 7 + (i >> 8));
  a.publish('x', long);
  await until('it has come', () => on.messages.length === 1);
  expect(Buffer.compare(on.messages[0], long)).toBe(0);

  await using small = await NatsFleet.start({ config: 'max_payload: 1KB' });
  const lonely = await small.node('a');
  await until('it says why', () => /max_payload of the server is 1024/.test(lonely.status().why ?? ''));
});

test('a silent server is given up after two pings, although bytes wait to be sent', async () => {
  await using fleet = await NatsFleet.start();
  const limits = { pingMs: 200, heartbeatMs: 60_000 };
  const [a, b] = [await fleet.node('a', { limits }), await fleet.node('b', { limits })];
  await until('both are up', () => areUp(a, 'b') && areUp(b, 'a'));
  fleet.relay('a').setFaults({ toServer: { stallAfter: 0 }, toClient: { stallAfter: 0 } });
  // More than the buffers on the way take, so that the connection cannot be closed in good order.
  for (let i = 0; i < 8; i++) a.publish('x', new Uint8Array(8 * 1024 * 1024));
  await until('a has lost it', () => !areUp(a, 'b'), 20_000);
  expect(a.status().isConnected).toBe(false);
  fleet.relay('a').setFaults();
  await until('both are up again', () => areUp(a, 'b') && areUp(b, 'a'));
});
