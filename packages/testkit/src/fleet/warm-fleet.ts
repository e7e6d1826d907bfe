/**
 * Makes the processes of a fleet as fast as they will be, and leaves their caches empty. A process
 * that has just started compiles its code for its first hundred requests or so. On a machine with
 * two cores, 16 of them together miss the deadlines of neighbours (20 ms) for some seconds, doubt
 * each other, and fetch from the origin: a measurement would be one of the compiler.
 *
 * Each object goes through two nodes: the first fetches it, the second gets it from the first, and
 * answers it once more from its own store. Then both forget it. The nodes take turns in both
 * parts, so all code of hits, misses and neighbours runs in all of them.
 */

import { Agent } from 'node:http';
import { until } from '../eventually.ts';
import { knownPath } from '../origins/known-body.ts';
import { checkedGet } from './checked-get.ts';
import type { Fleet } from './fleet.ts';
import type { FleetNode } from './fleet-node.ts';

const OBJECT_BYTES = 2000;
/** The nodes that are asked at a time. */
const AT_ONCE = 2;
const FORGOTTEN_MS = 30_000;

/** Takes four requests per node and round. */
export async function warmFleet(fleet: Fleet, rounds: number): Promise<void> {
  const { nodes } = fleet;
  const agent = new Agent({ keepAlive: true });
  const jobs: (() => Promise<void>)[] = [];
  for (let round = 0; round < rounds; round++)
    for (const [at, first] of nodes.entries()) {
      const second = nodes[(at + 1 + (round % (nodes.length - 1))) % nodes.length]!;
      jobs.push(() => passThrough(knownPath(`warm/${round}/${at}`, OBJECT_BYTES), first, second, agent));
    }
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
  });
  await Promise.all(workers);
  agent.destroy();
  for (const node of nodes) {
    const isEmpty = async () => {
      const { cooperation } = await node.status();
      if (cooperation === null) return true;
      return cooperation.own.objects === 0 && cooperation.peers.every(({ objects }) => objects === 0);
    };
    await until(`${node.name} to know that all nodes are empty`, isEmpty, FORGOTTEN_MS);
  }
}

async function passThrough(path: string, first: FleetNode, second: FleetNode, agent: Agent): Promise<void> {
  for (const node of [first, second, second]) {
    const answer = await checkedGet(node.port, path, { agent });
    if (answer.status !== 200 || answer.wrong !== null)
      throw new Error(`Cannot warm ${node.name}: expected ${path}, got ${answer.wrong ?? answer.status}`);
  }
  for (const node of [first, second]) await node.purge(path);
}
