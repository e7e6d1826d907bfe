/**
 * The graph of a trace as an SVG image, without a program of its own: the victim on the right, and
 * each collector in the column of its distance. `--format dot` is for larger graphs and Graphviz.
 */

import type { GraphNode, TraceGraph } from '@bloomery/packets/traceback';
import { markText, percent, shownPart } from './graph-text.ts';

const WIDTH = 170;
const HEIGHT = 46;
const GAP_X = 70;
const GAP_Y = 26;
const MARGIN = 16;

interface Place {
  readonly x: number;
  readonly y: number;
}

export function graphSvg(graph: TraceGraph): string {
  const { nodes, edges } = shownPart(graph);
  const columns = new Map<number, GraphNode[]>();
  for (const node of nodes) columns.set(node.distance, [...(columns.get(node.distance) ?? []), node]);
  const last = Math.max(0, ...columns.keys());
  const tallest = Math.max(1, ...[...columns.values()].map(({ length }) => length));
  const places = new Map<string, Place>();
  for (const [distance, column] of columns) {
    column.sort((a, b) => b.probability - a.probability);
    for (const [i, { id }] of column.entries()) {
      places.set(id, {
        x: MARGIN + (last - distance) * (WIDTH + GAP_X),
        y: MARGIN + i * (HEIGHT + GAP_Y),
      });
    }
  }
  const width = 2 * MARGIN + (last + 1) * WIDTH + last * GAP_X;
  const height = 2 * MARGIN + tallest * HEIGHT + (tallest - 1) * GAP_Y;
  const label = `The route of a packet to ${graph.start}, as its collectors tell it: ${graph.path.join(', ')}.`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(label)}">
<style>
svg { font: 13px system-ui, sans-serif; background: #fff; }
text { fill: #1c1e21; } .id { font-weight: 600; } .mark, .odds { fill: #57606a; font-size: 11px; }
.seen { fill: #e3f1e5; stroke: #2e7d32; } .unsure { fill: #f3f4f6; stroke: #57606a; stroke-dasharray: 4 3; }
.contradicts { fill: #ffe3e0; stroke: #c3352b; } .way { fill: none; stroke: #2e7d32; } .tip { fill: #2e7d32; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; } text { fill: #e6edf3; } .mark, .odds { fill: #9da7b3; }
  .seen { fill: #12261a; stroke: #56d364; } .unsure { fill: #161b22; stroke: #9da7b3; }
  .contradicts { fill: #4a1d1a; stroke: #ff7b72; } .way { stroke: #56d364; } .tip { fill: #56d364; }
}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 Z"/></marker></defs>
${edges.map((edge) => edgeSvg(edge, places)).join('\n')}
${nodes.map((node) => nodeSvg(node, places.get(node.id) as Place)).join('\n')}
</svg>
`;
}

function edgeSvg(
  { from, to, probability }: TraceGraph['edges'][number],
  places: ReadonlyMap<string, Place>,
): string {
  const a = places.get(from);
  const b = places.get(to);
  if (a === undefined || b === undefined) return '';
  const isForward = a.x < b.x;
  const [x1, x2] = isForward ? [a.x + WIDTH, b.x] : [a.x + WIDTH / 2, b.x + WIDTH / 2];
  const [y1, y2] = isForward ? [a.y + HEIGHT / 2, b.y + HEIGHT / 2] : besideOf(a, b);
  const x = (x1 + x2) / 2;
  const y = (y1 + y2) / 2 - 5;
  const stroke = (0.5 + 2 * probability).toFixed(2);
  const line = `<path class="way" d="M${x1} ${y1} L${x2} ${y2}" stroke-width="${stroke}" stroke-opacity="${(0.5 + 0.5 * probability).toFixed(2)}" marker-end="url(#tip)"/>`;
  return `${line}\n<text class="odds" x="${x}" y="${y}" text-anchor="middle">${percent(probability)}</text>`;
}

/** The ends of an edge between two collectors in the same column. */
function besideOf(a: Place, b: Place): [number, number] {
  return a.y < b.y ? [a.y + HEIGHT, b.y] : [a.y, b.y + HEIGHT];
}

function nodeSvg(node: GraphNode, { x, y }: Place): string {
  const kind = node.verdict === 'seen' ? 'seen' : node.verdict === 'contradicts' ? 'contradicts' : 'unsure';
  const mark = markText(node);
  const short = mark.length > 28 ? `${mark.slice(0, 27)}…` : mark;
  return `<g><title>${escaped(`${node.id}: ${mark}`)}</title><rect class="${kind}" x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="6"/>
<text class="id" x="${x + WIDTH / 2}" y="${y + 20}" text-anchor="middle">${escaped(node.id)}</text>
<text class="mark" x="${x + WIDTH / 2}" y="${y + 36}" text-anchor="middle">${escaped(short)}</text></g>`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}
