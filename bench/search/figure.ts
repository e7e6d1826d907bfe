/**
 * `npm run search-figure`: the pictures of docs/guide/search.md. One is a plot of
 * results/search.md, the other shows the steps of one simulated search between its peers.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Series, svgFile } from '@bloomery/papers/drawing';
import { SearchWorld } from '../../packages/overlay/dist/simulation/index.js';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const lines = readFileSync(path('../results/search.md'), 'utf8').split('\n');
const number = (cell: string) => Number(cell.replaceAll(',', ''));

/** Bytes per query of each collection, by the number of peers. */
function series(): Series[] {
  const points = new Map<string, [number, number][]>();
  let peers = 0;
  for (const line of lines) {
    const size = /^## (\d+) peers$/.exec(line);
    if (size !== null) peers = Number(size[1]);
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells.length !== 13 || !/ of /.test(cells[2])) continue;
    const [mean] = cells[8].split(' / ');
    points.set(cells[1], [...(points.get(cells[1]) ?? []), [peers, number(mean)]]);
  }
  return [...points].map(([name, all], i) => ({
    name,
    kind: 'line',
    colour: i as 0 | 1 | 2 | 3,
    points: all,
  }));
}

writeFileSync(
  path('../../docs/guide/figures/search-bytes.svg'),
  svgFile({
    title: 'Bytes of a query, both ways, for the first ten results of a central index',
    x: { label: 'peers', scale: 'log', from: 25, to: 400, ticks: [25, 50, 100, 200, 400] },
    y: { label: 'bytes', scale: 'linear', from: 0, to: 40_000, ticks: [0, 10_000, 20_000, 30_000, 40_000] },
    series: series(),
  }),
);

/** A search of twelve peers, whose messages are seen by who was asked. */
async function searchPicture(): Promise<string> {
  const texts = [
    'a counting bloom filter counts',
    'bloom filters are small',
    'a garden in bloom',
    'filter coffee, twice a day',
    'minutes of the meeting',
    'the budget of next year',
    'holiday photos',
    'how to deploy',
    'a filter of water',
    'names of trees',
    'release notes',
    'nothing here',
  ];
  const world = new SearchWorld({ seed: 2, peers: texts.length, documents: [] });
  for (const [i, text] of texts.entries())
    world.put(i, {
      path: 'a.txt',
      type: 'txt',
      text,
      bytes: text.length,
      changed: 0,
      digest: `${i}`.repeat(64).slice(0, 64),
    });
  await world.settle();
  const asker = 6;
  const before = world.peers.map(({ folder }) => ({ ...folder.served }));
  const { results } = await world.search(asker, 'bloom filter', { most: 3 });
  const roles = world.peers.map(({ folder }, i) => {
    if (i === asker) return 'asker';
    if (folder.served.fetches > before[i].fetches) return 'fetched';
    return folder.served.scores > before[i].scores ? 'scored' : 'silent';
  });
  return drawing(roles, results.length);
}

const COLOURS = { asker: '#333333', fetched: '#d1495b', scored: '#edae49', silent: '#cccccc' } as const;

type Role = keyof typeof COLOURS;

function drawing(roles: readonly Role[], results: number): string {
  const [width, height, radius] = [680, 360, 130];
  const [x0, y0] = [200, 180];
  const others = roles.flatMap((role, i) => (role === 'asker' ? [] : [{ role, i }]));
  const placed = others.map(({ role, i }, at) => {
    const angle = (2 * Math.PI * at) / others.length;
    return { role, i, x: x0 + radius * Math.cos(angle), y: y0 + radius * Math.sin(angle) };
  });
  const count = (role: Role) => roles.filter((each) => each === role).length;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">`,
    `<title>A search for two words among ${roles.length} peers</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...placed
      .filter(({ role }) => role !== 'silent')
      .map(
        ({ role, x, y }) =>
          `<line x1="${x0}" y1="${y0}" x2="${x.toFixed(1)}" y2="${y.toFixed(1)}" stroke="${COLOURS[role]}" stroke-width="${role === 'fetched' ? 5 : 2}"/>`,
      ),
    ...[{ role: 'asker' as const, x: x0, y: y0 }, ...placed].map(
      ({ role, x, y }) =>
        `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="12" fill="${COLOURS[role]}"/>`,
    ),
    ...(
      [
        ['asker', 'the peer that searches "bloom filter"'],
        ['silent', `${count('silent')} peers whose summary lacks it: not asked`],
        ['scored', `${count('scored') + count('fetched')} peers asked for scores`],
        ['fetched', `${count('fetched')} of them give the best ${results} documents`],
      ] as const
    ).map(
      ([role, text], i) =>
        `<circle cx="372" cy="${120 + 36 * i}" r="7" fill="${COLOURS[role]}"/><text x="388" y="${124 + 36 * i}" font-size="${role === 'silent' ? 11 : 12}">${text}</text>`,
    ),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

writeFileSync(path('../../docs/guide/figures/search-peers.svg'), await searchPicture());
