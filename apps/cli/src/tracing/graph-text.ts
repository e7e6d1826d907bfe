/** A trace as text for people, as data for programs, and as a graph for Graphviz. */

import type { GraphNode, TraceGraph } from '@bloomery/packets/traceback';
import { formatCount } from '../terminal/format-values.ts';

/** Edges that are less likely than this are left out of text and pictures. */
const LEAST_SHOWN = 0.005;

/** The part of a trace that is drawn: likely edges, and the collectors at their ends. */
export interface ShownGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: TraceGraph['edges'];
  /** Collectors that gave no usable answer and lie beside the path. */
  readonly beside: readonly GraphNode[];
}

export function shownPart({ start, nodes, edges }: TraceGraph): ShownGraph {
  const likely = edges.filter(({ probability }) => probability >= LEAST_SHOWN);
  const ids = new Set([start, ...likely.flatMap(({ from, to }) => [from, to])]);
  return {
    nodes: nodes.filter(({ id, verdict }) => ids.has(id) || verdict === 'seen'),
    edges: likely,
    beside: nodes.filter(({ id, verdict }) => !ids.has(id) && verdict !== 'seen'),
  };
}

/** A tree from the victim on: the collector from which the packet came is indented below. */
export function graphText(graph: TraceGraph): string {
  const { nodes, edges, beside } = shownPart(graph);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const printed = new Set<string>();
  const lines: string[] = [];
  const print = (id: string, odds: number | null, lead: string, indent: string) => {
    const node = byId.get(id) as GraphNode;
    const text = odds === null ? id : `${id}  ${percent(odds)}`;
    const isRepeated = printed.has(id);
    lines.push(`${lead}${text}  ${isRepeated ? '(see above)' : markText(node)}`);
    if (isRepeated) return;
    printed.add(id);
    const from = edges.filter((edge) => edge.to === id && byId.has(edge.from));
    for (const [i, edge] of from.entries()) {
      const isLast = i === from.length - 1;
      print(
        edge.from,
        edge.probability,
        `${indent}${isLast ? '└─ ' : '├─ '}`,
        `${indent}${isLast ? '   ' : '│  '}`,
      );
    }
  };
  if (byId.has(graph.start)) print(graph.start, null, '', '');
  const path = graph.path.length > 1 ? [`most likely path: ${graph.path.join(' → ')}`] : [];
  const silent = beside.map(({ id, verdict, reason }) => `${id}: ${verdict}${reason ? `, ${reason}` : ''}`);
  const others = silent.length === 0 ? [] : [`beside the path, without an answer: ${silent.join('; ')}`];
  const cut = graph.isComplete
    ? []
    : ['there are too many paths to compare all of them; the odds are among the first'];
  const asked = `${formatCount(graph.questions)} questions to ${formatCount(graph.asked)} collectors`;
  return [...lines, '', ...path, ...others, ...cut, asked].join('\n');
}

/** The marks of a collector in words. */
export function markText({ verdict, reason, changes, originProbability }: GraphNode): string {
  const words: string[] = [verdict === 'contradicts' ? 'says no, against its neighbours' : verdict];
  if (reason !== undefined) words.push(reason);
  if (changes.length > 0) words.push(`changed it (${changes.join(', ')})`);
  if (originProbability >= 0.1 && verdict !== 'not seen')
    words.push(`entered here ${percent(originProbability)}`);
  return words.join(', ');
}

/** The whole trace as JSON. */
export function graphData(graph: TraceGraph): object {
  const time = (seconds: number) => new Date(1000 * seconds).toISOString();
  return {
    ...graph,
    nodes: graph.nodes.map(({ sightings, ...node }) => ({
      ...node,
      sightings: sightings.map(({ firstS, lastS }) => [time(firstS), time(lastS)]),
    })),
  };
}

/** The graph in the language of Graphviz. */
export function graphDot(graph: TraceGraph): string {
  const { nodes, edges } = shownPart(graph);
  const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, (c) => `\\${c}`)}"`;
  const lines = nodes.map((node) => {
    const style = node.id === graph.start ? ', penwidth=2' : '';
    const dash = node.verdict === 'seen' ? '' : ', style=dashed';
    return `  ${quoted(node.id)} [label=${quoted(`${node.id}\n${markText(node)}`).replaceAll('\n', '\\n')}${style}${dash}];`;
  });
  const arrows = edges.map(
    ({ from, to, probability }) =>
      `  ${quoted(from)} -> ${quoted(to)} [label=${quoted(percent(probability))}];`,
  );
  return ['digraph traceback {', '  rankdir=LR;', '  node [shape=box];', ...lines, ...arrows, '}'].join('\n');
}

export function percent(share: number): string {
  if (share > 0.9995) return '100 %';
  return `${(100 * share).toPrecision(share < 0.1 ? 1 : 3)} %`;
}
