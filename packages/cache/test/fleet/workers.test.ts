/**
 * A node with several workers in a fleet of real processes: its neighbours see one node with one
 * summary, also while one of its workers is killed and comes back.
 */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import type { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import { expect, test } from 'vitest';
import type { NodeStatus } from '../../src/node/admin/status.ts';
import { ownerOf } from '../../src/node/workers/team.ts';
import { isAlive } from '../node/cache-program.ts';
import { cleanUp, until } from '../node/scratch.ts';
import { countsOf, offer, startFleet, startKnownOrigin, untilGiven } from './start-fleet.ts';

/** Objects that are tried for one worker, since a busy machine may miss a deadline. */
const TRIES = 10;

interface Lab {
  readonly origin: ThrottledOrigin;
  readonly fleet: Fleet;
  /** The node with two workers. */
  readonly team: FleetNode;
  readonly single: FleetNode;
  /** A path whose key belongs to a worker of the team. */
  pathOf(worker: number, bytes: number): string;
}

interface LabOptions {
  /** The team has a disk. */
  readonly onDisk?: boolean;
  /** Time that the origin takes for a head. */
  readonly headDelayMs?: number;
  /** Settings of the node without workers. */
  readonly single?: Readonly<Record<string, unknown>>;
}

async function startLab({
  onDisk = false,
  headDelayMs = 0,
  single: settings = {},
}: LabOptions = {}): Promise<Lab> {
  const origin = await startKnownOrigin({ headDelayMs });
  const fleet = await startFleet({
    nodes: 2,
    origin: origin.url,
    settings: (index, folder) =>
      index === 0
        ? { workers: 2, memory: '1GB', ...(onDisk ? { disk: join(folder, 'disk') } : {}) }
        : settings,
  });
  const [team, single] = fleet.nodes as [FleetNode, FleetNode];
  let paths = 0;
  const pathOf = (worker: number, bytes: number) => {
    for (;;) {
      const path = knownPath(`object/${++paths}`, bytes);
      if (ownerOf(`${origin.url}${path}`, 2) === worker) return path;
    }
  };
  return { origin, fleet, team, single, pathOf };
}

async function statusOf(node: FleetNode): Promise<NodeStatus> {
  const answer = await fetch(`http://127.0.0.1:${node.port}/.bloomery/status`, {
    headers: { connection: 'close' },
  });
  return (await answer.json()) as NodeStatus;
}

/**
 * Kills the second worker, and waits until its primary knows: a connection that is handed to it
 * meanwhile would hang.
 */
async function killWorker(team: FleetNode): Promise<void> {
  process.kill((await statusOf(team)).workers[1]!.pid, 'SIGKILL');
  await until('its death to be seen', () => team.log.some(({ event }) => event === 'worker-died'));
}

async function untilRestarted(team: FleetNode): Promise<void> {
  const isBack = () => team.log.some(({ event }) => event === 'worker-restarted');
  await until('the restart of the worker', isBack, 30_000);
}

/** An object of a holder is served through another node, and the origin is not asked again. */
async function servedThrough(
  { origin }: Lab,
  node: FleetNode,
  holder: FleetNode,
  newPath: () => string,
): Promise<void> {
  for (let tried = 0; ; tried++) {
    expect(tried, `${node.name} never fetched from ${holder.name}`).toBeLessThan(TRIES);
    const path = newPath();
    await offer(holder, path);
    await node.untilHeard(holder);
    const { failures } = await countsOf(node);
    const answer = await checkedGet(node.port, path);
    expect(answer).toMatchObject({ status: 200, isWhole: true, wrong: null });
    if (origin.fetches(path) === 1) {
      expect(String(answer.headers['cache-status'])).toMatch(new RegExp(`^${holder.name}; hit`));
      return;
    }
    expect((await countsOf(node)).failures, 'the origin is asked only after a failure').toBe(failures + 1);
  }
}

test('a node with workers is one neighbour, and objects flow both ways', async () => {
  const lab = await startLab();
  const { team, single, pathOf } = lab;
  for (const worker of [0, 1]) {
    for (const bytes of [300, 30_000, 3_000_000]) {
      await servedThrough(lab, single, team, () => pathOf(worker, bytes));
      await servedThrough(lab, team, single, () => pathOf(worker, bytes));
    }
  }
  const peers = (await single.status()).cooperation?.peers;
  expect(peers).toMatchObject([{ id: team.name, state: 'up', masked: null, falseHits: 0 }]);
  // Whichever worker answers, the status is that of the node.
  const seen = await Promise.all(Array.from({ length: 6 }, () => statusOf(team)));
  for (const { cooperation, workers } of seen) {
    expect(workers).toHaveLength(2);
    expect(cooperation?.own.objects).toBe(peers?.[0]?.objects);
    expect(cooperation?.own.objectsServed).toBeGreaterThanOrEqual(6);
    expect(cooperation?.own.bytesServed).toBeGreaterThanOrEqual(2 * 3_030_300);
    expect(cooperation?.peers).toMatchObject([{ id: single.name, state: 'up', masked: null }]);
    expect(cooperation?.peers[0]?.trueHits).toBeGreaterThanOrEqual(6);
  }
  const metrics = await fetch(`http://127.0.0.1:${team.port}/.bloomery/metrics`);
  expect(await metrics.text()).toMatch(/^bloomery_cache_peer_up\{peer="node-1"\} 1$/m);
});

test('a worker that is killed brings its part of the summary back from its disk', async () => {
  const lab = await startLab({ onDisk: true });
  const { team, single, pathOf } = lab;
  const paths = [0, 1].map((worker) => Array.from({ length: 8 }, () => pathOf(worker, 20_000)));
  // At the second use they are written to the disk.
  for (const path of [...paths.flat(), ...paths.flat()]) await checkedGet(team.port, path);
  await until(
    'all objects to be on the disk',
    async () => (await statusOf(team)).stores.disk?.responses === 16,
    30_000,
  );
  await single.untilHeard(team, 16);
  const { workers: before } = await statusOf(team);
  await killWorker(team);
  await untilRestarted(team);
  await single.untilHeard(team, 16);
  const { workers: after } = await statusOf(team);
  expect(after[0]!.pid).toBe(before[0]!.pid);
  expect(after[1]!.pid).not.toBe(before[1]!.pid);
  for (const path of paths.flat())
    expect(await checkedGet(single.port, path)).toMatchObject({ status: 200, isWhole: true, wrong: null });
  await servedThrough(lab, single, team, () => pathOf(1, 20_000));
  await servedThrough(lab, team, single, () => pathOf(1, 20_000));
});

test('a worker that is killed takes its part of the summary along', async () => {
  const { team, single, pathOf } = await startLab();
  const paths = [0, 1].map((worker) => Array.from({ length: 8 }, () => pathOf(worker, 20_000)));
  for (const path of paths.flat()) await checkedGet(team.port, path);
  await single.untilHeard(team, 16);
  await killWorker(team);
  await single.untilHeard(team, 8);
  for (const path of paths.flat())
    expect(await checkedGet(single.port, path)).toMatchObject({ status: 200, isWhole: true, wrong: null });
  expect((await countsOf(single)).falseHits).toBe(0);
});

test('a body that a worker was sending when it was killed is right, or visibly broken', async () => {
  const lab = await startLab();
  const { team, single, pathOf } = lab;
  const path = pathOf(1, 40_000_000);
  await offer(team, path);
  await single.untilHeard(team);
  const { workers } = await statusOf(team);
  let killed = false;
  const answer = await checkedGet(single.port, path, {
    onBytes: () => {
      if (!killed) process.kill(workers[1]!.pid, 'SIGKILL');
      killed = true;
    },
  });
  expect(killed).toBe(true);
  expect(answer).toMatchObject({ status: 200, wrong: null, isDamaged: false });
  // It has a strong ETag, so the rest comes from the origin.
  expect(answer.isWhole).toBe(true);
  await untilRestarted(team);
  await servedThrough(lab, single, team, () => pathOf(1, 20_000));
});

test('a node that waits for a slow origin gives what it gets to the other, with or without workers', async () => {
  const { origin, fleet, pathOf } = await startLab({ headDelayMs: 600 });
  for (const [first, second] of [fleet.nodes, [...fleet.nodes].reverse()] as [FleetNode, FleetNode][]) {
    for (const worker of [0, 1]) {
      await untilGiven(`one fetch, by ${first.name}`, async () => {
        const path = pathOf(worker, 500_000);
        const one = checkedGet(first.port, path);
        await until('the origin to be asked', () => origin.fetches(path) === 1);
        const answers = await Promise.all([
          one,
          checkedGet(second.port, path),
          checkedGet(second.port, path),
        ]);
        for (const answer of answers)
          expect(answer).toMatchObject({ status: 200, isWhole: true, wrong: null });
        return origin.fetches(path) === 1;
      });
    }
  }
});

test('--peer-mode summary-cache publishes what came from a neighbour; otherwise it is a copy', async () => {
  const lab = await startLab({ single: { peerMode: 'summary-cache' } });
  const { team, single, pathOf } = lab;
  await servedThrough(lab, single, team, () => pathOf(1, 20_000));
  // Both have it, and both say so.
  const own = async (node: FleetNode) => (await node.status()).cooperation!.own.objects;
  await until('the copy to be published', async () => (await own(single)) === (await own(team)), 30_000);
  expect((await statusOf(single)).stores.memory).toMatchObject({ copies: 0 });
  const before = await own(team);
  await servedThrough(lab, team, single, () => pathOf(0, 20_000));
  expect((await statusOf(team)).stores.memory!.copies).toBeGreaterThan(0);
  expect(await own(team)).toBe(before);
});

test('a node with workers that stops leaves the fleet first, and ends with its workers', async () => {
  const { team, single, pathOf } = await startLab();
  await offer(team, pathOf(0, 20_000));
  const { workers } = await statusOf(team);
  expect(await team.stop()).toBe(0);
  expect(workers.map(({ pid }) => isAlive(pid))).toEqual([false, false]);
  await until('its neighbour to know', async () => (await single.peer(team.name))?.state === 'down');
  // The same ports, and the same name.
  await team.start();
  await until('its return', async () => (await single.peer(team.name))?.masked === null, 30_000);
});

test('a peer port that is in use keeps a node with workers from starting', async () => {
  const { team, single } = await startLab();
  await team.stop();
  const taken = createServer((socket) => socket.destroy()).listen(team.peerPort, '127.0.0.1');
  cleanUp(() => new Promise((resolve) => taken.close(resolve)));
  await once(taken, 'listening');
  await expect(team.start()).rejects.toThrow();
  expect([...team.log.map(({ problem }) => problem), ...team.said].join()).toMatch(
    /Cannot listen on 127\.0\.0\.1:\d+: another program listens there already/,
  );
  expect((await single.peer(team.name))?.state).toBe('down');
});
