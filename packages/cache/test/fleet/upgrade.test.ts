/**
 * A rolling upgrade: nodes of this build and of a later version in one fleet, in processes of their
 * own. They cooperate in everything that both know.
 */

import { join } from 'node:path';
import { type CheckedAnswer, checkedGet } from '@bloomery/testkit/fleet/checked-get';
import { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { expect, test } from 'vitest';
import { bundleProgram } from '../node/cache-program.ts';
import { cleanUp, scratchFolder } from '../node/scratch.ts';
import { bundleLaterProgram } from './later-version.ts';
import { offer, startKnownOrigin, untilGiven } from './start-fleet.ts';

test('nodes of two versions cooperate in everything that both know', async () => {
  const origin = await startKnownOrigin();
  const folder = scratchFolder();
  const now = bundleProgram(join(folder, 'now'));
  const later = await bundleLaterProgram(join(folder, 'later'));
  const fleet = await Fleet.start({
    nodes: 3,
    // The second node is upgraded.
    program: (file) => [file.endsWith('node-1.json') ? later : now, JSON.stringify({ file })],
    settings: () => ({ upstream: [`/=${origin.url}/`], peerBudget: '5s' }),
  });
  cleanUp(() => fleet[Symbol.asyncDispose]());
  await fleet.untilCurrent(60_000);
  const { nodes } = fleet;
  const answers: CheckedAnswer[] = [];
  const get = async (node: FleetNode, path: string) => {
    const answer = await checkedGet(node.port, path);
    expect(answer).toMatchObject({ status: 200, isWhole: true, wrong: null });
    answers.push(answer);
    return answer;
  };
  // Stored objects, by summaries, in all directions.
  for (const holder of nodes)
    for (const asker of nodes) {
      if (asker === holder) continue;
      await untilGiven(`an object of ${holder.name} through ${asker.name}`, async (tried) => {
        const path = knownPath(`${holder.index}/${asker.index}/${tried}`, 30_000);
        await offer(holder, path);
        await asker.untilHeard(holder);
        const { headers } = await get(asker, path);
        return String(headers['cache-status']).startsWith(`${holder.name}; hit`);
      });
    }
  // New objects, by owners: a question that an owner cannot read costs a fetch, and nothing else.
  for (let i = 0; i < 8; i++) {
    const path = knownPath(`herd/${i}`, 30_000);
    await Promise.all(nodes.map((node) => get(node, path)));
    expect(origin.fetches(path)).toBeGreaterThanOrEqual(1);
    expect(origin.fetches(path)).toBeLessThanOrEqual(nodes.length);
  }
  // No client sees the fields between nodes.
  const names = answers.flatMap(({ headers }) => Object.keys(headers));
  expect(names.filter((name) => name.startsWith('bloomery-'))).toEqual([]);
  for (const node of nodes) {
    const told = node.log.filter(({ event }) => event === 'summary-of-later-version');
    // Each of the others is told once of the other kind of summary, however many came.
    expect(told, node.name).toHaveLength(node.index === 1 ? 0 : 1);
    const others = node.log.filter(
      ({ level, event }) => level !== 'info' && event !== 'summary-of-later-version',
    );
    expect(others, node.name).toEqual([]);
  }
});
