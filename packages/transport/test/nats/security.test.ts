import { until } from '@bloomery/testkit/eventually';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { NatsTransport } from '../../src/nats/index.ts';
import { NatsFleet } from './nats-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const OTHER_SECRET = Uint8Array.from({ length: 32 }, (_, i) => 255 - i);
const isUp = (transport: NatsTransport, id: string) =>
  transport.peers().some((peer) => peer.id === id && peer.state === 'up');

/** A user of the server who knows no secret, and has recorded everything. */
class Outsider implements AsyncDisposable {
  readonly #connection: NatsConnection;
  readonly heard: { readonly subject: string; readonly data: Uint8Array }[] = [];

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
    connection.subscribe('>', {
      callback: (_, { subject, data }) => {
        this.heard.push({ subject, data: new Uint8Array(data) });
      },
    });
  }

  static async join(fleet: NatsFleet): Promise<Outsider> {
    const outsider = new Outsider(await connect({ servers: fleet.server.url, noEcho: true }));
    await outsider.flush();
    return outsider;
  }

  send(subject: string, data: Uint8Array, reply?: string): void {
    this.#connection.publish(subject, data, reply === undefined ? {} : { reply });
  }

  async flush(): Promise<void> {
    await this.#connection.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
  }
}

async function pair() {
  const fleet = await NatsFleet.start();
  const outsider = await Outsider.join(fleet);
  const [a, b] = [await fleet.node('a'), await fleet.node('b')];
  await until('both are up', () => isUp(a, 'b') && isUp(b, 'a'));
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  await until('open', () => on.count('open') === 1);
  return { fleet, outsider, a, b, on };
}

test('a node with another secret on the same subjects is not heard, and the log says so', async () => {
  await using fleet = await NatsFleet.start();
  const a = await fleet.node('a');
  const stranger = await fleet.node('stranger', { secret: OTHER_SECRET });
  await until('a refused it', () => (a.status().refused.signature ?? 0) > 0);
  await until('it refused a', () => (stranger.status().refused.signature ?? 0) > 0);
  expect(a.peers()).toEqual([]);
  const told = fleet.events.find(({ name }) => name === 'nats-refused');
  expect(told?.fields).toMatchObject({ why: 'signature' });
});

test('two fleets on one server do not hear each other, even with one secret', async () => {
  await using fleet = await NatsFleet.start();
  const [a, b] = [await fleet.node('a'), await fleet.node('b')];
  const other = await fleet.node('c', { fleet: 'other' });
  const second = await fleet.node('d', { fleet: 'other' });
  await until(
    'both fleets are up',
    () => isUp(a, 'b') && isUp(b, 'a') && isUp(other, 'd') && isUp(second, 'c'),
  );
  expect(a.peers().map(({ id }) => id)).toEqual(['b']);
  expect(other.peers().map(({ id }) => id)).toEqual(['d']);
  expect(a.status().refused).toEqual({});
});

test('an outsider can neither forge a message, nor replay one, nor move one', async () => {
  const { fleet, outsider, a, b, on } = await pair();
  await using _fleet = fleet;
  await using _outsider = outsider;
  a.publish('x', bytes('genuine'));
  await until('it has come', () => on.messages.length === 1);
  const subject = 'bloomery.test.said.a.x';
  const recorded = () => outsider.heard.find((each) => each.subject === subject);
  await until('it was recorded', () => recorded() !== undefined);
  const { data } = recorded()!;
  const changed = Uint8Array.from(data);
  changed[changed.length - 20] ^= 1;
  outsider.send(subject, data);
  outsider.send(subject, changed);
  outsider.send(subject, bytes('plain text'));
  outsider.send('bloomery.test.said.b.x', data);
  outsider.send('bloomery.test.here.a', data);
  await until('all were refused', () => {
    const { replayed = 0, signature = 0, unreadable = 0 } = b.status().refused;
    return replayed === 1 && signature === 3 && unreadable === 1;
  });
  a.publish('x', bytes('again'));
  await until('the next has come', () => on.messages.length === 2);
  expect(on.told).toEqual(['open', 'message genuine', 'message again']);
});

test('a recorded request is not served twice, and no answer goes to a subject of the outsider', async () => {
  const { fleet, outsider, a, b } = await pair();
  await using _fleet = fleet;
  await using _outsider = outsider;
  let served = 0;
  a.serve('count', () => bytes(`${++served}`));
  await b.request(fleet.address('a'), 'count', bytes('?'), { timeoutMs: 9000 });
  const asked = () =>
    outsider.heard.find(({ subject }) => /^bloomery\.test\.ask\.a\.[\w-]+\.count$/.test(subject));
  await until('it was recorded', () => asked() !== undefined);
  const { subject, data } = asked()!;
  outsider.send(subject, data, 'my.inbox');
  await until('it was refused', () => a.status().refused.replayed === 1);
  await b.request(fleet.address('a'), 'count', bytes('?'), { timeoutMs: 9000 });
  expect(served).toBe(2);
  expect(outsider.heard.some((each) => each.subject === 'my.inbox')).toBe(false);
});

test('a recorded goodbye or beat changes nothing', async () => {
  const { fleet, outsider, a, b } = await pair();
  await using _fleet = fleet;
  await using _outsider = outsider;
  const c = await fleet.node('c');
  await until('c is up', () => isUp(b, 'c') && isUp(a, 'c'));
  await c.close();
  await until('c is down', () => !isUp(b, 'c'));
  const beats = () => outsider.heard.filter(({ subject }) => subject === 'bloomery.test.here.c');
  await until('recorded', () => beats().length >= 2);
  const before = b.status().refused.replayed ?? 0;
  const recorded = beats();
  for (const { subject, data } of recorded) outsider.send(subject, data);
  await until('all were refused', () => (b.status().refused.replayed ?? 0) === before + recorded.length);
  expect(isUp(b, 'c')).toBe(false);
  expect(isUp(b, 'a')).toBe(true);
});

test('a node whose clock is wrong by more than 30 s is not taken, and both logs say so', async () => {
  await using fleet = await NatsFleet.start();
  const a = await fleet.node('a');
  const late = await fleet.node('late', { clock: { ...systemClock, now: () => Date.now() - 40_000 } });
  await until('a refused it', () => (a.status().refused.clock ?? 0) > 0);
  await until('it refused a', () => (late.status().refused.clock ?? 0) > 0);
  expect(a.peers()).toEqual([]);
  expect(late.peers()).toEqual([]);
});
