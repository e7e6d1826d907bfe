/**
 * Fleets of real nodes with mutual TLS: objects and summaries go between them, authority and
 * certificates change under traffic, and nodes that do not belong to the fleet are refused with a
 * reason that the operator reads. One of the nodes has workers. A clock that is wrong is no reason
 * with certificates, and one without.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { TestAuthority } from '@bloomery/testkit/programs/test-authority';
import type { CertificatePem } from '@bloomery/transport/http';
import { expect, test } from 'vitest';
import { scratchFolder, until } from '../node/scratch.ts';
import { offer, startFleet, startKnownOrigin, untilGiven } from './start-fleet.ts';

/** Writes the three files of a node, and returns the settings that name them. */
function writeCertificates(folder: string, index: number, { cert, key, ca }: CertificatePem) {
  const write = (kind: string, text: string) => {
    const path = join(folder, `${kind}-${index}.pem`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  return { peerCert: write('cert', cert), peerKey: write('key', key), peerCa: write('ca', ca) };
}

const CLOCKS = /clocks differ/;
const nameOf = (index: number) => `node-${index}`;

/** Lets a node fetch an object that another one holds, until it came from there. */
async function expectShared(asker: FleetNode, holder: FleetNode, what: string): Promise<void> {
  await untilGiven(`${what}: an object of ${holder.name} at ${asker.name}`, async (tried) => {
    const path = knownPath(`${what}/${asker.index}/${holder.index}/${tried}`, 20_000);
    await offer(holder, path);
    // Thousands of objects may be there after the traffic, and a summary counts two that share a
    // position once. An attempt that comes before the news is followed by another one.
    await until(`${asker.name} to know of nearly all objects of ${holder.name}`, async () => {
      const own = (await holder.status()).cooperation!.own.objects;
      const heard = (await asker.peer(holder.name))?.objects ?? 0;
      return Math.abs(own - heard) <= own / 100;
    });
    const { status, isWhole, wrong, headers } = await checkedGet(asker.port, path);
    expect([status, isWhole, wrong]).toEqual([200, true, null]);
    return String(headers['cache-status']).startsWith(`${holder.name}; hit`);
  });
}

/** Flags of Node under which the process of node-1 takes the time for an hour earlier. */
function slowClock(settingsFile: string): string[] {
  if (!settingsFile.endsWith('node-1.json')) return [];
  const code = `const Real = Date; const hour = 3_600_000;
    globalThis.Date = class extends Real {
      constructor(...given) { if (given.length === 0) super(Real.now() - hour); else super(...given); }
      static now() { return Real.now() - hour; }
    };`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

test('authority and certificates change under traffic, and no neighbour is lost from sight', async () => {
  const scratch = scratchFolder();
  const [older, newer] = ['older', 'newer'].map((name) => new TestAuthority(scratch, name)) as [
    TestAuthority,
    TestAuthority,
  ];
  const origin = await startKnownOrigin();
  const begin = [0, 1, 2].map((index) => older.issue(nameOf(index)));
  const end = [0, 1, 2].map((index) => newer.issue(nameOf(index)));
  const { nodes, folder } = await startFleet({
    nodes: 3,
    isTls: true,
    origin: origin.url,
    settings: (index, own) => ({
      ...writeCertificates(own, index, { ...begin[index]!, ca: older.pem }),
      memory: '1GB',
      // On a busy machine, owners and a primary process need longer than by default.
      peerBudget: '5s',
      ...(index === 1 ? { workers: 2 } : {}),
    }),
  });
  for (const node of nodes) {
    expect(node.name).toBe(nameOf(node.index));
    await expectShared(node, nodes[(node.index + 1) % 3]!, 'begin');
  }
  let isOver = false;
  let asked = 0;
  const wrong: string[] = [];
  const clients = nodes.map(async ({ port, index }) => {
    while (!isOver) {
      // The others follow the first node at a distance, so that they ask for what it holds.
      const path = knownPath(`traffic/${Math.max(0, asked - 50 * index)}`, 5000);
      const answer = await checkedGet(port, path);
      if (index === 0) asked++;
      if (answer.status !== 200 || answer.wrong !== null)
        wrong.push(`${path} at ${index}: ${answer.status}, ${answer.headers['proxy-status']}`);
    }
  });
  const hits = async (node: FleetNode) =>
    (await node.status()).cooperation!.peers.reduce((sum, peer) => sum + peer.trueHits, 0);
  const both = older.pem + newer.pem;
  const steps = [
    (index: number) => ({ ...begin[index]!, ca: both }),
    (index: number) => ({ ...end[index]!, ca: both }),
    (index: number) => ({ ...end[index]!, ca: newer.pem }),
  ];
  try {
    for (const [step, contents] of steps.entries())
      for (const node of nodes) {
        const { index } = node;
        writeCertificates(folder, index, contents(index));
        node.reload();
        const changes = () => node.log.filter(({ event }) => event === 'peer-certificates').length;
        await until(`${node.name} to take step ${step}`, () => changes() === step + 1);
        for (const asker of nodes.slice(1)) {
          const before = await hits(asker);
          await until(`${asker.name} to get objects`, async () => (await hits(asker)) >= before + 5);
        }
      }
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  expect(wrong).toEqual([]);
  for (const node of nodes) await expectShared(node, nodes[(node.index + 1) % 3]!, 'end');
  for (const node of nodes) {
    expect(node.log.filter(({ event }) => event === 'peer-down')).toEqual([]);
    expect(node.log.filter(({ level }) => level === 'error')).toEqual([]);
  }
});

test('a certificate without the name of the node changes nothing', async () => {
  const authority = new TestAuthority(scratchFolder(), 'authority');
  const origin = await startKnownOrigin();
  const { nodes, folder } = await startFleet({
    nodes: 2,
    isTls: true,
    origin: origin.url,
    settings: (index, own) => ({
      ...writeCertificates(own, index, { ...authority.issue(nameOf(index)), ca: authority.pem }),
      ...(index === 1 ? { workers: 2 } : {}),
    }),
  });
  for (const node of nodes) {
    writeCertificates(folder, node.index, { ...authority.issue('another'), ca: authority.pem });
    node.reload();
    await until('the refusal', () => node.log.some(({ event }) => event === 'not-reloaded'));
    expect(node.log.some(({ event }) => event === 'peer-certificates')).toBe(false);
  }
  await expectShared(nodes[0]!, nodes[1]!, 'after');
});

test('nodes with and without certificates refuse each other, and the operator reads why', async () => {
  const scratch = scratchFolder();
  const [authority, other] = ['authority', 'other'].map((name) => new TestAuthority(scratch, name)) as [
    TestAuthority,
    TestAuthority,
  ];
  const origin = await startKnownOrigin();
  // 0 belongs to the fleet, 1 has a certificate of another authority, 2 has none.
  const fleet = await startFleet({
    nodes: 3,
    isTls: true,
    isCurrent: false,
    origin: origin.url,
    settings: (index, own) => {
      if (index === 2) return {};
      const from = index === 0 ? authority : other;
      return writeCertificates(own, index, { ...from.issue(nameOf(index)), ca: authority.pem + other.pem });
    },
  });
  const [member, foreign, plain] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  writeCertificates(fleet.folder, 0, { ...authority.issue(nameOf(0)), ca: authority.pem });
  member.reload();
  const masks = async (node: FleetNode) =>
    Object.fromEntries(
      ((await node.status()).cooperation?.peers ?? []).map(({ address, masked }) => [
        fleet.nodes.find(({ peerPort }) => address.endsWith(`:${peerPort}`))!.name,
        masked,
      ]),
    );
  const expectMask = async (node: FleetNode, of: FleetNode, reason: RegExp) => {
    await until(`${node.name} to say why ${of.name} is not asked`, async () =>
      reason.test(String((await masks(node))[of.name])),
    );
  };
  await expectMask(member, foreign, /its certificate is from another authority/);
  await expectMask(foreign, member, /refused: it wants a certificate of its fleet/);
  await expectMask(member, plain, /no TLS there: has it a certificate\?/);
  await expectMask(plain, member, /its certificate is from another authority/);
  // Each of them answers its clients all the same.
  for (const { port } of fleet.nodes) {
    const answer = await checkedGet(port, knownPath('alone', 5000));
    expect([answer.status, answer.wrong]).toEqual([200, null]);
  }
});

test('a node whose clock is wrong is refused with the secret alone, says so, and asks the origin', async () => {
  const origin = await startKnownOrigin();
  const { nodes } = await startFleet({
    nodes: 2,
    isCurrent: false,
    origin: origin.url,
    nodeFlags: slowClock,
  });
  for (const node of nodes) {
    const warned = () =>
      node.log.filter(({ event, why }) => event === 'peer-unreached' && CLOCKS.test(`${why}`));
    await until(`${node.name} to warn of the clocks`, () => warned().length === 1, 150_000);
    const path = knownPath(`clock/${node.index}`, 5000);
    for (const asked of [1, 1]) {
      expect(await checkedGet(node.port, path)).toMatchObject({ status: 200, wrong: null });
      expect(origin.fetches(path)).toBe(asked);
    }
  }
}, 240_000);

test('a node whose clock is wrong takes part with certificates', async () => {
  const authority = new TestAuthority(scratchFolder(), 'authority');
  const origin = await startKnownOrigin();
  const { nodes } = await startFleet({
    nodes: 2,
    isTls: true,
    origin: origin.url,
    nodeFlags: slowClock,
    settings: (index, own) => ({
      ...writeCertificates(own, index, { ...authority.issue(nameOf(index)), ca: authority.pem }),
      peerBudget: '5s',
    }),
  });
  await expectShared(nodes[0]!, nodes[1]!, 'from.slow');
  await expectShared(nodes[1]!, nodes[0]!, 'to.slow');
});
