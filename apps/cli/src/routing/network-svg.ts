/**
 * A network as a picture: the node that asks in the middle, the others on rings by their distance
 * from it, links as thin lines, the way of a query as thick ones. The same network gives the same
 * bytes. Nodes beyond the outermost ring that has room are left out, and their number is said.
 */

export interface NetworkPicture {
  readonly title: string;
  /** Names of the nodes. */
  readonly nodes: readonly string[];
  /** The links of each node, by number. */
  readonly links: readonly ReadonlySet<number>[];
  /** The node in the middle. */
  readonly start: number;
  /** Nodes that hold the key that was asked for. */
  readonly holders?: ReadonlySet<number> | undefined;
  /** Nodes that a query visited, in order. */
  readonly way?: readonly number[] | undefined;
  /** Nodes that do not run. */
  readonly down?: ReadonlySet<number> | undefined;
}

const SIZE = 760;
const TOP = 46;
/** Nodes that a ring shows at most. */
const MOST_ON_RING = 120;

/** The meaning of the colours; those that occur are named below the picture. */
const LEGEND = [
  ['start', 'asks'],
  ['holder', 'holds the key'],
  ['down', 'does not run'],
  ['node', 'another node'],
] as const;

const STYLE = `
  .page { fill: #ffffff } text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 15px; font-weight: 600 }
  .link { stroke: #afb8c1; stroke-width: 1 } .way { stroke: #bc4c00; stroke-width: 3; fill: none }
  .ring { stroke: #eaeef2; fill: none } .node { fill: #57606a } .start { fill: #0969da } .holder { fill: #1a7f37 } .down { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #e6edf3 } .link { stroke: #3d444d } .way { stroke: #f0883e } .ring { stroke: #21262d }
    .node { fill: #9198a1 } .start { fill: #58a6ff } .holder { fill: #56d364 } .down { fill: #f85149 }
  }`;

/** The picture as the text of an SVG file. */
export function networkSvg(picture: NetworkPicture): string {
  const { title, nodes, links, start, holders = new Set(), way = [], down = new Set() } = picture;
  const rings = ringsFrom(links, start);
  const shown = rings.findIndex((ring) => ring.length > MOST_ON_RING);
  const drawn = shown < 0 ? rings : rings.slice(0, shown);
  const places = new Map<number, readonly [number, number]>();
  const radius = (SIZE - 2 * TOP) / 2 / Math.max(1, drawn.length - 1);
  const [cx, cy] = [SIZE / 2, TOP + (SIZE - TOP) / 2];
  const circles: string[] = [];
  for (const [distance, ring] of drawn.entries()) {
    if (distance > 0)
      circles.push(`<circle class="ring" cx="${cx}" cy="${cy}" r="${round(radius * distance)}"/>`);
    for (const [i, node] of ring.entries()) {
      const angle = (2 * Math.PI * (i + 0.5)) / ring.length;
      places.set(node, [cx + radius * distance * Math.sin(angle), cy - radius * distance * Math.cos(angle)]);
    }
  }
  const lines: string[] = [];
  for (const [node, others] of links.entries())
    for (const other of others)
      if (node < other || !links[other].has(node)) lines.push(line('link', places, node, other));
  for (let i = 1; i < way.length; i++) lines.push(line('way', places, way[i - 1], way[i]));
  const kindOf = (node: number) =>
    node === start ? 'start' : down.has(node) ? 'down' : holders.has(node) ? 'holder' : 'node';
  const dots = [...places].map(([node, [x, y]]) => {
    const r = nodes.length > 100 && kindOf(node) === 'node' ? 3 : 6;
    return `<circle class="${kindOf(node)}" cx="${round(x)}" cy="${round(y)}" r="${r}"><title>${escaped(nodes[node])}</title></circle>`;
  });
  const left = nodes.length - places.size;
  const kinds = new Set([...places.keys()].map(kindOf));
  const legend = LEGEND.filter(([kind]) => kinds.has(kind));
  const width = (SIZE - 40) / LEGEND.length;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE} ${SIZE + 30}" width="${SIZE}" height="${SIZE + 30}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${SIZE}" height="${SIZE + 30}"/>`,
    `<text class="title" x="20" y="28">${escaped(title)}</text>`,
    ...circles,
    ...lines.filter((text) => text !== ''),
    ...dots,
    ...legend.flatMap(([kind, words], i) => [
      `<circle class="${kind}" cx="${round(26 + width * i)}" cy="${SIZE + 12}" r="6"/>`,
      `<text x="${round(38 + width * i)}" y="${SIZE + 17}">${words}</text>`,
    ]),
    ...(left > 0 ? [`<text x="20" y="48">${left} nodes further away are not drawn</text>`] : []),
    '</svg>',
    '',
  ].join('\n');
}

/** Nodes by their distance from one; nodes that cannot be reached are in no ring. */
function ringsFrom(links: readonly ReadonlySet<number>[], start: number): number[][] {
  const rings = [[start]];
  const seen = new Set(rings[0]);
  for (;;) {
    const next: number[] = [];
    for (const node of rings[rings.length - 1])
      for (const other of links[node]) {
        if (seen.has(other)) continue;
        seen.add(other);
        next.push(other);
      }
    if (next.length === 0) return rings;
    rings.push(next);
  }
}

function line(
  kind: string,
  places: ReadonlyMap<number, readonly [number, number]>,
  a: number,
  b: number,
): string {
  const [from, to] = [places.get(a), places.get(b)];
  if (from === undefined || to === undefined) return '';
  const [x1, y1, x2, y2] = [...from, ...to].map(round);
  return `<line class="${kind}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
