/**
 * One measurement in a process of its own: `node rows.mjs '{"row": …}'` prints its numbers as JSON.
 * main.ts compiles and starts it, because tsx would rewrite the closures that are measured.
 */

import { Simulation } from '@bloomery/sim';
import { MeshFleet } from '../../packages/sim/test/meshes/mesh-fleet.ts';

export interface EngineRow {
  readonly row: 'engine';
  readonly nodes: number;
  readonly awaits: boolean;
  readonly events: number;
}

export interface MeshRow {
  readonly row: 'meshes';
  readonly meshes: number;
  readonly nodes: number;
  readonly minutes: number;
}

export interface MeshNumbers {
  readonly cpuSeconds: number;
  readonly setUpSeconds: number;
  readonly wallSeconds: number;
  readonly events: number;
  readonly received: number;
  readonly links: number;
  readonly currentLinks: number;
  readonly rssBytes: number;
  readonly hash: string;
}

const SEED = 1;
const WARM_UP_EVENTS = 200_000;
const MINUTE_MS = 60_000;
const KEYS_PER_NODE = 100;
const REPLACED = 2;

/** Seconds of processor time of this process, helper threads of the garbage collector included. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Events per second of processor time, of nodes that set one timer after the other. */
async function engineRow({ nodes, awaits, events }: EngineRow): Promise<number> {
  const simulation = new Simulation({ seed: SEED });
  for (let i = 0; i < nodes; i++) {
    const clock = simulation.clockOf(`${i}`);
    const next = () => void clock.after(1000 * clock.random(), step);
    const step = awaits
      ? async () => {
          await null;
          next();
        }
      : next;
    next();
  }
  await simulation.run({ events: WARM_UP_EVENTS });
  const start = cpuSeconds();
  await simulation.run({ events });
  return events / (cpuSeconds() - start);
}

async function meshRow({ meshes, nodes, minutes }: MeshRow): Promise<MeshNumbers> {
  const startWall = performance.now();
  const start = cpuSeconds();
  const fleet = new MeshFleet({ seed: SEED, meshes, nodes, keysPerNode: KEYS_PER_NODE, replaced: REPLACED });
  const { simulation } = fleet;
  // The links come up within the first second.
  await simulation.run({ untilMs: 1000 });
  const setUpSeconds = cpuSeconds() - start;
  await simulation.run({ untilMs: minutes * MINUTE_MS + 1000 });
  return {
    cpuSeconds: cpuSeconds() - start,
    setUpSeconds,
    wallSeconds: (performance.now() - startWall) / 1000,
    events: simulation.eventCount,
    received: fleet.received,
    links: fleet.links,
    currentLinks: fleet.currentLinks(),
    rssBytes: process.memoryUsage().rss,
    hash: simulation.hash,
  };
}

const asked = JSON.parse(process.argv[2]) as EngineRow | MeshRow;
console.log(JSON.stringify(asked.row === 'engine' ? await engineRow(asked) : await meshRow(asked)));
