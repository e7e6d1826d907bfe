/**
 * `npm run loops-figure`: the picture of docs/guide/loops.md, a packet in a loop of three routers
 * and the filter that it carries. The bits are those that `PathFilter` really sets.
 */

import { writeFileSync } from 'node:fs';
import { PathFilter } from 'bloomery';

const BITS = 32;
const HEAD = 8;
const ROUTERS = ['r1', 'r2', 'r3'];
const CELL = 15;
const ROW = 62;
const LEFT = 250;
const TOP = 64;

const filter = new PathFilter({ bits: BITS, hashes: 3, salt: 77 });
let before = Array.from({ length: BITS }, () => 0);
const rows: string[] = [];
for (const [i, node] of [...ROUTERS, 'r1'].entries()) {
  const isLoop = filter.visit(node);
  const after = bitsOf(filter.encode());
  const y = TOP + i * ROW;
  rows.push(...stepOf(node, y, { isLoop, ttl: 64 - i, before, after }));
  if (i < 3) {
    const from = y + 40;
    rows.push(`<path class="way" d="M52 ${from} V${y + ROW - 3}" marker-end="url(#tip)"/>`);
  }
  before = after;
}
const bottom = TOP + 3 * ROW + 18;
rows.push(`<path class="way back" d="M24 ${bottom} C2 ${bottom - 60} 2 ${TOP + 78} 24 ${TOP + 18}"/>`);

function stepOf(
  node: string,
  y: number,
  { isLoop, ttl, before, after }: { isLoop: boolean; ttl: number; before: number[]; after: number[] },
): string[] {
  const cells = after.map((bit, i) => {
    const kind = bit === 0 ? 'zero' : before[i] === 0 ? 'new' : 'one';
    return `<rect class="${kind}" x="${LEFT + i * CELL}" y="${y + 8}" width="${CELL - 2}" height="20" rx="2"/>`;
  });
  const fresh = after.filter((bit, i) => bit !== before[i]).length;
  const note = isLoop
    ? 'nothing changed: it was here before, and is stopped'
    : `${fresh} new bits: forwarded`;
  return [
    `<rect class="router${isLoop ? ' alarm' : ''}" x="26" y="${y}" width="52" height="36" rx="6"/>`,
    `<text x="52" y="${y + 23}" text-anchor="middle">${node}</text>`,
    `<text class="note" x="96" y="${y + 23}">arrives, TTL ${ttl}</text>`,
    ...cells,
    `<text class="note" x="${LEFT}" y="${y + 44}">${note}</text>`,
  ];
}

function bitsOf(header: Uint8Array): number[] {
  return Array.from({ length: BITS }, (_, i) => (header[HEAD + (i >> 3)] >> (i & 7)) & 1);
}

const width = LEFT + BITS * CELL + 16;
const height = TOP + 4 * ROW + 4;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A packet visits routers r1, r2 and r3, each of which sets three bits of the filter in its header. At r1 again all bits are set already, and the packet is stopped.">
<style>
svg { font: 14px system-ui, sans-serif; background: #fff; }
text { fill: #1c1e21; } .note { fill: #57606a; font-size: 13px; } .title { font-weight: 600; }
.router { fill: #eef2f7; stroke: #57606a; } .alarm { fill: #ffe3e0; stroke: #c3352b; }
.zero { fill: #e4e8ee; } .one { fill: #7d8896; } .new { fill: #1f6feb; }
.way { fill: none; stroke: #57606a; stroke-width: 1.5; } .back { stroke-dasharray: 4 3; } .tip { fill: #57606a; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; }
  text { fill: #e6edf3; } .note { fill: #9da7b3; }
  .router { fill: #1c2430; stroke: #9da7b3; } .alarm { fill: #4a1d1a; stroke: #ff7b72; }
  .zero { fill: #21262d; } .one { fill: #8b949e; } .new { fill: #58a6ff; }
  .way { stroke: #9da7b3; } .tip { fill: #9da7b3; }
}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 Z"/></marker></defs>
<text class="title" x="16" y="26">A packet in a loop of three routers, and the ${BITS} bits in its header</text>
<rect class="new" x="${LEFT}" y="36" width="13" height="13" rx="2"/><text class="note" x="${LEFT + 19}" y="47">set by this router</text>
<rect class="one" x="${LEFT + 150}" y="36" width="13" height="13" rx="2"/><text class="note" x="${LEFT + 169}" y="47">set before</text>
<rect class="zero" x="${LEFT + 270}" y="36" width="13" height="13" rx="2"/><text class="note" x="${LEFT + 289}" y="47">0</text>
${rows.join('\n')}
</svg>
`;
const path = process.argv[2] ?? new URL('../../docs/guide/figures/loop-filter.svg', import.meta.url);
writeFileSync(path, svg);
console.log(`the packet was stopped at visit ${filter.hops}`);
