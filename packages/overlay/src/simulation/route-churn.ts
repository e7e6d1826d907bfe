/**
 * A network in which objects appear and vanish, nodes fail and return, and links move, round after
 * round, and what the filters still find. A round is one publishing interval.
 */

import { measureRoutes, type RouteFigures } from './measure-routes.ts';
import { RouteWorld, type RouteWorldOptions } from './route-world.ts';

/** Shares of all objects, nodes and links that change in a round. */
export interface ChurnRates {
  readonly objects: number;
  readonly nodes: number;
  readonly links: number;
}

export interface ChurnFigures extends RouteFigures {
  /** Bytes that a node sends to one neighbour in a round. */
  readonly updateBytes: number;
}

/** Rounds that a node is down. */
const DOWN_ROUNDS = 5;

/** Changes a network round by round. Parts of a change are owed to the next round. */
export class Churn {
  readonly #world: RouteWorld;
  readonly #rates: ChurnRates;
  readonly #owed = { objects: 0, nodes: 0, links: 0 };
  readonly #returns: number[][] = [];

  constructor(world: RouteWorld, rates: ChurnRates) {
    this.#world = world;
    this.#rates = rates;
  }

  /** The changes of one round. */
  change(): void {
    const world = this.#world;
    const objects = this.#take('objects', world.objects.length);
    for (let i = 0; i < objects; i++) world.removeObject();
    for (let i = 0; i < objects; i++) world.addObject();
    const failing: number[] = [];
    for (let i = this.#take('nodes', world.nodes.length); i > 0; i--) {
      const number = world.below(world.nodes.length);
      if (!world.nodes[number].isUp) continue;
      world.failNode(number);
      failing.push(number);
    }
    this.#returns.push(failing);
    if (this.#returns.length > DOWN_ROUNDS)
      for (const number of this.#returns.shift()!) world.startNode(number);
    const links = (world.nodes.length * world.links[0].size) / 2;
    for (let i = this.#take('links', links); i > 0; i--) world.moveLink();
  }

  #take(what: keyof ChurnRates, all: number): number {
    this.#owed[what] += this.#rates[what] * all;
    const whole = Math.floor(this.#owed[what]);
    this.#owed[what] -= whole;
    return whole;
  }
}

/** Runs a network for some rounds with changes, and measures it in each of the last ones. */
export function simulateChurn(
  options: RouteWorldOptions,
  rates: ChurnRates,
  { rounds, queries }: { readonly rounds: number; readonly queries: number },
): ChurnFigures {
  const world = new RouteWorld(options);
  world.settle();
  const churn = new Churn(world, rates);
  const sums: RouteFigures[] = [];
  const updates = { bytes: 0, nodes: 0 };
  const warmUp = world.plan.levels + DOWN_ROUNDS;
  for (let round = 0; round < warmUp + rounds; round++) {
    churn.change();
    // Queries meet the arrays of the round before: the news is not out yet.
    if (round >= warmUp) sums.push(measureRoutes(world, Math.ceil(queries / rounds)));
    world.round();
    if (round < warmUp) continue;
    updates.bytes += world.measured.bytes;
    updates.nodes += world.measured.nodes;
  }
  return { ...total(sums), updateBytes: updates.bytes / updates.nodes };
}

/** Sums of counts, and means weighted by what they are means of. */
function total(all: readonly RouteFigures[]): RouteFigures {
  const sum = (value: (figures: RouteFigures) => number) => all.reduce((so, each) => so + value(each), 0);
  const nearFound = sum((each) => each.nearFound);
  const absent = sum((each) => each.absent);
  return {
    near: sum((each) => each.near),
    nearFound,
    nearShortest: sum((each) => each.nearShortest),
    stretch: sum((each) => (each.nearFound > 0 ? each.stretch * each.nearFound : 0)) / nearFound,
    any: sum((each) => each.any),
    handedOver: sum((each) => each.handedOver),
    absent,
    absentSent: sum((each) => each.absentSent),
    absentHops: sum((each) => each.absentHops * each.absent) / absent,
    detours: sum((each) => each.detours),
    wrong: sum((each) => each.wrong),
  };
}
