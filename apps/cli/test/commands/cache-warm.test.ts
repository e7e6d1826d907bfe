/** `cache warm` against two running nodes of the built command. */

import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { Fleet } from '@bloomery/testkit/fleet/fleet';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import { expect, test } from 'vitest';
import { bloomery, COMMAND } from '../run-command.ts';

test('cache warm fills a node from its neighbour, and says what it did', { timeout: 120_000 }, async () => {
  await using origin = await ThrottledOrigin.start();
  await using fleet = await Fleet.start({
    nodes: 2,
    program: (file) => [COMMAND, 'cache', '--quiet', '--config', file],
    settings: () => ({ upstream: [`/=${origin.url}/`] }),
  });
  await fleet.untilCurrent(60_000);
  const [full, fresh] = fleet.nodes;
  for (let i = 0; i < 10; i++) await checkedGet(full!.port, knownPath(`cli/${i}`, 500));
  const warm = (...args: string[]) =>
    bloomery(['cache', 'warm', '--node', `http://127.0.0.1:${fresh!.port}`, ...args]);
  expect(warm('--from', full!.name, '--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      / offers 10 objects; 10 of them are missing here, 5\.00 kB .*\nwould fetch 10 objects, 5\.00 kB\n$/,
    ),
  });
  const url = `http://127.0.0.1:${full!.peerPort}`;
  expect(warm('--from', url).stdout).toMatch(/\nfetched 10 objects, 5\.00 kB\n$/);
  expect(JSON.parse(warm('--from', url, '--json').stdout)).toMatchObject({ state: 'done', lacking: 0 });
  const unknown = warm('--from', 'cache-z');
  expect([unknown.code, unknown.stdout]).toEqual([2, '']);
  expect(unknown.stderr).toMatch(/expected a neighbour of this node \(.*\), got cache-z/);
  const nowhere = bloomery(['cache', 'warm', '--from', url, '--node', 'http://127.0.0.1:1']);
  expect(nowhere.stderr).toMatch(/no node answers at http:\/\/127\.0\.0\.1:1 \(/);
});
