/** The search among owners in another group, with neighbours that answer as a test wants. */

import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { ownerDeadlineMs } from './decisions/peer-choice.ts';
import type { AskListener } from './neighbour-ask.ts';
import type { NeighbourPlan, PlannedQuestion } from './neighbour-port.ts';
import { NeighbourSearch, type SearchAsk } from './neighbour-search.ts';
import type { ObjectAsk } from './objects/object-request.ts';

const BUDGET_MS = 250;

type Put = ObjectAsk & { readonly node: string; readonly atMs: number; readonly listener: AskListener };

class Lab {
  readonly clock = new VirtualClock();
  readonly asks: Put[] = [];
  readonly events: string[] = [];
  readonly search: NeighbourSearch<SearchAsk>;

  constructor(plan: NeighbourPlan, isWithinGroup = false) {
    this.search = new NeighbourSearch<SearchAsk>({
      clock: this.clock,
      headTimeoutMs: 60_000,
      port: {
        askOwner: async () => {
          this.events.push('owner of the group');
          return 'fetch';
        },
        find: () => null,
        report: () => {},
      },
      key: 'http://example.org/a',
      plan,
      rest: null,
      budgetMs: BUDGET_MS,
      lost: null,
      avoid: [],
      isWithinGroup,
      accept: () => true,
      sent: () => {},
      waits: () => this.events.push('waits'),
      found: () => this.events.push('found'),
      none: () => this.events.push(`none at ${Math.round(this.clock.monotonic() - start)}`),
      newAsk: (neighbour, ask, listener) => {
        this.asks.push({ ...ask, node: neighbour.id!, atMs: this.clock.monotonic() - start, listener });
        return { start: () => {}, abort: () => {} };
      },
    });
    const start = this.clock.monotonic();
    this.search.start();
  }

  /** The questions so far: node, kind and time. */
  get put(): [string, string, number][] {
    return this.asks.map(({ node, kind, atMs }) => [node, kind, Math.round(atMs)]);
  }
}

function question(node: string, headDeadlineMs: number): PlannedQuestion {
  const neighbour = { id: node, address: `http://${node}:3129`, keyId: null };
  return { neighbour, headDeadlineMs, hedgeAfterMs: null };
}

const beyond = ['b0', 'b1'].map((node, place) => question(node, ownerDeadlineMs(BUDGET_MS, place)));
const PLAN: NeighbourPlan = { asks: [question('a1', 20)], afterwards: 'owner', beyond };

test('owners of another group follow the neighbours, and the origin follows within the budget', async () => {
  const lab = new Lab(PLAN);
  await lab.clock.advance(400);
  expect(lab.put).toEqual([
    ['a1', 'stored', 0],
    ['b0', 'owned', 20],
    ['b1', 'owned', 120],
  ]);
  expect(lab.asks[1]!.waitMs).toBe(100);
  expect(lab.events).toEqual(['none at 170']);
});

test('a budget that is nearly used up bounds the deadlines of owners', async () => {
  const lab = new Lab({ ...PLAN, asks: [question('a1', 200)] });
  await lab.clock.advance(400);
  expect(lab.put.map(([node]) => node)).toEqual(['a1', 'b0']);
  expect(lab.events).toEqual(['none at 240']);
});

test('a node that a finder named is asked for what it stores, before the owners', async () => {
  const holder = question('h1', 100);
  const lab = new Lab({ ...PLAN, asks: [], holder });
  await lab.clock.advance(5);
  lab.asks[0]!.listener.failed('refused', null);
  expect(lab.put).toEqual([
    ['h1', 'stored', 0],
    ['b0', 'owned', 5],
  ]);
  // Questions for other groups stay inside this one.
  const within = new Lab({ ...PLAN, asks: [], holder }, true);
  await within.clock.advance(400);
  expect(within.put).toEqual([]);
});

test('a fetch for another group asks the owner of its own one instead', async () => {
  const lab = new Lab(PLAN, true);
  await lab.clock.advance(400);
  expect(lab.put).toEqual([['a1', 'stored', 0]]);
  expect(lab.events).toEqual(['owner of the group', 'none at 20']);
});

test('an owner that refuses is not followed by another one', async () => {
  const lab = new Lab({ ...PLAN, asks: [] });
  await lab.clock.advance(5);
  lab.asks[0]!.listener.failed('refused', null);
  expect(lab.put).toEqual([['b0', 'owned', 0]]);
  expect(lab.events).toEqual(['none at 5']);
});

test('an owner that fails, or is lost while it waits for the origin, is followed by the next one', async () => {
  const failing = new Lab({ ...PLAN, asks: [] });
  await failing.clock.advance(5);
  failing.asks[0]!.listener.failed('failed', null);
  expect(failing.put.at(-1)).toEqual(['b1', 'owned', 5]);
  const lost = new Lab({ ...PLAN, asks: [] });
  await lost.clock.advance(5);
  expect(lost.asks[0]!.listener.waits()).toBe(true);
  await lost.clock.advance(5000);
  lost.asks[0]!.listener.failed('failed', null);
  expect(lost.put.at(-1)).toEqual(['b1', 'owned', 5005]);
  lost.asks[1]!.listener.head({ status: 200, statusText: '', headers: [] });
  expect(lost.events).toEqual(['waits', 'found']);
});
