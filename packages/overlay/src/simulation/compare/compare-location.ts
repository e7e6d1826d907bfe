/**
 * Filters against distributed hashing (the open question of the survey's sections 5.1 and 6.3): the
 * same network, the same changes and the same questions for four ways to find objects.
 *
 * A round is one publishing interval. In each round objects vanish and appear, nodes fail and
 * return, then questions are asked, and only then the news of the round goes out. So every way
 * answers with what it knew a moment ago. An object has copies at one node in a hundred, and at two
 * nodes at least.
 */

import { randomStream } from '@bloomery/sim';
import { Churn, type ChurnRates } from '../route-churn.ts';
import { RouteWorld } from '../route-world.ts';
import { AttenuatedRoutes } from './attenuated-routes.ts';
import { FilterDirectory } from './filter-directory.ts';
import { GroupLeaders } from './group-leaders.ts';
import { HashTable } from './hash-table.ts';
import type { LocationSystem, Outcome } from './location-system.ts';

export interface CompareOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly objectsPerNode: number;
  /** Share of all objects that is replaced in a round. Nodes and links change at a tenth of it. */
  readonly rate: number;
  readonly rounds: number;
  /** Questions in each round. */
  readonly questions: number;
}

export interface LocationFigures {
  readonly name: string;
  /** Bytes that a node sends in a round to keep the others informed, on average. */
  readonly updateBytes: number;
  /** Means over the questions. */
  readonly questionBytes: number;
  readonly messages: number;
  readonly hops: number;
  readonly latencyMs: number;
  readonly wrongTurns: number;
  /** Share of the questions about objects that exist which found none. */
  readonly missed: number;
  readonly stateBytes: number;
}

const DEGREE = 4;

/** Runs one cell of the comparison: all ways, at one size and one rate. */
export function compareLocation(options: CompareOptions): LocationFigures[] {
  const { seed, nodes, objectsPerNode, rate, rounds, questions } = options;
  const replicas = Math.max(2, Math.round(nodes / 100));
  const degree = Math.min(DEGREE, nodes - 1 - (nodes % 2));
  const measuredEvery = Math.max(1, Math.ceil(nodes / 50));
  const world = new RouteWorld({ seed, nodes, degree, objectsPerNode, replicas, measuredEvery });
  world.settle();
  const rates: ChurnRates = { objects: rate, nodes: rate / 10, links: rate / 10 };
  const churn = new Churn(world, rates);
  const table = new HashTable(world, randomStream(seed, 'hash table'));
  let tableBytes = 0;
  const systems: readonly LocationSystem[] = [
    new FilterDirectory(world, objectsPerNode),
    new GroupLeaders(world, objectsPerNode),
    table,
    new AttenuatedRoutes(world, table, () => tableBytes),
  ];
  const updates = systems.map(() => 0);
  const outcomes: Outcome[][] = systems.map(() => []);
  // The first rounds bring the network into the state of the rate.
  const warmUp = 3;
  for (let round = 0; round < warmUp + rounds; round++) {
    churn.change();
    if (round >= warmUp) ask(world, systems, questions, outcomes);
    for (const [i, system] of systems.entries()) {
      const isLast = i === systems.length - 1;
      // The arrays are sent by the world's own round, whose bytes the last way counts.
      if (isLast) world.round();
      const bytes = system.publish();
      if (system === table) tableBytes = bytes;
      if (round >= warmUp) updates[i] += bytes;
    }
  }
  return systems.map((system, i) => {
    const mean = (value: (outcome: Outcome) => number) =>
      outcomes[i].reduce((sum, outcome) => sum + value(outcome), 0) / outcomes[i].length;
    return {
      name: system.name,
      updateBytes: updates[i] / rounds / nodes,
      questionBytes: mean(({ bytes }) => bytes),
      messages: mean(({ messages }) => messages),
      hops: mean(({ hops }) => hops),
      latencyMs: mean(({ latencyMs }) => latencyMs),
      wrongTurns: mean(({ wrongTurns }) => wrongTurns),
      missed: mean(({ isFound }) => (isFound ? 0 : 1)),
      stateBytes: system.stateBytes(),
    };
  });
}

function ask(
  world: RouteWorld,
  systems: readonly LocationSystem[],
  questions: number,
  outcomes: readonly Outcome[][],
): void {
  for (let asked = 0; asked < questions; ) {
    const start = world.below(world.nodes.length);
    const object = world.objects[world.below(world.objects.length)];
    // Only questions from nodes that run, about objects that another one holds.
    if (!world.nodes[start].isUp || object.holders.size === 0 || object.holders.has(start)) continue;
    for (const [i, system] of systems.entries()) outcomes[i].push(system.find(start, object));
    asked++;
  }
}

/** The rate of questions per node and round at which two ways cost the same bytes, or null. */
export function crossingRate(a: LocationFigures, b: LocationFigures): number | null {
  const rate = (b.updateBytes - a.updateBytes) / (a.questionBytes - b.questionBytes);
  return rate > 0 && Number.isFinite(rate) ? rate : null;
}
