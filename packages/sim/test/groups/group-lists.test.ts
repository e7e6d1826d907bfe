/** Groups of one fleet: each node sees its own group, and hears who is in the others. */

import type { Peer } from '@bloomery/transport';
import { GroupDirectory, GroupLists, GroupTransport, LeaderBeats } from '@bloomery/transport/membership';
import { expect, test } from 'vitest';
import { SimNetwork, type SimTransport, Simulation } from '../../src/index.ts';

const NODES = ['a0', 'a1', 'a2', 'b0', 'b1', 'b2'];
const PATIENCE_MS = 20_000;

class Node {
  readonly transport: SimTransport;
  readonly view: GroupTransport;
  readonly beats: LeaderBeats;
  readonly directory: GroupDirectory;
  readonly #lists: GroupLists;

  constructor(network: SimNetwork, id: string, group = id.slice(0, 1)) {
    const peers = NODES.filter((other) => other !== id).map((other) => `sim:${other}`);
    this.transport = network.join({ id, peers, group });
    const { clock } = this.transport;
    this.view = new GroupTransport(this.transport, group);
    this.beats = new LeaderBeats({ transport: this.view, clock, patienceMs: PATIENCE_MS });
    this.directory = new GroupDirectory({ own: group });
    this.#lists = new GroupLists({
      group,
      fleet: this.transport,
      beats: this.beats,
      directory: this.directory,
      clock,
    });
  }

  crash(network: SimNetwork): void {
    this.#lists.close();
    this.beats.close();
    network.crash(this.transport.address);
  }
}

function startFleet(): { simulation: Simulation; network: SimNetwork; nodes: Map<string, Node> } {
  const simulation = new Simulation({ seed: 3 });
  const network = new SimNetwork(simulation);
  const nodes = new Map(NODES.map((id) => [id, new Node(network, id)]));
  return { simulation, network, nodes };
}

test('nodes of a group see each other alone, and all nodes hear the lists of all groups', async () => {
  const { simulation, nodes } = startFleet();
  await simulation.run({ untilMs: 120_000 });
  for (const [id, { view, directory }] of nodes) {
    const group = id.slice(0, 1);
    const others = view.peers().map((peer) => peer.id);
    expect(others, id).toEqual(NODES.filter((other) => other.startsWith(group) && other !== id));
    const far = group === 'a' ? 'b' : 'a';
    expect(directory.list(far)?.members, id).toEqual([`${far}0`, `${far}1`, `${far}2`]);
  }
  const leaders = new Set([...nodes.values()].map(({ beats }) => beats.claim?.leader));
  expect(leaders.size).toBe(2);
});

test('a leader that dies is replaced in a later epoch, and its group keeps its name', async () => {
  const { simulation, network, nodes } = startFleet();
  await simulation.run({ untilMs: 120_000 });
  const { directory } = nodes.get('b1')!;
  const before = directory.list('a')!;
  const dead = before.claim.leader;
  nodes.get(dead)!.crash(network);
  await simulation.run({ untilMs: 240_000 });
  const after = directory.list('a')!;
  expect(after.claim.epoch).toBeGreaterThan(before.claim.epoch);
  expect(after.claim.leader).not.toBe(dead);
  expect(after.members).toEqual(['a0', 'a1', 'a2'].filter((id) => id !== dead));
  // The list of the leader that is gone is refused, whatever its version.
  expect(directory.hear({ ...before, version: after.version + 1000 }, 0)).toBe(false);
});

test('a list counts only from the leader that it names, and for its own group', async () => {
  const { simulation, nodes } = startFleet();
  await simulation.run({ untilMs: 120_000 });
  const liar = nodes.get('b0')!;
  const { directory } = nodes.get('a0')!;
  const list = directory.list('b')!;
  const claim = { ...list.claim, epoch: list.claim.epoch + 5 };
  const forged = [
    { ...list, claim: { ...claim, leader: 'b2' }, members: ['b0'] },
    { group: 'a', claim: { ...claim, leader: 'b0' }, version: 2 ** 50, members: ['b0'] },
    { group: 'c', claim: { ...claim, leader: 'b0' }, version: 1, members: ['b0'] },
    { ...list, claim: { ...claim, leader: 'b0', epoch: 2 ** 50 }, members: ['b0'] },
    { ...list, claim: { ...claim, leader: 'b0' }, members: ['x'.repeat(256)] },
    { ...list, claim: { ...claim, leader: 'b0' }, members: Array.from({ length: 60_000 }, () => 'b') },
  ];
  for (const each of forged)
    liar.transport.publish('group-list', new TextEncoder().encode(JSON.stringify(each)));
  for (const text of ['', '{', 'null', '[]', '7'])
    liar.transport.publish('group-list', new TextEncoder().encode(text));
  await simulation.run({ untilMs: 121_000 });
  expect(directory.list('b')).toEqual(list);
  expect(directory.list('c')).toBe(null);
});

test('a list of as many members as a fleet may have, with the longest names, is heard', async () => {
  const { simulation, nodes } = startFleet();
  await simulation.run({ untilMs: 120_000 });
  const { directory } = nodes.get('a0')!;
  const list = directory.list('b')!;
  const members = Array.from({ length: 1024 }, (_, i) => `${i}`.padEnd(128, 'x'));
  const bytes = new TextEncoder().encode(JSON.stringify({ ...list, version: list.version + 1, members }));
  nodes.get(list.claim.leader)!.transport.publish('group-list', bytes);
  await simulation.run({ untilMs: 120_500 });
  expect(directory.list('b')!.members).toEqual(members);
});

test('a node that starts again in another group is gone from its former one', async () => {
  const { simulation, network, nodes } = startFleet();
  const changes: Pick<Peer, 'id' | 'state'>[] = [];
  nodes.get('a0')!.view.watchPeers(({ id, state }) => changes.push({ id, state }));
  await simulation.run({ untilMs: 60_000 });
  nodes.get('a2')!.crash(network);
  await simulation.run({ untilMs: 61_000 });
  new Node(network, 'a2', 'b');
  await simulation.run({ untilMs: 181_000 });
  expect(changes.at(-1)).toEqual({ id: 'a2', state: 'gone' });
  expect(
    nodes
      .get('a0')!
      .view.peers()
      .map(({ id }) => id),
  ).toEqual(['a1']);
  expect(
    nodes
      .get('b0')!
      .view.peers()
      .map(({ id }) => id),
  ).toContain('a2');
  expect(nodes.get('a0')!.directory.list('b')?.members).toEqual(['a2', 'b0', 'b1', 'b2']);
});
