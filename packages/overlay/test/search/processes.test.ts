/**
 * Real processes over a NATS server and over HTTP: every search equals a central index, a saved
 * file is found everywhere, a removed one nowhere, a peer that is killed costs its own results. Ten
 * processes over NATS, four over HTTP.
 */

import { EFFORT } from '@bloomery/testkit/effort';
import { eventually } from '@bloomery/testkit/eventually';
import { expect, test } from 'vitest';
import { parseQuery } from '../../src/search/index.ts';
import { CentralIndex } from './central-index.ts';
import { ShareFleet, type ShareProcess } from './share-process.ts';

const WITHIN_MS = 100_000;
const WORDS = 'apple birch cedar daisy elm fern grape hazel iris juniper kale lotus maple nettle oak'.split(
  ' ',
);

function filesOf(peer: number): Record<string, string> {
  let state = peer + 11;
  const draw = (below: number) => (state = (state * 16807) % 2147483647) % below;
  return Object.fromEntries(
    Array.from({ length: 3 + draw(12) }, (_, i) => {
      const text = Array.from({ length: 4 + draw(30) }, () => WORDS[draw(draw(WORDS.length) + 1)]).join(' ');
      return [`f${i}.${['txt', 'md'][draw(2)]}`, text];
    }),
  );
}

function centralOf(peers: readonly ShareProcess[]): CentralIndex {
  return new CentralIndex(
    peers.flatMap(({ id }, i) =>
      Object.entries(filesOf(i)).map(([path, text]) => ({ peer: id, path, type: path.split('.')[1], text })),
    ),
  );
}

test.each([
  ['nats', 10],
  ['http', 4],
] as const)('processes over %s search as one index does', { timeout: 4 * WITHIN_MS }, async (over, count) => {
  await using fleet = await ShareFleet.start(
    over,
    Array.from({ length: count }, (_, i) => filesOf(i)),
  );
  const { peers } = fleet;
  const central = centralOf(peers);
  const queries = [
    'apple',
    'apple oak',
    '+birch fern',
    '"apple apple"',
    'grape type:md',
    'name:f3 kale',
    'lotus maple nettle oak',
  ];
  const asked = EFFORT > 1 ? queries.flatMap((query) => Array(10).fill(query)) : queries;
  for (const [i, query] of asked.entries()) {
    const { results, failed } = await peers[i % count].find(query);
    expect(failed).toEqual([]);
    expect(
      results.map(({ score, peer, path }) => ({ score, peer, path })),
      query,
    ).toEqual(central.search(parseQuery(query), 10));
  }
  // Nothing is sent for words that no peer has.
  const none = await peers[0].find('+zebra +yacht');
  expect([none.results, none.cost.scoreBytes]).toEqual([[], 0]);

  // A saved file is found everywhere, and a removed one nowhere.
  peers[1].save('new.md', 'A page about the quetzal, <b>new</b> today.');
  for (const peer of peers)
    await eventually(async () => (await peer.find('quetzal')).results.length === 1, WITHIN_MS, 'found', 50);
  const [found] = (await peers[2].find('quetzal')).results;
  expect(found).toMatchObject({ peer: 'p1', path: 'new.md', group: 'team' });
  expect(found.snippet.text).toBe('A page about the quetzal, new today.');
  peers[1].remove('new.md');
  for (const peer of peers)
    await eventually(async () => (await peer.find('quetzal')).results.length === 0, WITHIN_MS, 'gone', 50);

  // A peer that is killed costs its own results, at once and later.
  const [victim, ...others] = [peers[count - 1], ...peers.slice(0, -1)];
  victim.child.kill('SIGKILL');
  const expected = central.search(parseQuery('apple oak'), 10, (peer) => peer !== victim.id);
  const pathsOf = (results: readonly { score: number; peer: string; path: string }[]) =>
    results.map(({ score, peer, path }) => ({ score, peer, path }));
  expect(pathsOf((await others[0].find('apple oak')).results)).toEqual(expected);
  const offline = await eventually(
    async () => {
      const { offline } = await others[0].find('apple oak');
      return offline.length > 0 && offline;
    },
    WITHIN_MS,
    'the victim is offline',
    50,
  );
  expect(offline).toMatchObject([{ peer: victim.id, group: 'team', mayHave: true }]);
  expect(pathsOf((await others[1].find('apple oak')).results)).toEqual(expected);
});
