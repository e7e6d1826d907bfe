/**
 * Figures of a network that routes by filters: queries for objects within reach, queries for any
 * object, and queries for keys that are nowhere. Each answer is compared with the truth.
 *
 * A query that the filters do not answer goes to the second tier, which hears every change at once
 * in a simulation. The two tiers together say "nowhere" if neither names a holder. That is wrong if
 * the table of any node that runs has the key: the tables are asked, and not the directory.
 */

import { hashKey } from 'bloomery';
import type { RouteWorld, SimObject } from './route-world.ts';

export interface RouteFigures {
  /** Queries whose nearest copy was within reach of the filters. */
  readonly near: number;
  /** Those that were answered by filters. */
  readonly nearFound: number;
  /** Those that were answered over a shortest way. */
  readonly nearShortest: number;
  /** Mean of hops travelled over hops of the shortest way, of those that were answered. */
  readonly stretch: number;
  /** Queries for any object that exists. */
  readonly any: number;
  /** Those that were handed over to the second tier. */
  readonly handedOver: number;
  /** Queries for keys that are nowhere. */
  readonly absent: number;
  /** Those that were sent out by a false positive. */
  readonly absentSent: number;
  /** Mean hops of those, all told, before the second tier was asked. */
  readonly absentHops: number;
  /** Detours of all queries. */
  readonly detours: number;
  /** Answers that said "nowhere" although a node that runs held the object. */
  readonly wrong: number;
}

/** Sends `queries` queries of each kind. */
export function measureRoutes(world: RouteWorld, queries: number): RouteFigures {
  const figures = { near: 0, nearFound: 0, nearShortest: 0, any: 0, handedOver: 0 };
  let [stretches, absentSent, absentHops, detours, wrong] = [0, 0, 0, 0, 0];
  const reach = world.plan.levels;
  const upNode = () => {
    for (;;) {
      const number = world.below(world.nodes.length);
      if (world.nodes[number].isUp) return number;
    }
  };
  const ask = (start: number, object: SimObject) => {
    const { holder, hops, detours: lost } = world.walk(start, object.hash);
    detours += lost;
    const isFound = holder !== null || world.secondTier(object.hash).size > 0;
    if (!isFound && world.isHeld(object.hash)) wrong++;
    return { holder, hops };
  };
  for (let i = 0; i < queries; i++) {
    const start = upNode();
    const ball = world
      .ball(start, reach)
      .filter((node) => node !== start && world.nodes[node].table.size > 0);
    if (ball.length === 0) continue;
    const hashes = [...world.nodes[ball[world.below(ball.length)]].table.ownHashes()];
    const object = world.objectOf(hashes[world.below(hashes.length)]);
    if (object === undefined || object.holders.has(start)) continue;
    const distance = world.distance(start, object.holders, reach);
    if (distance > reach) continue;
    figures.near++;
    const { holder, hops } = ask(start, object);
    if (holder === null) continue;
    figures.nearFound++;
    stretches += hops / distance;
    if (hops === distance) figures.nearShortest++;
  }
  for (let i = 0; i < queries; i++) {
    figures.any++;
    if (ask(upNode(), world.objects[world.below(world.objects.length)]).holder === null) figures.handedOver++;
  }
  for (let i = 0; i < queries; i++) {
    const { hops } = world.walk(upNode(), hashKey(`nowhere ${i}`));
    if (hops > 0) absentSent++;
    absentHops += hops;
  }
  return {
    ...figures,
    stretch: stretches / figures.nearFound,
    absent: queries,
    absentSent,
    absentHops: absentHops / queries,
    detours,
    wrong,
  };
}
