/**
 * A generated trace: objects by Zipf's law, arrivals as a Poisson process, each request at a node
 * chosen evenly. Object 0 is the most popular one. It can be replayed: each iteration begins again
 * from the seed.
 *
 * Objects, nodes, times and tastes draw from streams of their own, so traces that differ in the
 * number of nodes or in the rate ask for the same objects in the same order.
 *
 * Nodes that all ask for the same objects are the best case for cooperation. With `tastes`, a share
 * of the requests follows the taste of the node's group instead: the same law, with another object
 * at the top for each group.
 */

import { randomStream } from '@bloomery/sim';
import type { Trace, TraceRequest } from '../trace.ts';
import { ObjectSizes } from './object-sizes.ts';
import { ZipfRanks } from './zipf-ranks.ts';

export interface ZipfTraceOptions {
  /** Exponent of Zipf's law. Default 0.8. */
  readonly exponent?: number | undefined;
  /** Distinct objects that can be asked for. */
  readonly objects: number;
  readonly requests: number;
  readonly nodes: number;
  /** Requests per second at each node. Default 10. */
  readonly ratePerNode?: number | undefined;
  /** Average length of objects. Default 30 kB. */
  readonly meanBytes?: number | undefined;
  /** Tastes of groups. Default: all nodes ask for the same objects. */
  readonly tastes?: Tastes | undefined;
  /** Default 1. */
  readonly seed?: number | undefined;
}

export interface Tastes {
  /** Groups of nodes, of equal size: nodes 0 to nodes/groups - 1 are the first. */
  readonly groups: number;
  /** Share of the requests that follow the taste of the group. */
  readonly share: number;
}

export function zipfTrace(options: ZipfTraceOptions): Trace {
  const { exponent = 0.8, objects, requests, nodes, ratePerNode = 10, meanBytes, tastes, seed = 1 } = options;
  const ranks = new ZipfRanks(exponent, objects);
  if (!(requests >= 0) || !(nodes >= 1) || !(ratePerNode > 0)) {
    throw new RangeError(
      `Cannot make a trace: expected requests, nodes and a rate above 0, got ${requests}, ${nodes} and ${ratePerNode}`,
    );
  }
  const sizes = new ObjectSizes(seed, meanBytes);

  function* generate(): Generator<TraceRequest> {
    const stream = (name: string) => randomStream(seed, `zipf ${name}`);
    const [forObject, forNode, forTime, forTaste] = ['object', 'node', 'time', 'taste'].map(stream);
    const perMs = (ratePerNode * nodes) / 1000;
    let timeMs = 0;
    for (let i = 0; i < requests; i++) {
      const node = Math.floor(forNode() * nodes);
      const rank = ranks.draw(forObject) - 1;
      const shift = tastes !== undefined && forTaste() < tastes.share ? shiftOf(node, tastes) : 0;
      const object = (rank + shift) % objects;
      yield { timeMs, node, object, bytes: sizes.bytesOf(object) };
      timeMs -= Math.log(1 - forTime()) / perMs;
    }
  }

  /** Number of the object that the group of a node likes best. */
  function shiftOf(node: number, { groups }: Tastes): number {
    return Math.floor((node * groups) / nodes) * Math.floor(objects / groups);
  }

  return { [Symbol.iterator]: generate };
}
