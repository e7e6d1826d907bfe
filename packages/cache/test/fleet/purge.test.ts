/** A purge of the fleet, with real nodes: one of them has workers, and one is down at first. */

import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { expect, test } from 'vitest';
import { cleanUp, until } from '../node/scratch.ts';
import { startFleet } from './start-fleet.ts';

async function text(node: FleetNode, path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${node.port}${path}`)).text();
}

async function purge(node: FleetNode, path: string) {
  const place = `http://127.0.0.1:${node.port}/.bloomery/purge?fleet=yes&url=${encodeURIComponent(path)}`;
  const answer = await fetch(place, { method: 'POST', headers: { 'Bloomery-Admin': '1' } });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { purged: number; confirmed: string[]; waiting: string[] };
}

test('a purge is confirmed by all nodes, and reaches one that was down when it is back', async () => {
  const origin = await startOrigin();
  cleanUp(() => origin.close());
  let version = 1;
  origin.on('/page', () => ({ headers: ['Cache-Control', 'max-age=600'], body: `version ${version}` }));
  const fleet = await startFleet({
    nodes: 3,
    origin: origin.origin,
    settings: (index, folder) => ({
      disk: `${folder}/disk-${index}`,
      ...(index === 1 ? { workers: 2 } : {}),
    }),
  });
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  // The second use of a response writes it to the disk.
  for (const node of fleet.nodes)
    for (let use = 0; use < 3; use++) expect(await text(node, '/page')).toBe('version 1');
  version = 2;
  const all = await purge(first, '/page');
  expect(all).toMatchObject({ purged: 1, waiting: [] });
  expect(all.confirmed.toSorted()).toEqual([second.name, third.name].toSorted());
  for (const node of fleet.nodes) expect(await text(node, '/page')).toBe('version 2');
  for (let use = 0; use < 3; use++) await text(third, '/page');
  await third.stop();
  version = 3;
  const some = await purge(second, '/page');
  expect([some.confirmed, some.waiting]).toEqual([[first.name], [third.name]]);
  await third.start();
  await until(`${third.name} to hear of the purge`, async () => (await text(third, '/page')) === 'version 3');
  for (const node of fleet.nodes) expect(await text(node, '/page')).toBe('version 3');
});
