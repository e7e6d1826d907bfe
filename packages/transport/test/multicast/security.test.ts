import { until } from '@bloomery/testkit/eventually';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { parseMulticastGroup } from '../../src/multicast/multicast-group.ts';
import { type MulticastSocket, openMulticastSocket } from '../../src/multicast/multicast-socket.ts';
import type { MulticastTransport } from '../../src/multicast/multicast-transport.ts';
import { MulticastFleet } from './multicast-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const OTHER_SECRET = Uint8Array.from({ length: 32 }, (_, i) => 255 - i);
const isUp = (transport: MulticastTransport, id: string) =>
  transport.peers().some((peer) => peer.id === id && peer.state === 'up');
const refused = (transport: MulticastTransport, why: string) => transport.status().refused[why] ?? 0;

/** A machine on the network that knows no secret, and has recorded everything. */
class Outsider implements AsyncDisposable {
  readonly heard: Buffer[] = [];
  #socket: MulticastSocket | null = null;

  static async join(group: string): Promise<Outsider> {
    const outsider = new Outsider();
    outsider.#socket = await openMulticastSocket({
      group: parseMulticastGroup(group),
      network: '127.0.0.1',
      hops: 1,
      heard: (datagram) => outsider.heard.push(datagram),
      failed: (error) => expect.unreachable(error.message),
    });
    return outsider;
  }

  send(datagram: Uint8Array): void {
    this.#socket?.send(datagram);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#socket?.close();
  }
}

async function pair(fleet: MulticastFleet) {
  const [a, b] = [fleet.node('a'), fleet.node('b')];
  await until('both are up', () => isUp(a, 'b') && isUp(b, 'a'));
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  await until('open', () => on.count('open') === 1);
  return { a, b, on };
}

test('datagrams that are forged, changed, cut, moved to another topic or sent twice are refused', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b');
  await using outsider = await Outsider.join(fleet.group);
  const { a, b, on } = await pair(fleet);
  a.publish('x', bytes('first'));
  await until('it has come', () => on.messages.length === 1);
  await until('the outsider has it', () => outsider.heard.some((each) => each.includes('first')));
  const recorded = outsider.heard.find((each) => each.includes('first'))!;
  const before = refused(b, 'signature');

  const changed = Buffer.from(recorded);
  changed[changed.indexOf('first')] ^= 1;
  const moved = Buffer.from(recorded);
  moved[1] = 'y'.charCodeAt(0);
  for (const each of [changed, moved]) outsider.send(each);
  await until('both are counted', () => refused(b, 'signature') === before + 2);
  outsider.send(recorded);
  await until('the repetition is counted', () => refused(b, 'replayed') === 1);
  for (const each of [Buffer.alloc(1), recorded.subarray(0, 40), Buffer.alloc(1400, 255)])
    outsider.send(each);
  await until('the rest is counted', () => refused(b, 'unreadable') + refused(b, 'version') >= 3);

  a.publish('x', bytes('second'));
  await until('the next has come', () => on.messages.length === 2);
  expect(on.told).toEqual(['open', 'message first', 'message second']);
});

test('a recorded goodbye or beat changes nothing', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b');
  await using outsider = await Outsider.join(fleet.group);
  const { a, b } = await pair(fleet);
  await a.close();
  await until('a is down', () => !isUp(b, 'a'));
  const recorded = [...outsider.heard];
  const again = fleet.node('a');
  await until('a is up again', () => isUp(b, 'a') && isUp(again, 'b'));
  const before = refused(b, 'replayed');
  for (const datagram of recorded) outsider.send(datagram);
  await until('all are counted', () => refused(b, 'replayed') > before);
  expect(isUp(b, 'a')).toBe(true);
});

test('a node with another secret, or in another group with the same secret, is no neighbour', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b', 'c');
  const { a, b } = await pair(fleet);
  const c = fleet.node('c', { secret: OTHER_SECRET });
  await until('its beats are refused', () => refused(a, 'signature') > 1 && refused(b, 'signature') > 1);
  expect(c.peers()).toEqual([]);
  expect(a.peers().map(({ id }) => id)).toEqual(['b']);
  expect(fleet.events.find(({ name }) => name === 'multicast-refused')?.fields).toMatchObject({
    why: 'signature',
    advice: 'a node has another secret, or a machine on the network forges datagrams',
  });

  await using other = await MulticastFleet.withNames('d');
  await using outsider = await Outsider.join(fleet.group);
  await using listener = await Outsider.join(other.group);
  other.node('d');
  await until('the other group has a beat', () => listener.heard.length > 0);
  const before = refused(a, 'signature');
  outsider.send(listener.heard[0]);
  await until('it is refused here', () => refused(a, 'signature') > before);
  expect(a.peers().some(({ id }) => id === 'd')).toBe(false);
});

test('a node whose clock is wrong by more than 30 s is not taken, and the log says so', async () => {
  await using fleet = await MulticastFleet.withNames('a', 'b');
  const a = fleet.node('a');
  const b = fleet.node('b', { clock: { ...systemClock, now: () => Date.now() + 31_000 } });
  await until('both refuse', () => refused(a, 'clock') > 0 && refused(b, 'clock') > 0);
  expect([isUp(a, 'b'), isUp(b, 'a')]).toEqual([false, false]);
  expect(fleet.events.some(({ fields }) => fields.why === 'clock')).toBe(true);
});
