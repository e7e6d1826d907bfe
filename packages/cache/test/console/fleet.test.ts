/** The console of a fleet of real nodes: its links, a killed neighbour, and who has a URL. */

import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { FLEET_SECRET } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { FleetKeyring } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { positionOf } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { countsOf, share, startFleet, startKnownOrigin } from '../fleet/start-fleet.ts';
import { ask, until } from '../node/scratch.ts';
import { readEvents } from './read-events.ts';

const ADMIN = { 'Bloomery-Admin': '1' };

async function who(node: FleetNode, url: string, isAsking = false) {
  const query = new URLSearchParams({ url }).toString();
  const answer = isAsking
    ? await ask(node.port, `/.bloomery/who?${query}&ask`, { method: 'POST', headers: ADMIN })
    : await ask(node.port, `/.bloomery/who?${query}`);
  expect(answer.status, answer.body).toBe(200);
  return JSON.parse(answer.body);
}

test('the console of a fleet shows links, who has a URL, and a neighbour that was killed', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: 3, origin: origin.url, settings: () => ({ consoleUrls: false }) });
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  await share(second, first, 'shared');
  const reader = await readEvents(first.port);
  const { data: full } = await reader.wait('peers', ({ isFull }) => isFull);
  expect(full.peers.map(({ id }: { id: string }) => id).sort()).toEqual([second.name, third.name].sort());
  const shown = full.peers.find(({ id }: { id: string }) => id === second.name);
  expect(shown).toMatchObject({ kind: 'bloomery', state: 'up', masked: null, group: null, isLeader: false });
  expect(shown.universe).toBeGreaterThan(0);
  expect(shown.fullBytes).toBeGreaterThan(0);
  expect(shown.summaryAt).toBeGreaterThan(Date.now() - 600_000);
  expect(full.own).toMatchObject({
    id: first.name,
    universe: expect.any(Number),
    fullBytes: expect.any(Number),
  });
  const { data: counts } = await reader.wait('counts');
  expect(counts.trueHits).toBe((await countsOf(first)).trueHits);
  expect(counts.bytesFromNeighbours).toBeGreaterThan(0);

  // The answer that came from a neighbour names it.
  const { answers } = JSON.parse((await ask(first.port, '/.bloomery/answers')).body);
  const given = answers.find(({ outcome }: { outcome: string }) => outcome === 'neighbour');
  expect(given).toMatchObject({ neighbour: second.name, url: null });
  expect(given.bytesFromNeighbours).toBeGreaterThan(0);

  // Present: the holder says "maybe", and has it.
  const present = knownPath('present', 3000);
  await checkedGet(second.port, present);
  await until('the summary of the holder', async () => {
    const { peers } = await who(first, `${origin.url}${present}`);
    return peers.find(({ id }: { id: string }) => id === second.name).answer === 'maybe';
  });
  const before = await countsOf(first);
  const there = await who(first, present, true);
  expect(there).toMatchObject({
    v: 1,
    url: null,
    isPrivate: false,
    local: { isStored: false, isFresh: null },
  });
  expect(there.object).toMatch(/^[0-9a-f]{12}$/);
  const byName = (name: string) => there.peers.find(({ id }: { id: string }) => id === name);
  expect(byName(second.name)).toMatchObject({ answer: 'maybe', why: null, truth: 'has' });
  expect(byName(third.name)).toMatchObject({ answer: 'no', truth: null });
  expect(there.order).toEqual([byName(second.name).address]);
  expect(await countsOf(first)).toEqual(before);
  expect((await who(second, present)).local).toEqual({ isStored: true, isFresh: true });
  // The bits are those of the hash under the fleet's secret.
  const keyring = new FleetKeyring([new TextEncoder().encode(FLEET_SECRET)]);
  const { universe, positions } = byName(second.name);
  const positionIn = (url: string) => positionOf(hashKey(url, { key: keyring.first.summary }), universe);
  expect(positions).toHaveLength(1);
  expect(positions[0].position).toBe(positionIn(`${origin.url}${present}`));
  expect(positions[0].window.bits[positions[0].position - positions[0].window.from]).toBe('1');

  // One of the three coordinates fetches of it, and all say the same about that.
  const owners = await Promise.all(
    [first, second, third].map((node) => who(node, `${origin.url}${present}`)),
  );
  expect(owners.filter(({ isOwner }) => isOwner)).toHaveLength(1);
  const ports = owners.map(({ owner }) => new URL(owner.includes('://') ? owner : `http://${owner}`).port);
  expect(new Set(ports).size).toBe(1);

  // Absent: no neighbour says "maybe", and none is asked.
  const absent = await who(first, `${origin.url}/absent`, true);
  expect(absent.peers.map(({ answer, truth }: { answer: string; truth: null }) => [answer, truth])).toEqual([
    ['no', null],
    ['no', null],
  ]);
  expect(absent.order).toEqual([]);

  // False positive: another URL with the position of an object that the holder has.
  let collision = '';
  for (let i = 0; collision === '' && i < 20 * universe; i++)
    if (positionIn(`${origin.url}/false/${i}`) === positions[0].position) collision = `/false/${i}`;
  const wrong = await who(first, collision, true);
  expect(wrong.peers.find(({ id }: { id: string }) => id === second.name)).toMatchObject({
    answer: 'maybe',
    truth: 'has-not',
  });
  expect(await countsOf(first)).toEqual(before);

  // The whole fleet: three nodes, each with a link to both others.
  const picture = JSON.parse((await ask(first.port, '/.bloomery/fleet')).body);
  expect(picture.nodes).toHaveLength(3);
  expect(picture.nodes.every(({ state }: { state: string }) => state === 'up')).toBe(true);
  expect(picture.links.map(([holder, of]: number[]) => `${holder}${of}`).sort()).toEqual([
    '01',
    '02',
    '10',
    '12',
    '20',
    '21',
  ]);

  const told = reader.events.length;
  await third.kill();
  const isDown = (data: { peers: { id: string; state: string }[] }) =>
    data.peers.some(({ id, state }) => id === third.name && state === 'down');
  await reader.wait('peers', isDown, told);
}, 120_000);

test('who refuses what is no URL, and needs POST to ask', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: 1, origin: origin.url, isCurrent: false });
  const [node] = fleet.nodes as [FleetNode];
  const status = async (query: string, method = 'GET') =>
    (await ask(node.port, `/.bloomery/who${query}`, { method, headers: ADMIN })).status;
  expect(await status('')).toBe(400);
  expect(await status('?url=')).toBe(400);
  expect(await status('?url=ftp%3A%2F%2Fx%2F')).toBe(400);
  expect(await status('?url=http%3A%2F%2F')).toBe(400);
  expect(await status(`?url=${encodeURIComponent(`${origin.url}/a`)}&ask`)).toBe(400);
  expect(await status(`?url=${encodeURIComponent(`${origin.url}/a`)}`, 'POST')).toBe(400);
  expect(await status(`?url=${encodeURIComponent(`${origin.url}/a`)}`)).toBe(200);
  const secret = await ask(node.port, `/.bloomery/who?url=${encodeURIComponent(`${origin.url}/a?token=x`)}`);
  expect(JSON.parse(secret.body)).toMatchObject({ isPrivate: true, order: [] });
});
