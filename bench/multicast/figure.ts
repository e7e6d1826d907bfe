/**
 * `npm run multicast-figure`: the picture of docs/guide/multicast.md, a packet to a group and the
 * filters of four interfaces. The bits are those that the filters of a `FilterTable` really have,
 * for the first packet of a sequence that one filter lets through by mistake.
 */

import { writeFileSync } from 'node:fs';
import { BloomFilter, FilterTable, hashKey } from 'bloomery';

const [ROWS, HASHES, PORTS] = [40, 3, 4];
const CELL = 13;
const [LEFT, TOP, ROW] = [150, 92, 52];

/** Last bytes of the groups of each interface. Groups 2 and 5 have members behind two of them. */
const LAST_BYTES = [
  [1, 2, 3, 4],
  [5, 2, 6, 7],
  [8, 9, 10, 11],
  [12, 13, 5, 14],
];

/** The first network whose group 2 or 5 passes one filter by mistake, and one not. */
function example(): { table: FilterTable; members: string[][]; group: string } {
  for (let network = 1; network < 256; network++) {
    const members = LAST_BYTES.map((bytes) => bytes.map((last) => `239.${network}.0.${last}`));
    const table = new FilterTable({ rows: ROWS, hashes: HASHES, columns: PORTS });
    for (const [port, groups] of members.entries()) table.addMany(port, groups);
    const group = [2, 5]
      .map((last) => `239.${network}.0.${last}`)
      .find((one) => table.columnsFor(one).length === 3 && rowsOf(one).size === HASHES);
    if (group !== undefined) return { table, members, group };
  }
  throw new Error('Cannot draw the picture: expected a network with a surplus copy, got none');
}

function rowsOf(name: string): Set<number> {
  const one = new BloomFilter({ bits: ROWS, hashes: HASHES });
  one.addHash(hashKey(name, one.scheme));
  return new Set(bitsOf(one).flatMap((bit, i) => (bit === 1 ? [i] : [])));
}

function bitsOf(filter: BloomFilter): number[] {
  const set = new FilterTable({ rows: ROWS, hashes: HASHES, columns: 1 });
  set.setColumn(0, filter);
  return Array.from({ length: ROWS }, (_, i) => {
    const before = set.columnFill(0);
    set.flipRows(0, [i]);
    const bit = set.columnFill(0) < before ? 1 : 0;
    set.flipRows(0, [i]);
    return bit;
  });
}

const { table, members, group } = example();
const positions = rowsOf(group);
const found = table.columnsFor(group);
const parts: string[] = [];
for (let port = 0; port < PORTS; port++) {
  const y = TOP + port * ROW;
  const isMember = members[port]!.includes(group);
  const isFound = found.includes(port);
  const kind = isMember ? 'member' : isFound ? 'surplus' : 'none';
  const text = isMember ? 'copy, to a member' : isFound ? 'surplus copy' : 'no copy';
  parts.push(
    `<rect class="port ${kind}" x="20" y="${y - 2}" width="108" height="26" rx="5"/>`,
    `<text x="74" y="${y + 16}" text-anchor="middle">interface ${port}</text>`,
    `<text class="note" x="${LEFT + ROWS * CELL + 14}" y="${y + 16}">${text}</text>`,
  );
  for (const [i, bit] of bitsOf(table.columnFilter(port)).entries()) {
    const looked = positions.has(i) ? ` ${bit === 1 ? 'hit' : 'miss'}` : '';
    parts.push(
      `<rect class="${bit === 1 ? 'one' : 'zero'}${looked}" x="${LEFT + i * CELL}" y="${y}" width="${CELL - 2}" height="22" rx="2"/>`,
    );
  }
}
const bottom = TOP + PORTS * ROW;
const marks = [...positions].map(
  (i) => `<path class="look" d="M${LEFT + i * CELL + CELL / 2 - 1} ${TOP - 14} V${bottom - 18}"/>`,
);
const width = LEFT + ROWS * CELL + 170;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom}" width="${width}" height="${bottom}" role="img" aria-label="A packet to a group is looked up at the same ${positions.size} rows of the filters of four interfaces. Interfaces whose filter has all of them set get a copy; one of them has no member.">
<style>
svg { font: 14px system-ui, sans-serif; background: #fff; }
text { fill: #1c1e21; } .note { fill: #57606a; font-size: 13px; } .title { font-weight: 600; }
.port { fill: #eef2f7; stroke: #57606a; } .member { fill: #d3f0dc; stroke: #1a7f37; } .surplus { fill: #ffe3e0; stroke: #c3352b; }
.zero { fill: #e4e8ee; } .one { fill: #9aa4b1; } .hit { fill: #1f6feb; } .miss { fill: #e4e8ee; stroke: #c3352b; stroke-width: 2; }
.look { stroke: #1f6feb; stroke-width: 1; stroke-dasharray: 3 3; fill: none; }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117; }
  text { fill: #e6edf3; } .note { fill: #9da7b3; }
  .port { fill: #1c2430; stroke: #9da7b3; } .member { fill: #12361f; stroke: #56d364; } .surplus { fill: #4a1d1a; stroke: #ff7b72; }
  .zero { fill: #21262d; } .one { fill: #6e7681; } .hit { fill: #58a6ff; } .miss { fill: #21262d; stroke: #ff7b72; }
  .look { stroke: #58a6ff; }
}
</style>
<text class="title" x="20" y="28">A packet to ${group}: one hash, the same rows of all filters</text>
<text class="note" x="20" y="52">a filter of ${ROWS} bits for each interface, with four groups in it; blue bits are set at the rows of the packet</text>
${marks.join('\n')}
${parts.join('\n')}
</svg>
`;
const path = process.argv[2] ?? new URL('../../docs/guide/figures/multicast-filters.svg', import.meta.url);
writeFileSync(path, svg);
console.log(`${group} goes to ${found.join(', ')}`);
