import { SimNetwork } from '@bloomery/sim';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { FleetKeyring } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { OwnSummaries } from './own-summaries.ts';
import { PeerHub } from './peer-hub.ts';

const older = new Uint8Array(16).fill(1);
const newer = new Uint8Array(16).fill(2);
const STEPS = [[older], [older, newer], [newer, older], [newer]];
const KEYS = ['http://x/1', 'http://x/2', 'http://x/3'];
const HOUR = 3_600_000;

function hashesOf(keyring: FleetKeyring, key: string) {
  return keyring.all.map(({ id: keyId, summary }) => ({ keyId, ...hashKey(key, { key: summary }) }));
}

/** Node `a` publishes its summaries, and node `b` follows them. */
async function start() {
  const clock = new VirtualClock();
  const network = new SimNetwork(clock.simulation);
  const events: string[] = [];
  const event = (_level: string, name: string) => void events.push(name);
  const [holder, asker] = [
    ['a', 'b'],
    ['b', 'a'],
  ].map(([id, other]) => {
    const transport = network.join({ id: id!, peers: [`sim:${other}`] });
    const keyring = new FleetKeyring([older]);
    const hub = new PeerHub({ transport, clock, keyring, budgetMs: 250, memoryBytes: 1e7, event });
    return { transport, keyring, hub };
  }) as [Node, Node];
  const own = new OwnSummaries({
    transport: holder.transport,
    clock,
    work: holder.hub.work,
    keyring: holder.keyring,
    neighbours: 1,
    bandwidth: 1e6,
    event,
  });
  const tellAll = () => {
    for (const key of KEYS)
      for (const hash of hashesOf(holder.keyring, key)) own.keep(hash, clock.now() + HOUR);
  };
  /** Whether the asker believes that the holder has each of the keys. */
  const finds = () =>
    [...KEYS, 'http://x/none'].map((key) => asker.hub.plan(hashesOf(asker.keyring, key)).asks.length > 0);
  tellAll();
  await clock.advance(1000);
  return { clock, holder, asker, own, tellAll, finds, events };
}

interface Node {
  readonly transport: ReturnType<SimNetwork['join']>;
  readonly keyring: FleetKeyring;
  readonly hub: PeerHub;
}

const FOUND = [true, true, true, false];

test('OwnSummaries lets neighbours see everything at each step of a change, whichever goes first', async () => {
  for (const first of ['holder', 'asker'] as const) {
    const lab = await start();
    const { clock, own, tellAll, finds } = lab;
    const second = first === 'holder' ? 'asker' : 'holder';
    for (const secrets of STEPS.slice(1))
      for (const name of [first, second] as const) {
        lab[name].keyring.change(secrets);
        // At once, and after the summary under a new secret has come.
        expect(finds(), `${first} ${name}`).toEqual(FOUND);
        if (name === 'holder') tellAll();
        await clock.advance(2000);
        expect(finds(), `${first} ${name}`).toEqual(FOUND);
      }
    expect(own.objects).toEqual([{ keyId: lab.holder.keyring.first.id, objects: 3 }]);
    expect(lab.events.filter((name) => name !== 'peer-up')).toEqual([]);
    own.close();
    for (const { hub } of [lab.holder, lab.asker]) hub.close();
  }
});

test('OwnSummaries counts each summary, and keeps the counts of one that is given up', async () => {
  const { clock, holder, own, tellAll } = await start();
  const [updates, bytes] = [own.updates, own.bytes];
  expect(updates).toBe(1);
  holder.keyring.change([older, newer]);
  tellAll();
  await clock.advance(1000);
  expect(own.updates).toBe(2);
  expect(own.objects.map(({ objects }) => objects)).toEqual([3, 3]);
  const [oldVersion, newVersion] = own.versions;
  expect(oldVersion!.keyId).toBe(holder.keyring.first.id);
  expect(newVersion!.sequence).toBe(1);
  holder.keyring.change([newer]);
  expect([own.updates, own.versions]).toEqual([2, [newVersion]]);
  expect(own.bytes).toBeGreaterThan(bytes);
});

test('OwnSummaries drops a part from each summary, and tells when nothing is left', async () => {
  const { clock, holder, own } = await start();
  holder.keyring.change([older, newer]);
  for (const key of KEYS)
    for (const hash of hashesOf(holder.keyring, key)) own.keep(hash, clock.now() + HOUR, 7);
  let done = 0;
  own.dropPart(7, () => done++);
  await clock.advance(1000);
  expect([done, own.objects.map(({ objects }) => objects)]).toEqual([1, [0, 0]]);
});

test('PeerHub reports which secrets a neighbour publishes under', async () => {
  const { clock, holder, asker, tellAll } = await start();
  const reported = () => asker.hub.peerReports()[0]!;
  expect(reported().keys).toMatchObject([{ objects: 3 }]);
  asker.keyring.change([newer, older]);
  expect(reported().keys).toMatchObject([{ objects: null }, { objects: 3 }]);
  expect([reported().objects, reported().masked]).toEqual([3, null]);
  holder.keyring.change([older, newer]);
  tellAll();
  await clock.advance(2000);
  expect(reported().keys).toMatchObject([{ objects: 3 }, { objects: 3 }]);
  const { keys, falsePositiveRate } = reported();
  expect(keys[0]!.id).toMatch(/^[0-9a-f]{8}$/);
  expect(falsePositiveRate).toBe(6 / 2 ** 20);
});

test('PeerHub reports which state of a summary it holds', async () => {
  const { clock, holder, asker, own } = await start();
  const held = () => asker.hub.peerReports()[0]!.generation;
  const published = () => `${own.versions[0]!.epoch}.${own.versions[0]!.sequence}`;
  const before = published();
  expect(held()).toBe(before);
  for (const hash of hashesOf(holder.keyring, 'http://x/4')) own.keep(hash, clock.now() + HOUR);
  await clock.advance(1000);
  expect(published()).not.toBe(before);
  expect(held()).toBe(published());
});
