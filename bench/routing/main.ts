/**
 * `npm run bench:routing`: networks that find copies by filters. Bytes, hops and shares do not
 * depend on the machine, and are the same for the same seed; only the lines about processor time
 * do.
 *
 *     npm run bench:routing -- --markdown results/routing.md
 *     npm run bench:routing -- --markdown results/routing.md --part compare --sizes 10000 --rates 0.01
 *
 * With `--markdown`, what a run measures is kept in a file beside the page (`routing.json`), and
 * the page is made of everything that is kept. So the largest networks, which take minutes each,
 * can be run one by one.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { AttenuatedBloomFilter } from 'bloomery';
import {
  compareLocation,
  crossingRate,
  type LocationFigures,
  measureRoutes,
  PlaceWorld,
  questionCost,
  RouteWorld,
  simulateChurn,
  TreeWorld,
} from '../../packages/overlay/dist/simulation/index.js';

const { values: options } = parseArgs({
  options: {
    markdown: { type: 'string' },
    nodes: { type: 'string', default: '10000' },
    part: { type: 'string', default: 'near,tree,places,churn,compare' },
    sizes: { type: 'string', default: '10,100,1000,10000' },
    rates: { type: 'string', default: '0.001,0.01,0.1' },
  },
});
const NODES = Number(options.nodes);
const SIZES = options.sizes.split(',').map(Number);
const RATES = options.rates.split(',').map(Number);
const QUERIES = 2000;
let lines: string[] = [];
const cells = (...row: (string | number)[]) => lines.push(`| ${row.join(' | ')} |`);
const head = (...row: string[]) => {
  cells(...row);
  cells(...row.map(() => '---'));
};

interface CompareCell {
  readonly nodes: number;
  readonly rate: number;
  readonly figures: readonly LocationFigures[];
}

/** Everything that runs have measured. */
interface Kept {
  /** The lines of each part but the comparison, and how they were measured. */
  parts: Record<string, readonly string[]>;
  cells: CompareCell[];
  /** How the cells of each size were measured. */
  runs: Record<string, string>;
}

const keptPath = options.markdown?.replace(/\.md$/, '.json');
const kept: Kept =
  keptPath !== undefined && existsSync(keptPath)
    ? (JSON.parse(readFileSync(keptPath, 'utf8')) as Kept)
    : { parts: {}, cells: [], runs: {} };

/** Writes the page from everything that is kept. */
function save(): void {
  const page = ['# Routing by filters', '', '`npm run bench:routing` wrote this file. Seeds are fixed.', ''];
  for (const part of ['near', 'tree', 'places', 'churn']) page.push(...(kept.parts[part] ?? []));
  page.push(...comparison());
  if (options.markdown === undefined) return;
  writeFileSync(keptPath!, `${JSON.stringify(kept, null, 2)}\n`);
  writeFileSync(options.markdown, page.join('\n'));
}

/** Runs something, and says what it took. */
function timed(work: () => void): string {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  const seconds = ((user + system) / 1e6).toFixed(0);
  return `${seconds} s of processor time, Node ${process.version}, load ${loadavg()[0].toFixed(1)} at the end.`;
}

const share = (part: number, all: number) => `${((100 * part) / all).toFixed(2)} %`;
const whole = (value: number) => Math.round(value).toLocaleString('en');

function near(): void {
  lines.push('## The nearest copy', '');
  lines.push(
    `${whole(NODES)} nodes of degree 4 with 50 objects each, 10 copies of an object, ${whole(QUERIES)} queries of each kind, at most 64 kB of arrays per node. "Shortest" means that the query took a shortest way to the nearest copy.`,
    '',
  );
  head(
    'levels',
    'state per node',
    'bits per key at the deepest level',
    'near queries',
    'found by filters',
    'shortest',
    'stretch',
    'any object: handed over',
    'absent keys sent out',
    'wrong "not found"',
  );
  for (const levels of [2, 3, 4]) {
    const world = new RouteWorld({ seed: 1, nodes: NODES, objectsPerNode: 50, levels });
    world.settle();
    const f = measureRoutes(world, QUERIES);
    const { plan } = world;
    cells(
      levels,
      `${whole(plan.stateBytes)} B`,
      (plan.bits / plan.keys[levels - 1]).toFixed(1),
      whole(f.near),
      share(f.nearFound, f.near),
      share(f.nearShortest, f.near),
      f.stretch.toFixed(4),
      share(f.handedOver, f.any),
      share(f.absentSent, f.absent),
      f.wrong,
    );
    if (levels === 3) widths(world);
  }
  lines.push('', ...widthLines, '');
}

const widthLines: string[] = [];

/** The rates of three forms of the same array: full widths, growing ones, equal ones. */
function widths({ nodes, plan }: RouteWorld): void {
  const array = nodes[0].array!;
  const { levels, hashes } = array;
  const total = plan.widths.reduce((sum, bits) => sum + bits, 0);
  const equal = plan.bits / 2 ** Math.floor(Math.log2((levels * plan.bits) / total));
  const folded = (bits: readonly number[] | number) =>
    new AttenuatedBloomFilter({ levels, hashes, bits }).merge(array);
  widthLines.push('## Widths that grow', '');
  widthLines.push(
    'The array of one node in three forms, and the rate of each level. The full form is what nodes pass on; a node that only asks keeps the growing one.',
    '',
    '| form | bits by level | bytes | rate of level 0 | 1 | 2 |',
    '| --- | --- | --- | --- | --- | --- |',
  );
  for (const [name, form] of [
    ['full', array],
    ['growing', folded(plan.widths)],
    ['equal', folded(equal)],
  ] as const) {
    const rates = form.widths.map((_, level) => form.estimatedFalsePositiveRate(level).toExponential(1));
    widthLines.push(`| ${name} | ${form.widths.join(', ')} | ${form.byteLength} | ${rates.join(' | ')} |`);
  }
}

function churn(): void {
  const nodes = Math.min(NODES, 1000);
  lines.push('## Changes', '');
  lines.push(
    `${whole(nodes)} nodes. In each round this share of the objects is replaced, a fifth of it of the nodes fail (for five rounds) and of the links move. News travels one hop per round, and queries come before the news of the round.`,
    '',
  );
  head(
    'change per round',
    'near copies found by filters',
    'shortest',
    'stretch',
    'any object: handed over',
    'detours per 1,000 queries',
    'sent to a neighbour per round',
    'wrong "not found"',
  );
  for (const rate of [0.001, 0.01, 0.1, 0.3]) {
    const f = simulateChurn(
      { seed: 2, nodes, objectsPerNode: 50 },
      { objects: rate, nodes: rate / 5, links: rate / 5 },
      { rounds: 5, queries: QUERIES },
    );
    cells(
      `${100 * rate} %`,
      share(f.nearFound, f.near),
      share(f.nearShortest, f.near),
      f.stretch.toFixed(3),
      share(f.handedOver, f.any),
      ((1000 * f.detours) / (f.near + f.any + f.absent)).toFixed(1),
      `${whole(f.updateBytes)} B`,
      f.wrong,
    );
  }
  lines.push('');
}

function compare(): void {
  for (const nodes of SIZES) {
    for (const rate of RATES) {
      const rounds = nodes >= 10_000 ? 2 : 5;
      const took = timed(() => {
        const cell = { seed: 1, nodes, objectsPerNode: 50, rate, rounds, questions: 200 };
        const figures = compareLocation(cell);
        kept.cells = kept.cells.filter((each) => each.nodes !== nodes || each.rate !== rate);
        kept.cells.push({ nodes, rate, figures });
      });
      kept.runs[`${nodes} ${rate}`] = `${whole(nodes)} nodes, ${100 * rate} %: ${took}`;
      save();
    }
  }
}

/** The part about distributed hashing. */
function comparison(): string[] {
  const cellsInOrder = kept.cells.toSorted((a, b) => a.nodes - b.nodes || a.rate - b.rate);
  if (cellsInOrder.length === 0) return [];
  lines = ['## Filters against distributed hashing', ''];
  lines.push(
    'Nodes of degree 4 with 50 objects each, copies at 1 % of the nodes and at 2 at least. A hop takes 20 ms, a node that is down 500 ms. B/round is the mean over all nodes of what they send; with groups, the leaders send nearly all of it. 200 questions in each of 5 rounds, or of 2 with 10,000 nodes. `bloomery route compare` prints the same.',
    '',
  );
  head(
    'nodes',
    'change',
    'way',
    'B/round',
    'B/question',
    'messages',
    'hops',
    'ms',
    'wrong turns',
    'missed',
    'state B',
  );
  for (const { nodes, rate, figures } of cellsInOrder)
    for (const f of figures)
      cells(
        whole(nodes),
        `${100 * rate} %`,
        f.name,
        whole(f.updateBytes),
        whole(f.questionBytes),
        f.messages.toFixed(1),
        f.hops.toFixed(1),
        f.latencyMs.toFixed(0),
        f.wrongTurns.toFixed(3),
        share(f.missed, 1),
        whole(f.stateBytes),
      );
  lines.push('', '### Crossing points', '');
  lines.push(
    'Questions per node and round at which two ways cost the same bytes. A dash: one of them is cheaper at every rate.',
    '',
  );
  head('nodes', 'change', 'filters of all nodes = table', 'groups = table', 'filters of all nodes = groups');
  for (const { nodes, rate, figures } of cellsInOrder) lines.push(crossing(nodes, rate, figures));
  const runs = cellsInOrder.map(({ nodes, rate }) => `- ${kept.runs[`${nodes} ${rate}`]}`);
  return [...lines, '', ...runs, ''];
}

function crossing(nodes: number, rate: number, [filters, groups, table]: readonly LocationFigures[]): string {
  const text = (a: LocationFigures, b: LocationFigures) => {
    const at = crossingRate(a, b);
    if (at !== null) return at < 10 ? at.toFixed(1) : whole(at);
    const cheaper = a.updateBytes + a.questionBytes < b.updateBytes + b.questionBytes ? a : b;
    return `– (${cheaper.name})`;
  };
  return `| ${whole(nodes)} | ${100 * rate} % | ${text(filters, table)} | ${text(groups, table)} | ${text(filters, groups)} |`;
}

function tree(): void {
  lines.push('## The rooted tree', '');
  lines.push(
    'Four children per node, three levels below the root: 85 nodes with three services of four attributes each. 2,000 queries at the root for two attributes of a random service, which often no single service has. Nodes visited in vain, by the form of the keys and the bits of every filter.',
    '',
  );
  head('bits', 'pairs, as a filter (`isSubsetOf`)', 'hashed subsets of up to 2', 'of up to 3');
  for (const bits of [512, 2048, 8192, 32_768]) {
    const means = [1, 2, 3].map((subsets) => {
      const world = new TreeWorld({
        seed: 1,
        fanOut: 4,
        depth: 3,
        servicesPerNode: 3,
        attributes: 4,
        values: 30,
        bits,
        hashes: 4,
        subsets,
        leaseMs: 1000,
      });
      world.tell(0);
      let detours = 0;
      for (let i = 0; i < 2000; i++) {
        const { a0, a1 } = world.drawService();
        detours += world.search(0, { a0, a1 }).detours;
      }
      return (detours / 2000).toFixed(3);
    });
    cells(whole(bits), ...means);
  }
  lines.push('');
}

function places(): void {
  lines.push('## The quad-tree', '');
  lines.push(
    'A region of 32 by 32 cells with 2,000 hosts. In each period every host moves with the given probability; then questions are asked, 1,000 over all periods, before the filters are told. There are 500, 50, 5 and 4 periods. Cost is bytes times hops, per host and period.',
    '',
  );
  head(
    'moves per period',
    'filters: cost of moves',
    'hashing: cost of moves',
    'filters: hops per question',
    'hashing',
    'shortest',
    'found by filters',
    'questions per host and period at which both cost the same',
  );
  for (const probability of [0.001, 0.01, 0.1, 0.5]) {
    const world = new PlaceWorld({ seed: 1, depth: 5, hosts: 2000 });
    const sums = { filters: 0, records: 0, shortest: 0, found: 0, filterCost: 0, recordCost: 0 };
    // Few moves per period need many periods: a move across the middle costs hundreds of others.
    const periods = Math.max(4, Math.round(1 / probability / 2));
    const questions = 1000 * Math.ceil(periods / 1000);
    world.recordCost = 0;
    for (let period = 0; period < periods; period++) {
      world.move(probability);
      // Questions are spread over the periods as evenly as whole numbers allow.
      const until = Math.floor(((period + 1) * questions) / periods);
      for (let i = Math.floor((period * questions) / periods); i < until; i++) {
        const from = world.drawCell();
        const host = world.hosts[Math.floor(world.random() * world.hosts.length)];
        const byFilters = world.searchByFilters(from, host.hash);
        const byRecords = world.searchByRecords(from, host);
        sums.filters += byFilters.hops;
        sums.records += byRecords.hops;
        sums.filterCost += questionCost(byFilters);
        sums.recordCost += questionCost(byRecords);
        sums.shortest += Math.abs(from.x - host.cell.x) + Math.abs(from.y - host.cell.y);
        if (byFilters.isFound) sums.found++;
      }
      world.tell();
    }
    const per = (cost: number) => cost / world.hosts.length / periods;
    const [filterMoves, recordMoves] = [per(world.filterCost), per(world.recordCost)];
    const gain = (sums.recordCost - sums.filterCost) / questions;
    cells(
      `${100 * probability} %`,
      filterMoves.toFixed(1),
      recordMoves.toFixed(1),
      (sums.filters / questions).toFixed(1),
      (sums.records / questions).toFixed(1),
      (sums.shortest / questions).toFixed(1),
      share(sums.found, questions),
      filterMoves > recordMoves
        ? ((filterMoves - recordMoves) / gain).toFixed(2)
        : 'filters are always cheaper',
    );
  }
  lines.push('');
}

const PARTS: Readonly<Record<string, () => void>> = { near, tree, places, churn };
for (const part of options.part.split(',')) {
  if (part === 'compare') {
    compare();
    continue;
  }
  lines = [];
  const took = timed(PARTS[part]!);
  kept.parts[part] = [...lines, took, ''];
  save();
}
if (!options.markdown) console.log([...Object.values(kept.parts).flat(), ...comparison()].join('\n'));
