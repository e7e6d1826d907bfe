import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { TracebackError } from '../traceback-error.ts';
import { traceGraph } from './path-odds.ts';
import { parseTopology, type Topology, topologyOf } from './topology.ts';
import { type AskCollector, type CollectorAnswer, type Walk, type WalkedNode, walkBack } from './walk.ts';

const PACKET = Uint8Array.of(1);
const DECOYS = [Uint8Array.of(2), Uint8Array.of(3), Uint8Array.of(4), Uint8Array.of(5)];
const answer = (seen: boolean, chance = 0.01): CollectorAnswer => ({
  seen,
  chance,
  sightings: [],
  changes: [],
});

/** A grid of 4 by 4 collectors, named by column and row. */
const GRID = topologyOf(
  Array.from({ length: 16 }, (_, i) => `${'abcd'[i % 4]}${1 + (i >> 2)}`),
  Array.from({ length: 16 }, (_, i) => i).flatMap((i) => {
    const name = (j: number) => `${'abcd'[j % 4]}${1 + (j >> 2)}`;
    const right: [string, string][] = i % 4 < 3 ? [[name(i), name(i + 1)]] : [];
    return [...right, ...(i < 12 ? [[name(i), name(i + 4)] as [string, string]] : [])];
  }),
);
const ROUTE = ['d4', 'd3', 'c3', 'c2', 'b2', 'a2', 'a1'];

/** Collectors that tell the truth about a route, except those that are named. */
function truthful(route: readonly string[], others: Record<string, CollectorAnswer> = {}): AskCollector {
  return async (id, packet) => others[id] ?? answer(packet === PACKET && route.includes(id));
}

async function trace(topology: Topology, ask: AskCollector, more = {}) {
  const walk = await walkBack({
    topology,
    start: ROUTE.at(-1)!,
    forms: [PACKET],
    ask,
    decoys: DECOYS,
    ...more,
  });
  return { walk, graph: traceGraph(topology, walk) };
}

test('a trace finds the route, and its neighbours are asked once', async () => {
  const { graph, walk } = await trace(GRID, truthful(ROUTE));
  expect(graph.path).toEqual(ROUTE);
  expect(graph.nodes.filter(({ verdict }) => verdict === 'seen').map(({ id }) => id)).toEqual(
    [...ROUTE].reverse(),
  );
  for (const { from, to, probability } of graph.edges) {
    const at = ROUTE.indexOf(from);
    if (at >= 0 && ROUTE[at + 1] === to) expect(probability).toBeGreaterThan(0.95);
    else expect(probability).toBeLessThan(0.05);
  }
  expect(graph.nodes.find(({ id }) => id === 'd4')?.originProbability).toBeGreaterThan(0.95);
  expect(walk.nodes.size).toBeLessThanOrEqual(16);
});

test('a silent collector on the route is crossed and marked', async () => {
  const { graph } = await trace(
    GRID,
    truthful(ROUTE, { c3: { silent: 'timeout' }, b2: { silent: 'refused' } }),
  );
  expect(graph.path).toEqual(ROUTE);
  expect(
    graph.nodes
      .filter(({ verdict }) => verdict === 'silent')
      .map(({ id }) => id)
      .sort(),
  ).toEqual(['b2', 'c3']);
});

test('a collector that says yes to everything is found by decoys, on the route and beside it', async () => {
  const { graph } = await trace(GRID, truthful(ROUTE, { c2: answer(true), b1: answer(true) }));
  expect(
    graph.nodes
      .filter(({ verdict }) => verdict === 'unreliable')
      .map(({ id }) => id)
      .sort(),
  ).toEqual(['b1', 'c2']);
  expect(graph.path).toEqual(ROUTE);
});

test('a collector that says yes to its first question only is found when questions are mixed', async () => {
  const random = new Random(5);
  const draw = () => random.below(1 << 16) / 2 ** 16;
  let found = 0;
  const rounds = 200;
  for (let round = 0; round < rounds; round++) {
    const known = new Set<string>();
    const ask: AskCollector = async (id, packet) => {
      if (id !== 'b1') return truthful(ROUTE)(id, packet);
      const isFirst = !known.has(id);
      known.add(id);
      return answer(isFirst);
    };
    const decoys = Array.from({ length: 4 }, (_, i) => Uint8Array.of(40 + i));
    const { walk } = await trace(GRID, ask, { decoys, random: draw });
    expect(walk.nodes.get('c2')?.verdict).toBe('seen');
    if (walk.nodes.get('b1')?.verdict !== 'seen') found++;
  }
  // Its yes meets the packet in one order out of five.
  expectBinomial(found, rounds, 4 / 5, 'liars without a yes');
});

test('a collector that says no on the route contradicts its neighbours', async () => {
  const line = topologyOf(
    'abcdefgh',
    [...'abcdefg'].map((id, i) => [id, 'abcdefgh'[i + 1]] as const),
  );
  const walk = await walkBack({
    topology: line,
    start: 'a',
    forms: [PACKET],
    ask: truthful([...'abcdefg'], { d: answer(false) }),
    decoys: DECOYS,
  });
  const graph = traceGraph(line, walk);
  expect(graph.path).toEqual([...'gfedcba']);
  expect(graph.nodes.find(({ id }) => id === 'd')).toMatchObject({ verdict: 'contradicts' });
  expect(graph.nodes.find(({ id }) => id === 'd')?.probability).toBeGreaterThan(0.95);
});

test('a victim that did not see the packet ends the trace', async () => {
  const { graph } = await trace(GRID, truthful([]));
  expect(graph.nodes.map(({ id, verdict }) => [id, verdict])).toEqual([['a1', 'not seen']]);
  expect(graph.edges).toEqual([]);
});

test('a silent collector is silent, whatever the number of forms of the packet', async () => {
  const forms = [PACKET, Uint8Array.of(11), Uint8Array.of(12), Uint8Array.of(13)];
  for (let count = 1; count <= forms.length; count++) {
    const { walk } = await trace(GRID, truthful(ROUTE, { b2: { silent: 'refused' } }), {
      forms: forms.slice(0, count),
    });
    expect(walk.nodes.get('b2'), `${count} forms`).toMatchObject({ verdict: 'silent', reason: 'refused' });
  }
});

test('a collector that answers about one form and not about the others has not said no', async () => {
  const other = Uint8Array.of(11);
  const ask: AskCollector = async (id, packet) =>
    id === 'b2' && packet === other
      ? { silent: 'timeout' }
      : truthful(ROUTE, { b2: answer(false) })(id, packet);
  const { walk } = await trace(GRID, ask, { forms: [PACKET, other] });
  expect(walk.nodes.get('b2')).toMatchObject({ verdict: 'silent', reason: 'timeout' });
});

test('a collector that said no is asked again when a router tells of an earlier form', async () => {
  // The translator t is between v and a; a second link lets v ask a before t has answered.
  const around = topologyOf('vtab', [
    ['v', 't'],
    ['v', 'a'],
    ['t', 'a'],
    ['a', 'b'],
  ]);
  const inside = Uint8Array.of(11);
  let questions = 0;
  const ask: AskCollector = async (id, packet) => {
    questions++;
    if (id === 't' && packet === PACKET)
      return { seen: true, chance: 0.01, sightings: [], changes: [{ kind: 'nat', packet: inside }] };
    return answer('ab'.includes(id) ? packet === inside : packet === PACKET);
  };
  const walk = await walkBack({ topology: around, start: 'v', forms: [PACKET], ask });
  const graph = traceGraph(around, walk);
  expect(graph.path).toEqual([...'batv']);
  expect(graph.nodes.map(({ id, verdict }) => `${id} ${verdict}`).sort()).toEqual([
    'a seen',
    'b seen',
    't seen',
    'v seen',
  ]);
  // v, t and b once, a twice; b is asked about both forms.
  expect([walk.questions, questions]).toEqual([6, 6]);
});

test('two neighbours that both say yes share the probability', async () => {
  const fork = topologyOf('vabc', [
    ['v', 'a'],
    ['a', 'b'],
    ['a', 'c'],
  ]);
  const walk = await walkBack({ topology: fork, start: 'v', forms: [PACKET], ask: truthful([...'vabc']) });
  const { edges } = traceGraph(fork, walk);
  const odds = (from: string) => edges.find((edge) => edge.from === from)!.probability;
  // Two ends with the same weight, and 1 in 100 that the packet began before them.
  expect(Math.abs(odds('b') - odds('c'))).toBeLessThan(1e-9);
  expect(odds('b')).toBeGreaterThan(0.49);
  expect(odds('a')).toBeGreaterThan(0.999);
});

test('traceGraph agrees with all paths of small random networks, one by one', () => {
  const random = new Random(31);
  for (let round = 0; round < 300; round++) {
    const names = [...'abcdefg'];
    const links = names.flatMap((a, i) =>
      names.slice(i + 1).flatMap((b) => (random.below(3) === 0 ? [[a, b] as const] : [])),
    );
    const topology = topologyOf(names, links);
    const nodes = new Map(
      names.map((id): [string, WalkedNode] => {
        const verdict = random.pick(['seen', 'seen', 'not seen', 'silent'] as const);
        return [
          id,
          {
            id,
            verdict,
            chance: verdict === 'silent' ? 1 : 0.05 + random.below(50) / 100,
            sightings: [],
            changes: [],
          },
        ];
      }),
    );
    const walk: Walk = { start: 'a', nodes, questions: 0 };
    const { edges } = traceGraph(topology, walk, { lieRate: 0.1 });
    const expected = allPaths(topology, walk, 0.1);
    for (const { from, to, probability } of edges) {
      // The enumeration leaves out weights of 1e-9.
      expect(Math.abs(probability - (expected.get(`${from}>${to}`) ?? 0))).toBeLessThan(1e-6);
    }
  }
});

test('traceGraph follows no path beyond the TTL of a packet, however long the network is', () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `n${i}`);
  const line = topologyOf(
    names,
    names.slice(1).map((id, i) => [names[i]!, id] as const),
  );
  const seen = { verdict: 'seen', chance: 0.01, sightings: [], changes: [] } as const;
  const nodes = new Map(names.map((id): [string, WalkedNode] => [id, { id, ...seen }]));
  const graph = traceGraph(line, { start: 'n0', nodes, questions: 0 });
  expect([graph.path.length, graph.path.at(-1)]).toEqual([256, 'n0']);
});

/** Probabilities of edges from all paths, with the likelihood of every answer written out. */
function allPaths(topology: Topology, { start, nodes }: Walk, lieRate: number): Map<string, number> {
  const sums = new Map<string, number>();
  let total = 0;
  const visit = (way: readonly string[], prior: number) => {
    const last = way.at(-1)!;
    const free = topology.neighbours.get(last)!.filter((id) => !way.includes(id));
    const step = prior / (free.length + 1);
    let likelihood = step;
    for (const [id, { verdict, chance }] of nodes) {
      const isOn = way.includes(id);
      if (verdict === 'seen') likelihood *= isOn ? 1 : chance;
      if (verdict === 'not seen') likelihood *= isOn ? lieRate : 1 - chance;
    }
    total += likelihood;
    for (let i = 1; i < way.length; i++) {
      const key = `${way[i]}>${way[i - 1]}`;
      sums.set(key, (sums.get(key) ?? 0) + likelihood);
    }
    for (const id of free) visit([...way, id], step);
  };
  visit([start], 1);
  return new Map([...sums].map(([key, sum]) => [key, sum / total]));
}

test('answers that change the packet again and again cannot make a walk endless', async () => {
  let asked = 0;
  const ask: AskCollector = async () => {
    asked++;
    return {
      ...answer(true),
      changes: [{ kind: 'nat', packet: Uint8Array.of(asked & 255, asked >> 8) }],
    } as never;
  };
  const { walk } = await trace(GRID, ask, { decoys: [] });
  expect(walk.nodes.size).toBe(16);
  expect(asked).toBeLessThanOrEqual(16 * 12);
});

test.each<[string, unknown]>([
  ['no JSON', '{'],
  ['an array', []],
  ['no links', { collectors: {} }],
  ['an unknown name', { collectors: {}, links: [], nodes: [] }],
  ['a link to nowhere', { collectors: { a: {} }, links: [['a', 'b']] }],
  ['a link to itself', { collectors: { a: {} }, links: [['a', 'a']] }],
  ['a start that is not there', { start: 'x', collectors: { a: {} }, links: [] }],
  ['a url of another kind', { collectors: { a: { url: 'ftp://x' } }, links: [] }],
  ['a wrong entry', { collectors: { a: 5 }, links: [] }],
])('parseTopology refuses %s', (_, value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  expect(() => parseTopology(text)).toThrow(TracebackError);
});

test('parseTopology reads collectors and links', () => {
  const text = JSON.stringify({
    start: 'a',
    collectors: { a: { url: 'http://h:1' }, b: {} },
    links: [['a', 'b']],
  });
  const { start, collectors, neighbours } = parseTopology(text);
  expect([start, collectors.get('a'), neighbours.get('b')]).toEqual(['a', { url: 'http://h:1' }, ['a']]);
});
