/**
 * Extra nodes of traces: real tables in random and real networks, beside the theory of independent
 * false positives, and a figure of them.
 */

import { readFileSync } from 'node:fs';
import { topologyOf } from '../../packages/packets/src/traceback/graph/topology.ts';
import { ABILENE, NSFNET, randomNetwork } from '../../packages/packets/test/traceback/networks.ts';
import { TracedNetwork } from '../../packages/packets/test/traceback/trace-model.ts';

const BITS = [5, 8, 10, 12, 16];
const DRAWS = 200;

export interface GraphRow {
  readonly network: string;
  readonly bits: number;
  readonly rate: number;
  readonly length: number;
  readonly extra: number;
  readonly theory: number;
  readonly sigmas: number;
  readonly exact: number;
}

/** Traces through each network at each number of bits. `files` are networks of the Topology Zoo. */
export async function graphRows(traces: number, files: readonly string[]): Promise<GraphRow[]> {
  const networks = [
    ['random, 1000 nodes, degree 3', randomNetwork(1000, 3, 1)],
    ['random, 1000 nodes, degree 6', randomNetwork(1000, 6, 2)],
    ['Abilene, 11 nodes', ABILENE],
    ['NSFNET, 14 nodes', NSFNET],
    ...files.map((path) => readGml(path)),
  ] as const;
  const rows: GraphRow[] = [];
  for (const [network, topology] of networks) {
    for (const bits of BITS) {
      const traced = new TracedNetwork(topology, bits, bits);
      const sums = { extra: 0, theory: 0, variance: 0, length: 0, exact: 0 };
      for (let i = 0; i < traces; i++) {
        const { path, extra } = await traced.trace();
        const { mean, variance } = traced.percolate(path, DRAWS);
        sums.extra += extra;
        sums.theory += mean;
        sums.variance += variance * (1 + 1 / DRAWS);
        sums.length += path.length;
        if (extra === 0) sums.exact++;
      }
      const rates = [...traced.rates.values()];
      rows.push({
        network,
        bits,
        rate: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
        length: sums.length / traces,
        extra: sums.extra / traces,
        theory: sums.theory / traces,
        sigmas: (sums.extra - sums.theory) / Math.sqrt(sums.variance),
        exact: sums.exact / traces,
      });
    }
  }
  return rows;
}

/** The largest connected part of a network in GML, as the Internet Topology Zoo has it. */
function readGml(path: string): [string, ReturnType<typeof topologyOf>] {
  const text = readFileSync(path, 'utf8');
  const links = [...text.matchAll(/edge \[\s*source (\d+)\s*target (\d+)/g)].map(
    ([, a, b]): [string, string] => [a, b],
  );
  const apart = links.filter(([a, b]) => a !== b);
  const whole = topologyOf(new Set(apart.flat()), apart);
  let largest = new Set<string>();
  for (const start of whole.collectors.keys()) {
    if (largest.has(start)) continue;
    const part = new Set([start]);
    for (const id of part) for (const next of whole.neighbours.get(id) ?? []) part.add(next);
    if (part.size > largest.size) largest = part;
  }
  const name = path.replace(/^.*\/|\.gml$/g, '');
  const kept = apart.filter(([a]) => largest.has(a));
  return [`${name}, ${largest.size} nodes`, topologyOf(largest, kept)];
}

/** Colours on white and on black. */
const COLOURS = [
  ['#1f6feb', '#58a6ff'],
  ['#c3352b', '#ff7b72'],
  ['#2e7d32', '#56d364'],
  ['#8250df', '#d2a8ff'],
  ['#9a6700', '#e3b341'],
  ['#57606a', '#adbac7'],
] as const;

/** The rows of a page that `graphRows` were written to. */
export function rowsOfPage(page: string): GraphRow[] {
  const [, section = ''] = page.split(/^## Extra nodes/m);
  return section.split('\n').flatMap((line) => {
    const [network, ...numbers] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    const [bits, rate, length, extra, theory, sigmas, exact] = numbers.map((text) => Number.parseFloat(text));
    return network === undefined || !(bits > 0)
      ? []
      : [{ network, bits, rate, length, extra, theory, sigmas, exact: exact / 100 }];
  });
}

/** Extra nodes over bits per packet: points are traces, lines are theory. */
export function extraFigure(rows: readonly GraphRow[]): string {
  const names = [...new Set(rows.map(({ network }) => network))].slice(0, COLOURS.length);
  const x = (bits: number) => 60 + ((bits - 4) / 13) * 520;
  const low = Math.log10(0.002);
  const high = Math.log10(20);
  const y = (value: number) => 40 + ((high - Math.log10(Math.max(value, 0.002))) / (high - low)) * 280;
  const ticks = [0.01, 0.1, 1, 10];
  const parts = names.flatMap((name, i) => {
    const own = rows.filter(({ network }) => network === name);
    const line = own.map(({ bits, theory }) => `${x(bits)},${y(theory).toFixed(1)}`).join(' ');
    const points = own.map(
      ({ bits, extra }) => `<circle class="dot${i}" cx="${x(bits)}" cy="${y(extra).toFixed(1)}" r="4"/>`,
    );
    const label = `<text class="dot${i}" x="400" y="${58 + 18 * i}">${name}</text>`;
    return [`<polyline class="line${i}" points="${line}"/>`, ...points, label];
  });
  const grid = ticks.map(
    (tick) =>
      `<path class="grid" d="M60 ${y(tick)} H590"/><text x="52" y="${y(tick) + 4}" text-anchor="end">${tick}</text>`,
  );
  const coloured = (scheme: 0 | 1) =>
    COLOURS.map(
      (pair, i) => `.dot${i} { fill: ${pair[scheme]}; } .line${i} { stroke: ${pair[scheme]}; }`,
    ).join(' ');
  const bits = BITS.map((value) => `<text x="${x(value)}" y="345" text-anchor="middle">${value}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 380" width="620" height="380" role="img" aria-label="Extra nodes of a trace fall from several at 5 bits per packet to a few hundredths at 16 bits; measured points lie on the lines of theory.">
<style>
svg { font: 12px system-ui, sans-serif; background: #fff; } text { fill: #1c1e21; } .grid { stroke: #d8dee4; fill: none; }
polyline { fill: none; stroke-width: 1.5; } ${coloured(0)}
@media (prefers-color-scheme: dark) { svg { background: #0d1117; } text { fill: #e6edf3; } .grid { stroke: #30363d; } ${coloured(1)} }
</style>
<text x="60" y="24" style="font-weight:600">Extra nodes of a trace: points measured with real tables, lines theory</text>
${grid.join('\n')}
${bits.join('\n')}
<text x="320" y="368" text-anchor="middle">bits per packet in a full table</text>
${parts.join('\n')}
</svg>
`;
}
