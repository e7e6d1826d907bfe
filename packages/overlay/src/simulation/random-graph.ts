/**
 * A random regular graph: every node has the same number of links, and no pair has two. It is made
 * by the pairing model with repairs: the ends of links are paired at random, and a pair that is a
 * loop or a double is exchanged with another pair until there is none.
 */

import type { RandomStream } from '@bloomery/sim';

/** Links of each node, by node number. */
export type Graph = readonly Set<number>[];

/** Draws a graph of `nodes` nodes with `degree` links each. Their product must be even. */
export function randomGraph(nodes: number, degree: number, random: RandomStream): Graph {
  if (degree >= nodes || (nodes * degree) % 2 !== 0)
    throw new RangeError(
      `Cannot draw a graph: expected an even number of ends and fewer links than nodes, got ${nodes} nodes of degree ${degree}`,
    );
  const ends = Array.from({ length: nodes * degree }, (_, i) => i % nodes);
  shuffle(ends, random);
  const links = Array.from({ length: nodes }, () => new Set<number>());
  const isBad = (a: number, b: number) => a === b || links[a].has(b);
  const connect = (a: number, b: number) => {
    links[a].add(b);
    links[b].add(a);
  };
  const pairs: [number, number][] = [];
  const open: [number, number][] = [];
  for (let i = 0; i < ends.length; i += 2) {
    const [a, b] = [ends[i], ends[i + 1]];
    if (isBad(a, b)) open.push([a, b]);
    else {
      connect(a, b);
      pairs.push([a, b]);
    }
  }
  while (open.length > 0) {
    const [a, b] = open[open.length - 1];
    const at = Math.floor(random() * pairs.length);
    const [c, d] = pairs[at];
    // The pairs a-b and c-d become a-c and b-d.
    if (a === c || b === d || isBad(a, c) || isBad(b, d)) continue;
    links[c].delete(d);
    links[d].delete(c);
    connect(a, c);
    connect(b, d);
    pairs[at] = [a, c];
    pairs.push([b, d]);
    open.pop();
  }
  return links;
}

/** Puts a list into random order. */
function shuffle<T>(list: T[], random: RandomStream): T[] {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}
