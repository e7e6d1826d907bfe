/**
 * The probability of each edge of a trace, given the answers.
 *
 * The model. The packet took one path without repetition from some collector, its origin, to the
 * victim. Looked at from the victim: at each collector the path goes on to one of the neighbours
 * that it has not visited, or began here, all equally likely beforehand. Given the path, each
 * answer is independent of the others, because each collector has a key of its own:
 *
 * | answer | on the path | off the path |
 * |---|---|---|
 * | seen | 1 | the collector's chance of a yes |
 * | not seen | `lieRate` | 1 - chance |
 * | silent, unreliable | 1 | 1 |
 *
 * The probability of an edge is the weight of all paths with this edge, divided by the weight of
 * all paths (Bayes). Two neighbours that both said yes share the probability: the graph does not
 * pretend to know which of them it was.
 *
 * SPIE itself gives a bound on the number of extra nodes, and no odds. The weights here are exact
 * for the model; paths are enumerated, up to `mostPaths` of them. Where a trace has more, the
 * result says `isComplete: false`, and the odds are those among the paths that were enumerated.
 */

import type { Topology } from './topology.ts';
import type { Verdict, Walk, WalkedNode } from './walk.ts';

export interface OddsOptions {
  /** Probability that a collector on the path says no, because it lies or lost packets. 0.001. */
  readonly lieRate?: number;
  /** Default 100,000. */
  readonly mostPaths?: number;
}

export interface GraphNode extends Omit<WalkedNode, 'verdict'> {
  /** `contradicts`: it said no, and the packet passed it more likely than not. */
  readonly verdict: Verdict | 'contradicts';
  /** Probability that the packet passed here. */
  readonly probability: number;
  /** Probability that the trace begins here: the packet entered the network at this collector. */
  readonly originProbability: number;
  /** Links between this collector and the victim's, along the graph. */
  readonly distance: number;
}

/** A link, in the direction in which the packet went. */
interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly probability: number;
}

export interface TraceGraph {
  readonly start: string;
  /** Collectors that saw the packet, did not answer, or contradict their neighbours. */
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** The most likely path, from the origin to the victim. */
  readonly path: readonly string[];
  readonly isComplete: boolean;
  readonly asked: number;
  readonly questions: number;
}

/** Chances of 0 occur in empty tables; no answer is that certain. */
const LEAST_CHANCE = 1e-9;
/** Routers that a packet can pass, by its TTL of 8 bits: no path is longer. */
const MOST_HOPS = 256;
/** Collectors that said no are part of the graph from this probability on. */
const LEAST_SHOWN = 0.01;
/** Weights below this share of the best one are not followed. */
const NEGLIGIBLE = Math.log(1e-9);

interface Path {
  readonly nodes: readonly string[];
  readonly logWeight: number;
}

export function traceGraph(topology: Topology, walk: Walk, options: OddsOptions = {}): TraceGraph {
  const { paths, isComplete } = likelyPaths(topology, walk, options);
  const best = paths.reduce((max, { logWeight }) => Math.max(max, logWeight), Number.NEGATIVE_INFINITY);
  const nodes = new Map<string, number>();
  const origins = new Map<string, number>();
  const edges = new Map<string, GraphEdge>();
  let total = 0;
  let path: readonly string[] = [];
  for (const { nodes: visited, logWeight } of paths) {
    const weight = Math.exp(logWeight - best);
    total += weight;
    if (logWeight === best && path.length === 0) path = [...visited].reverse();
    for (const id of visited) nodes.set(id, (nodes.get(id) ?? 0) + weight);
    const origin = visited.at(-1) as string;
    origins.set(origin, (origins.get(origin) ?? 0) + weight);
    for (let i = 1; i < visited.length; i++) {
      const [from, to] = [visited[i], visited[i - 1]];
      const key = `${from}\n${to}`;
      edges.set(key, { from, to, probability: (edges.get(key)?.probability ?? 0) + weight });
    }
  }
  const distances = distancesFrom(topology, walk.start, nodes);
  const oddsOf = (id: string) => (nodes.get(id) ?? 0) / total;
  const shown = [...walk.nodes.values()].filter(
    ({ id, verdict }) => verdict !== 'not seen' || oddsOf(id) >= LEAST_SHOWN,
  );
  const ids = new Set(shown.map(({ id }) => id));
  // The victim's collector is on every path of the model, so its no contradicts nothing.
  const contradicts = ({ id, verdict }: WalkedNode, probability: number) =>
    verdict === 'not seen' && probability > 0.5 && id !== walk.start;
  return {
    start: walk.start,
    nodes: shown.map((node) => {
      const probability = oddsOf(node.id);
      return {
        ...node,
        verdict: contradicts(node, probability) ? 'contradicts' : node.verdict,
        probability,
        originProbability: (origins.get(node.id) ?? 0) / total,
        distance: distances.get(node.id) ?? 0,
      };
    }),
    edges: [...edges.values()]
      .filter(({ from, to }) => ids.has(from) && ids.has(to))
      .map((edge) => ({ ...edge, probability: edge.probability / total }))
      .sort((a, b) => b.probability - a.probability),
    path,
    isComplete,
    asked: walk.nodes.size,
    questions: walk.questions,
  };
}

/** Enumerates paths from the victim on, the likeliest neighbours first. */
function likelyPaths(
  topology: Topology,
  { start, nodes }: Walk,
  { lieRate = 0.001, mostPaths = 100_000 }: OddsOptions,
): { paths: Path[]; isComplete: boolean } {
  const factors = new Map([...nodes].map(([id, node]) => [id, Math.log(onPathFactor(node, lieRate))]));
  /** The most that the rest of a path can gain. */
  const gains = [...factors.values()].map((factor) => Math.max(0, factor));
  const mostGain = gains.reduce((sum, gain) => sum + gain, 0);
  const paths: Path[] = [];
  let best = Number.NEGATIVE_INFINITY;
  let isComplete = true;
  const visited = new Set<string>();
  const way: string[] = [];

  const visit = (id: string, logWeight: number, left: number): void => {
    if (paths.length >= mostPaths) {
      isComplete = false;
      return;
    }
    const factor = factors.get(id) as number;
    visited.add(id);
    way.push(id);
    const free = (topology.neighbours.get(id) ?? []).filter((next) => !visited.has(next));
    const here = logWeight + factor - Math.log(free.length + 1);
    const rest = left - Math.max(0, factor);
    if (here > best + NEGLIGIBLE) {
      best = Math.max(best, here);
      paths.push({ nodes: [...way], logWeight: here });
    }
    const asked = way.length < MOST_HOPS ? free.filter((next) => factors.has(next)) : [];
    asked.sort((a, b) => (factors.get(b) as number) - (factors.get(a) as number));
    for (const next of asked) {
      const bound = here + (factors.get(next) as number) + rest;
      if (bound > best + NEGLIGIBLE) visit(next, here, rest);
    }
    visited.delete(id);
    way.pop();
  };
  visit(start, 0, mostGain);
  return { paths: paths.filter(({ logWeight }) => logWeight > best + NEGLIGIBLE), isComplete };
}

/** Weight of an answer on the path, divided by its weight off the path. */
function onPathFactor({ verdict, chance }: WalkedNode, lieRate: number): number {
  if (verdict === 'seen') return 1 / Math.max(chance, LEAST_CHANCE);
  return verdict === 'not seen' ? lieRate / Math.max(1 - chance, LEAST_CHANCE) : 1;
}

/** Links from the victim's collector to each other one, over collectors of the graph. */
function distancesFrom(
  topology: Topology,
  start: string,
  graph: ReadonlyMap<string, number>,
): Map<string, number> {
  const distances = new Map([[start, 0]]);
  for (const [id, distance] of distances) {
    for (const next of topology.neighbours.get(id) ?? []) {
      if (graph.has(next) && !distances.has(next)) distances.set(next, distance + 1);
    }
  }
  return distances;
}
