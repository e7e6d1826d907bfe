/** Many nodes that want one object at once: one fetches it, and the others get it from there. */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OwnerTracker } from '../../src/peers/decisions/owner-tracker.ts';
import type { Neighbour } from '../../src/peers/neighbour-port.ts';
import { eventually } from '../proxy/proxy-lab.ts';
import {
  BUDGET_MS,
  type Fleet,
  type FleetNode,
  HEAD_TIMEOUT_MS,
  planOf,
  SEARCH_MS,
  startFleet,
  toOwner,
} from './fleet-lab.ts';

let origin: OriginLab;
let fleet: Fleet;

const body = Buffer.alloc(600_000);
for (let at = 0; at < body.length; at++) body[at] = Math.imul(at, 2654435761) >>> 24;
const half = body.length / 2;

afterEach(async () => {
  expect(fleet.problems).toEqual([]);
  expect(fleet.clock.pending).toBe(0);
  await fleet.close();
  await origin.close();
});

beforeEach(async () => {
  origin = await startOrigin();
});

async function startHerd(size: number, keptBytes?: number, beats?: 'virtual'): Promise<readonly FleetNode[]> {
  fleet = await startFleet(size, keptBytes, beats);
  for (const node of fleet.nodes) {
    node.plan = () => toOwner;
    node.budgetMs = 60_000;
  }
  return fleet.nodes;
}

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

function gate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** An origin that sends the head after one gate, and the second half of the body after another. */
function slowObject(path: string, headers: string[] = []): { readonly head: Gate; readonly rest: Gate } {
  const gates = { head: gate(), rest: gate() };
  async function* pieces(): AsyncGenerator<Buffer> {
    yield body.subarray(0, half);
    await gates.rest.opened;
    yield body.subarray(half);
  }
  origin.on(path, async (request) => {
    const fields = ['Cache-Control', 'max-age=60', 'ETag', '"v1"', ...headers];
    const start = Number(/^bytes=(\d+)-$/.exec(request.header('range') ?? '')?.[1] ?? -1);
    if (start >= 0) {
      const part = ['Content-Range', `bytes ${start}-${body.length - 1}/${body.length}`];
      return { status: 206, headers: [...fields, ...part], body: body.subarray(start) };
    }
    await gates.head.opened;
    return { headers: [...fields, 'Content-Length', String(body.length)], body: pieces() };
  });
  return gates;
}

describe('nodes that want one object at once', () => {
  test('get it from the node that fetches it, as it comes, with one fetch from the origin', async () => {
    const [a, b] = (await startHerd(2)) as [FleetNode, FleetNode];
    const { head, rest } = slowObject('/a');
    a.owner = () => 'fetch';
    b.owner = () => a.neighbour;
    const first = a.proxy.get(origin.url('/a'));
    await eventually(() => origin.count('/a') === 1);
    // The head has not come yet: b waits for it at a.
    const second = b.proxy.get(origin.url('/a'));
    const flight = await eventually(() => a.flights.find(origin.url('/a'), '', () => true) ?? undefined);
    await eventually(() => flight.waiters === 2);
    head.open();
    // The first half is at b before the origin has sent the second.
    await eventually(() => a.wire.answered() > half - 65_536);
    await eventually(() => b.ends().includes('node-a: hit'));
    rest.open();
    for (const reply of await Promise.all([first, second])) expect(reply.body.equals(body)).toBe(true);
    expect(origin.count('/a')).toBe(1);
    expect((await second).header('cache-status')).toBe('node-a; fwd=uri-miss; collapsed');
  });

  test('form a tree: each feeds two, and sends further ones on to those', async () => {
    const nodes = await startHerd(7);
    const { head, rest } = slowObject('/a');
    const [root, ...others] = nodes as [FleetNode, ...FleetNode[]];
    root.owner = () => 'fetch';
    for (const node of others) node.owner = () => root.neighbour;
    const replies = [root.proxy.get(origin.url('/a'))];
    await eventually(() => origin.count('/a') === 1);
    for (const node of others) replies.push(node.proxy.get(origin.url('/a')));
    // Each node waits for its own client, and six of them wait at another.
    const flightOf = (node: FleetNode) => node.flights.find(origin.url('/a'), '', () => true);
    await eventually(() => nodes.reduce((sum, node) => sum + (flightOf(node)?.waiters ?? 0), 0) === 13);
    head.open();
    rest.open();
    for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
    expect(origin.count('/a')).toBe(1);
    for (const { entry } of nodes) expect(entry.statistics.served).toBeLessThanOrEqual(2);
    expect(root.entry.statistics).toMatchObject({ served: 2, refused: 4 });
  });

  test('fetch for themselves if the response may not be shared', async () => {
    const [a, b] = (await startHerd(2)) as [FleetNode, FleetNode];
    const { head, rest } = slowObject('/a', ['Set-Cookie', 'a=b']);
    origin.on('/b', { headers: ['Cache-Control', 'private'], body: 'mine' });
    a.owner = () => 'fetch';
    b.owner = () => a.neighbour;
    a.mayShare = false;
    const first = a.proxy.get(origin.url('/a'));
    await eventually(() => origin.count('/a') === 1);
    const second = b.proxy.get(origin.url('/a'));
    head.open();
    rest.open();
    expect((await first).body.equals(body)).toBe(true);
    expect((await second).body.equals(body)).toBe(true);
    const both = await Promise.all([a.proxy.get(origin.url('/b')), b.proxy.get(origin.url('/b'))]);
    expect([both.map(({ text }) => text), origin.count('/b')]).toEqual([['mine', 'mine'], 2]);
  });

  test('do not wait for each other in a circle', async () => {
    const [a, b] = (await startHerd(2)) as [FleetNode, FleetNode];
    const { head, rest } = slowObject('/a');
    head.open();
    rest.open();
    a.owner = () => b.neighbour;
    b.owner = () => a.neighbour;
    const replies = [a, b].map(({ proxy }) => proxy.get(origin.url('/a')));
    for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
    expect(origin.count('/a')).toBeLessThanOrEqual(2);
  });
});

describe('when the head of the origin takes longer than the budget', () => {
  /** The nodes of which the owner was told that they are lost. */
  let lostNodes: string[];

  /** All nodes have the usual budget, and one memory of an owner. */
  async function startImpatient(size: number): Promise<readonly FleetNode[]> {
    const nodes = await startHerd(size, 1 << 20, 'virtual');
    const tracker = new OwnerTracker();
    const hash = { low: 1, high: 2 };
    lostNodes = [];
    for (const node of nodes) {
      node.budgetMs = BUDGET_MS;
      node.owner = (_key, lost) => {
        if (lost !== null) lostNodes.push(lost);
        const question =
          lost === null ? ({ kind: 'want', hash } as const) : ({ kind: 'lost', hash, source: lost } as const);
        const answer = tracker.answer(question, node.id, fleet.clock.monotonic());
        if (answer.kind !== 'ask') return 'fetch';
        return nodes.find(({ id }) => id === answer.node)!.neighbour;
      };
    }
    return nodes;
  }

  const waitsOf = (node: FleetNode) => node.ends().filter((end) => end.endsWith(': waits')).length;
  const waiting = (nodes: readonly FleetNode[]) => nodes.reduce((sum, node) => sum + waitsOf(node), 0);

  /** Asks all nodes, the first of them first, until all others wait for another one. */
  async function askAll(nodes: readonly FleetNode[]): Promise<Promise<{ readonly body: Buffer }>[]> {
    const replies = [nodes[0]!.proxy.get(origin.url('/a'))];
    await eventually(() => origin.count('/a') === 1);
    for (const node of nodes.slice(1)) replies.push(node.proxy.get(origin.url('/a')));
    await eventually(() => waiting(nodes) === nodes.length - 1);
    return replies;
  }

  const hasListeners = ({ wire }: FleetNode) => wire.answered() > 0;

  /** Lets time pass, until the words of these nodes have arrived. */
  async function pass(ms: number, nodes: readonly FleetNode[]): Promise<void> {
    const before = nodes.map(({ wire }) => wire.answered());
    await fleet.clock.advance(ms);
    await eventually(() => nodes.every(({ wire }, at) => wire.answered() > before[at]!));
  }

  test('eight nodes wait for the one that asked the origin, with one fetch', async () => {
    const nodes = await startImpatient(8);
    const { head, rest } = slowObject('/a');
    const replies = await askAll(nodes);
    await fleet.clock.advance(1000);
    expect(origin.count('/a')).toBe(1);
    head.open();
    rest.open();
    for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
    expect(origin.count('/a')).toBe(1);
    for (const { entry } of nodes) expect(entry.statistics.served).toBeLessThanOrEqual(2);
  });

  // In the mode `summary-cache` responses of neighbours are no copies.
  test.each([true, false])(
    'three nodes in a circle ask the origin after their budget (%s)',
    async (copies) => {
      const nodes = await startImpatient(3);
      for (const node of nodes) node.copies = copies;
      const { head, rest } = slowObject('/a');
      for (const [at, node] of nodes.entries()) node.owner = () => nodes[(at + 1) % 3]!.neighbour;
      const replies = nodes.map(({ proxy }) => proxy.get(origin.url('/a')));
      const flightOf = (node: FleetNode) => node.flights.find(origin.url('/a'), '', () => true);
      await eventually(() => nodes.every((node) => flightOf(node)?.waiters === 2));
      await fleet.clock.advance(SEARCH_MS - 1);
      expect([origin.count('/a'), waiting(nodes)]).toEqual([0, 0]);
      await fleet.clock.advance(1);
      await eventually(() => origin.count('/a') + waiting(nodes) === 3);
      head.open();
      rest.open();
      for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
      expect(origin.count('/a')).toBeGreaterThan(0);
    },
  );

  test.each(['killed', 'silent'] as const)(
    'the others go on within 2 s if that node is %s, with one fetch more',
    async (how) => {
      const nodes = await startImpatient(7);
      const { head, rest } = slowObject('/a');
      const replies = await askAll(nodes);
      if (how === 'killed') nodes[0]!.wire.kill();
      else {
        nodes[0]!.wire.fault = { holdAfter: 0 };
        await pass(1000, nodes.filter(hasListeners).slice(1));
        await fleet.clock.advance(1000);
      }
      await eventually(() => origin.count('/a') >= 2);
      // The other node that lost it waits with the one that fetches now, beyond the budget.
      await eventually(() => waiting(nodes) === nodes.length);
      await fleet.clock.advance(BUDGET_MS);
      await eventually(
        () => nodes.flatMap((node) => node.ends()).filter((end) => end === 'node-a: failed').length === 2,
      );
      head.open();
      rest.open();
      for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
      expect(origin.count('/a')).toBe(2);
      expect(lostNodes).toEqual(['node-a', 'node-a']);
    },
  );

  test('a node waits no longer than the origin may take for its head', async () => {
    const [a, b] = (await startImpatient(2)) as [FleetNode, FleetNode];
    const { head, rest } = slowObject('/a');
    const replies = await askAll([a, b]);
    for (let at = 1000; at < HEAD_TIMEOUT_MS; at += 1000) await pass(1000, [a]);
    expect(origin.count('/a')).toBe(1);
    await fleet.clock.advance(1000);
    await eventually(() => origin.count('/a') === 2);
    expect(b.ends()).toEqual(['node-a: waits', 'node-a: late']);
    head.open();
    rest.open();
    for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
  });
});

describe('when the node that fetches is killed in the middle', () => {
  test('a node does not continue from one that reads from it, through however many others', async () => {
    const [a, b, c, d] = (await startHerd(4)) as [FleetNode, FleetNode, FleetNode, FleetNode];
    const { head } = slowObject('/a');
    // The bytes go from a to b, from there to c, and from there to d.
    a.owner = () => 'fetch';
    b.owner = (_key, lost) => (lost === null ? a.neighbour : 'fetch');
    c.owner = () => b.neighbour;
    d.owner = () => c.neighbour;
    a.proxy.get(origin.url('/a')).catch(() => {});
    await eventually(() => origin.count('/a') === 1);
    const replies = [b, c, d].map(({ proxy }) => proxy.get(origin.url('/a')));
    head.open();
    await eventually(() => d.ends().includes('node-c: hit'));
    // Node d has another variant of this key in its summary, so b asks it for the rest.
    b.plan = () => ({ ...planOf([d]), afterwards: 'owner' });
    a.wire.kill();
    for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
    expect(b.ends()).toEqual(['node-a: hit', 'node-a: broken', 'node-d: refused']);
    expect(origin.requests.at(-1)?.header('range')).toMatch(/^bytes=\d+-$/);
    origin.dropConnections();
  });

  // In the second case the object is too large for the stores, and only passes through the nodes.
  test.each([1 << 20, 1024])(
    'one of those that it fed fetches the rest, and feeds the other (%i)',
    async (keptBytes) => {
      const [a, b, c] = (await startHerd(3, keptBytes)) as [FleetNode, FleetNode, FleetNode];
      const { head } = slowObject('/a');
      const lost: (string | null)[] = [];
      let fetching: Neighbour | null = null;
      const tracker = (node: FleetNode) => (_key: string, source: string | null) => {
        if (source === null) return a.neighbour;
        lost.push(source);
        const answer = fetching ?? 'fetch';
        fetching ??= node.neighbour;
        return answer;
      };
      a.owner = () => 'fetch';
      b.owner = tracker(b);
      c.owner = tracker(c);
      const killed = a.proxy.get(origin.url('/a'));
      killed.catch(() => {});
      await eventually(() => origin.count('/a') === 1);
      const replies = [b, c].map(({ proxy }) => proxy.get(origin.url('/a')));
      await eventually(() => a.flights.find(origin.url('/a'), '', () => true)?.waiters === 3);
      head.open();
      await eventually(() => [b, c].every((node) => node.ends().includes('node-a: hit')));
      a.wire.kill();
      for (const reply of await Promise.all(replies)) expect(reply.body.equals(body)).toBe(true);
      expect([lost, origin.count('/a')]).toEqual([['node-a', 'node-a'], 2]);
      expect(origin.requests.at(-1)?.header('range')).toMatch(/^bytes=\d+-$/);
      expect([...b.ends(), ...c.ends()].filter((end) => /broken/.test(end))).toHaveLength(2);
      expect([...b.ends(), ...c.ends()].filter((end) => /whole/.test(end))).toHaveLength(1);
      origin.dropConnections();
      await expect(killed).rejects.toThrow();
    },
  );
});
