import { SimNetwork } from '@bloomery/sim';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { FleetKeyring } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { SetPublisher } from 'bloomery/wire';
import { expect, test } from 'vitest';
import type { NeighbourLink } from './neighbour-link.ts';
import { PeerHub } from './peer-hub.ts';

const keyring = new FleetKeyring([new Uint8Array(32).fill(7)]);
const keys = keyring.first;
const keyedHash = (key: string) => ({ ...hashKey(key, { key: keys.summary }), keyId: keys.id });
const hashesOf = (key: string) => [keyedHash(key)];

/** Hubs of nodes that all know each other, on a network in memory. */
async function fleetOf(size: number) {
  const clock = new VirtualClock();
  const network = new SimNetwork(clock.simulation);
  const ids = Array.from({ length: size }, (_, i) => `n${i}`);
  const nodes = ids.map((id) => {
    const peers = ids.filter((other) => other !== id).map((other) => `sim:${other}`);
    const transport = network.join({ id, peers });
    const events: string[] = [];
    const hub = new PeerHub({
      transport,
      clock,
      keyring,
      budgetMs: 250,
      memoryBytes: 1e6,
      event: (_level, name) => events.push(name),
    });
    return { id, hub, transport, events };
  });
  await clock.advance(1000);
  /** The answer to a question, after as much time as it takes. */
  const settle = async <T>(promise: Promise<T>): Promise<T> => {
    let result: { value: T } | undefined;
    void promise.then((value) => {
      result = { value };
    });
    for (let i = 0; i < 300 && result === undefined; i++) await clock.advance(1);
    return result!.value;
  };
  return { clock, network, nodes, settle };
}

test('the first node is told to fetch, and the others are sent to nodes that receive it', async () => {
  const { nodes, settle } = await fleetOf(5);
  const hash = keyedHash('http://a/');
  const answers = [];
  for (const { hub } of nodes) answers.push((await settle(hub.askOwner([hash], null))).answer);
  expect(answers[0]).toBe('fetch');
  expect(answers.slice(1).map((answer) => (answer as { id: string }).id)).toEqual(['n0', 'n0', 'n1', 'n1']);
  for (const { hub } of nodes) hub.close();
});

test('a node that gave up is not named to others', async () => {
  const { nodes, clock, settle } = await fleetOf(4);
  for (const [at, why] of (['left', 'unshareable'] as const).entries()) {
    const hash = keyedHash(`http://a/${at}`);
    const { owner } = await settle(nodes[0].hub.askOwner([hash], null));
    nodes[0].hub.gaveUp(owner, hash, why);
    await clock.advance(100);
    const answers = [];
    for (const { hub } of nodes.slice(1)) answers.push((await settle(hub.askOwner([hash], null))).answer);
    // After an object that may not be shared, each node fetches for itself.
    const expected = why === 'left' ? ['fetch', 'n1', 'n1'] : ['fetch', 'fetch', 'fetch'];
    expect(answers.map((answer) => (typeof answer === 'string' ? answer : answer?.id))).toEqual(expected);
  }
  for (const { hub } of nodes) hub.close();
});

test('questions to owners are counted if they leave the node', async () => {
  const { nodes, clock, settle } = await fleetOf(3);
  const [asker] = nodes;
  let expected = 0;
  for (let i = 0; i < 20; i++) {
    const hash = keyedHash(`http://a/${i}`);
    const { owner } = await settle(asker.hub.askOwner([hash], null));
    asker.hub.done(owner, hash);
    await clock.advance(100);
    if (owner !== asker.id) expected += 2;
  }
  expect(expected).toBeGreaterThan(0);
  expect(expected).toBeLessThan(40);
  expect(asker.hub.ownerQuestions).toBe(expected);
  for (const { hub } of nodes) hub.close();
});

test('nodes agree on one other owner while the first one is silent', async () => {
  const { nodes, network, settle } = await fleetOf(6);
  for (let i = 0; i < 20; i++) {
    const hash = keyedHash(`http://a/${i}`);
    const { owner } = await settle(nodes[0].hub.askOwner([hash], null));
    const others = nodes.filter(({ id }) => id !== owner);
    for (const { id } of others) network.partition(`sim:${owner}`, `sim:${id}`);
    const fresh = keyedHash(`http://b/${i}`);
    const asked = [];
    for (const { hub } of others) asked.push(await settle(hub.askOwner([fresh], null)));
    // One node fetches, whether the silent node was the owner of this key or not.
    expect(asked.filter(({ answer }) => answer === 'fetch')).toHaveLength(1);
    expect(asked.filter(({ answer }) => answer === null)).toEqual([]);
    for (const { id } of others) network.heal(`sim:${owner}`, `sim:${id}`);
  }
  for (const { hub } of nodes) hub.close();
});

test('a question that cannot be read is answered by fetch', async () => {
  const { nodes, settle } = await fleetOf(2);
  const answer = await settle(
    nodes[0].transport.request('sim:n1', 'owner', Uint8Array.of(9, 9), { timeoutMs: 100 }),
  );
  expect([...answer]).toEqual([1, 1]);
  for (const { hub } of nodes) hub.close();
});

test('neighbours that come and go are told, and a lost one is no owner', async () => {
  const { nodes, clock, settle } = await fleetOf(3);
  const [a, b, c] = nodes;
  await b.transport.close();
  await clock.advance(100);
  expect(a.hub.peerReports().map(({ id, state }) => [id, state])).toEqual([
    ['n1', 'down'],
    ['n2', 'up'],
  ]);
  expect(a.events).toContain('peer-down');
  for (let i = 0; i < 20; i++)
    expect((await settle(a.hub.askOwner(hashesOf(`http://c/${i}`), null))).owner).not.toBe('n1');
  a.hub.close();
  c.hub.close();
});

test('a neighbour that is gone is no candidate and no owner, and its memory is free', async () => {
  const { nodes, clock, settle } = await fleetOf(3);
  const [{ hub, transport, events }, other] = nodes;
  const publisher = new SetPublisher({ incarnation: 1, publisherId: keys.id, universe: 1024 });
  publisher.addHash(keyedHash('http://a/held'));
  publisher.publish();
  other.transport.serve('summary', (request) => publisher.answer(request) ?? new Uint8Array());
  const publish = () => other.transport.publish('summary', publisher.full());
  publish();
  await clock.advance(1000);
  const found = () => hub.plan(hashesOf('http://a/held')).candidates;
  expect(found()).toEqual(['sim:n1']);
  const held = hub.summaryMemoryBytes;
  expect(held).toBeGreaterThan(0);
  transport.changePeers(['sim:n2']);
  expect(events.at(-1)).toBe('peer-gone');
  expect(found()).toEqual([]);
  expect(hub.summaryMemoryBytes).toBe(0);
  expect(hub.peerReports().map(({ address }) => address)).toEqual(['sim:n2']);
  for (let i = 0; i < 20; i++)
    expect((await settle(hub.askOwner(hashesOf(`http://d/${i}`), null))).owner).not.toBe('n1');
  // It joins again: its link is new.
  transport.changePeers(['sim:n1', 'sim:n2']);
  await clock.advance(1000);
  expect(found()).toEqual(['sim:n1']);
  expect(hub.summaryMemoryBytes).toBe(held);
  const owners = [];
  for (let i = 0; i < 40; i++)
    owners.push((await settle(hub.askOwner(hashesOf(`http://e/${i}`), null))).owner);
  expect(new Set(owners)).toEqual(new Set(['n0', 'n1', 'n2']));
  for (const { hub: each } of nodes) each.close();
});

test('a neighbour that lied and left is doubted when it joins again, at the same address', async () => {
  const { nodes, clock } = await fleetOf(2);
  const [{ hub, transport }] = nodes;
  const link = () => hub.find('n1') as NeighbourLink;
  const lie = () => {
    const neighbour = link();
    hub.report({ kind: 'asked', neighbour, ask: 'stored' });
    const report = {
      neighbour,
      ask: 'stored',
      ms: 1,
      summary: null,
      keyId: keys.id,
      isFalseMiss: false,
    } as const;
    hub.report({ ...report, kind: 'answered', end: 'refused' });
  };
  const rejoin = async () => {
    transport.changePeers([]);
    transport.changePeers(['sim:n1']);
    await clock.advance(1000);
  };
  for (let i = 0; i < 10; i++) lie();
  await rejoin();
  for (let i = 0; i < 9; i++) lie();
  await rejoin();
  expect(link().score.isDoubted).toBe(false);
  lie();
  expect(hub.peerReports()[0]!.falseHits).toBe(1);
  await rejoin();
  expect(link().score.isDoubted).toBe(true);
  for (const { hub: each } of nodes) each.close();
});

test('a miss is counted once, and becomes a false miss when the neighbour had the object', async () => {
  const { nodes, clock } = await fleetOf(2);
  const [{ hub }, other] = nodes;
  const publisher = new SetPublisher({ incarnation: 1, publisherId: keys.id, universe: 1024 });
  publisher.addHash(keyedHash('http://a/held'));
  publisher.publish();
  other.transport.serve('summary', (request) => publisher.answer(request) ?? new Uint8Array());
  other.transport.publish('summary', publisher.full());
  await clock.advance(1000);
  const counts = () => {
    const { trueHits, falseHits, trueMisses, falseMisses } = hub.peerReports()[0];
    return { trueHits, falseHits, trueMisses, falseMisses };
  };
  const [neighbour] = hub.plan(hashesOf('http://a/held')).asks.map((ask) => ask.neighbour);
  expect(counts().trueMisses).toBe(0);
  const { candidates } = hub.plan(hashesOf('http://a/absent'));
  expect([candidates, counts().trueMisses]).toEqual([[], 1]);
  hub.plan(hashesOf('http://a/absent'), true);
  expect(counts().trueMisses).toBe(1);
  const answered = {
    kind: 'answered',
    neighbour,
    ask: 'coming',
    end: 'hit',
    ms: 1,
    summary: null,
    keyId: keys.id,
  } as const;
  for (const isFalseMiss of [false, true]) {
    hub.report({ kind: 'asked', neighbour, ask: 'coming' });
    hub.report({ ...answered, isFalseMiss });
    hub.report({ kind: 'body', neighbour, ask: 'coming', end: 'whole', bytes: 1 });
  }
  hub.report({ kind: 'asked', neighbour, ask: 'stored' });
  hub.report({ ...answered, ask: 'stored', end: 'unusable', isFalseMiss: false });
  expect(counts()).toEqual({ trueHits: 0, falseHits: 0, trueMisses: 0, falseMisses: 1 });
  for (const { hub: each } of nodes) each.close();
});

test('a neighbour that forged an object is not named to a fetch, and the report says why', async () => {
  const { clock, nodes } = await fleetOf(2);
  const { hub, events } = nodes[0]!;
  const neighbour = hub.find('n1')!;
  hub.report({ kind: 'forged', neighbour });
  expect([hub.find('n1'), hub.live]).toEqual([null, []]);
  expect(events).toContain('peer-distrusted');
  const [report] = hub.peerReports();
  expect(report).toMatchObject({ state: 'up', forged: 1 });
  // Its summary has not come, which is the first reason; the other one stands for itself.
  expect(report!.masked).toBe('it sent an object with a wrong digest; it is asked again in 60 s');
  await clock.advance(60_000);
  expect(hub.find('n1')).not.toBeNull();
  for (const node of nodes) node.hub.close();
});
