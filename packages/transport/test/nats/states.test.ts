import { until } from '@bloomery/testkit/eventually';
import type { NatsServerSettings } from '@bloomery/testkit/programs/nats-server';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';
import { expect, test, vi } from 'vitest';
import type { NatsTransport } from '../../src/nats/index.ts';
import { NatsFleet } from './nats-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const isUp = (transport: NatsTransport, id: string) =>
  transport.peers().some((peer) => peer.id === id && peer.state === 'up');

/** A recorder that also writes down the states that come. */
class StateRecorder extends Recorder {
  state(state: Uint8Array): void {
    this.told.push(`state ${Buffer.from(state)}`);
  }
}

async function bucket(fleet: NatsFleet) {
  const connection = await connect({ servers: fleet.server.url });
  const kv = await new Kvm(connection).open('bloomery_test');
  const has = async (key: string) => ((await kv.get(key))?.length ?? 0) > 0;
  return { kv, has, [Symbol.asyncDispose]: () => connection.close() };
}

/** Lets a node join that subscribes to the topic x of node a as soon as it hears of it. */
async function joiner(fleet: NatsFleet, name = 'joiner'): Promise<StateRecorder> {
  const on = new StateRecorder();
  const node = await fleet.node(name);
  let isSubscribed = false;
  node.watchPeers(({ address, id, state }) => {
    if (id !== 'a' || state !== 'up' || isSubscribed) return;
    isSubscribed = true;
    node.subscribe(address, 'x', on);
  });
  await until('it is open', () => on.count('open') === 1);
  return on;
}

async function fleetWithState(settings?: NatsServerSettings) {
  const fleet = await NatsFleet.start(settings);
  const a = await fleet.node('a');
  await until('a is connected', () => a.status().hasStates);
  a.publish('x', bytes('one'));
  a.leaveState('x', bytes('state at 1'));
  return { fleet, a };
}

test('a node that joins gets the states before its links open', async () => {
  const { fleet, a } = await fleetWithState();
  await using _fleet = fleet;
  await using states = await bucket(fleet);
  await until('the state is there', () => states.has('a.x'));
  a.publish('x', bytes('two'));
  const on = await joiner(fleet);
  expect(on.told).toEqual(['state state at 1', 'open']);
});

test('a state of an earlier life, of another key, or forged, is not used', async () => {
  const { fleet, a } = await fleetWithState();
  await using _fleet = fleet;
  await using states = await bucket(fleet);
  await until('the state is there', () => states.has('a.x'));
  const { value } = (await states.kv.get('a.x'))!;
  await a.close();
  await until('a node that leaves takes its state along', async () => !(await states.has('a.x')));
  const again = await fleet.node('a');
  await until('a is connected', () => again.status().hasStates);
  again.publish('x', bytes('one'));
  // A user of the server puts the state of the earlier life back, and others in other places.
  await states.kv.put('a.x', value);
  await states.kv.put('b.x', value);
  await states.kv.put('c.x', bytes('no envelope'));
  expect((await joiner(fleet)).told).toEqual(['open']);
  // The state of the right life is used again.
  again.leaveState('x', bytes('state of the second life'));
  await until('it is there', async () => Buffer.from((await states.kv.get('a.x'))!.value).includes('second'));
  expect((await joiner(fleet, 'later')).told).toEqual(['state state of the second life', 'open']);
});

test('after a restart of the server the states are still there', async () => {
  const { fleet, a } = await fleetWithState();
  await using _fleet = fleet;
  {
    await using states = await bucket(fleet);
    await until('the state is there', () => states.has('a.x'));
  }
  await fleet.server.kill();
  await fleet.server.start();
  await until('a is back', () => a.status().hasStates);
  expect((await joiner(fleet)).told).toEqual(['state state at 1', 'open']);
});

test('a state above max_payload is left out, and the operator is told what to set', async () => {
  const { fleet, a } = await fleetWithState({ config: 'max_payload: 64KB' });
  await using _fleet = fleet;
  a.leaveState('x', new Uint8Array(70_000));
  await until('the log says so', () => fleet.events.some(({ name }) => name === 'nats-state-too-large'));
  const told = fleet.events.find(({ name }) => name === 'nats-state-too-large');
  expect(told?.fields).toMatchObject({ bytes: 70_000, maxPayload: 65_536 });
  expect((await joiner(fleet)).told).toContain('open');
});

test('a server without JetStream works by requests alone, and the log says so', async () => {
  await using fleet = await NatsFleet.start({ jetStream: false });
  const a = await fleet.node('a');
  a.serve('x', () => bytes('by request'));
  await until('a has said so', () => fleet.events.some(({ name }) => name === 'nats-no-jetstream'));
  a.leaveState('x', bytes('nowhere'));
  const on = await joiner(fleet);
  expect(on.told).toEqual(['open']);
  expect(a.status()).toMatchObject({ isConnected: true, hasStates: false });
  const b = await fleet.node('b');
  await until('b is up', () => isUp(b, 'a'));
  expect(await b.request(fleet.address('a'), 'x', bytes('?'), { timeoutMs: 9000 })).toEqual(
    bytes('by request'),
  );
});

test('a node that connects again is up, although JetStream does not answer', async () => {
  await using fleet = await NatsFleet.start();
  const [a, b] = [await fleet.node('a'), await fleet.node('b')];
  await until('both are up', () => isUp(a, 'b') && isUp(b, 'a'));
  const create = vi.spyOn(Kvm.prototype, 'create').mockReturnValue(new Promise(() => {}));
  try {
    fleet.relay('a').cut();
    await until('a has lost the server', () => !isUp(a, 'b'));
    await until('both are up again', () => isUp(a, 'b') && isUp(b, 'a'), 20_000);
    expect([create.mock.calls.length, a.status().hasStates]).toEqual([1, false]);
  } finally {
    create.mockRestore();
  }
});
