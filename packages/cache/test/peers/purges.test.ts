/** Purges in a fleet with faults: the production code of several nodes, in virtual time. */

import { explore, type HostContext, type Scenario, SimNetwork, Simulation } from '@bloomery/sim';
import { expect, test } from 'vitest';
import { encodePosition } from '../../src/peers/decisions/purge-message.ts';
import { PurgeExchange, type PurgeReach, type PurgeState } from '../../src/peers/purges/purge-exchange.ts';

interface Stored {
  /** Time of storing, by the clock of the node and by that of the simulation. */
  readonly localTime: number;
  readonly realTime: number;
}

interface PurgeNode {
  readonly exchange: PurgeExchange;
  readonly store: Map<string, Stored>;
  /** The epoch of the journal, which changes when the node loses its disk. */
  readonly epoch: () => string;
  keep(key: string): void;
  order(key: string): Promise<void>;
}

interface Order {
  readonly node: string;
  readonly epoch: string;
  readonly key: string;
  readonly realTime: number;
}

const NODES = ['a', 'b', 'c', 'd'];
const FAULTY_MS = 60_000;
/** Few, so that nodes miss more than are kept. */
const KEPT = 3;

function purgeScenario({ ignoresResets = false } = {}): {
  scenario: Scenario<PurgeNode>;
  counts: { orders: number; resets: number };
} {
  const counts = { orders: 0, resets: 0 };
  let orders: Order[] = [];
  let realNow = () => 0;
  const program = ({ clock, transport, disk }: HostContext): PurgeNode => {
    const store = new Map<string, Stored>((disk.get('store') as [string, Stored][] | undefined) ?? []);
    const save = () => disk.set('store', [...store]);
    const initial = (disk.get('purges') as PurgeState | undefined) ?? null;
    let state: PurgeState | null = initial;
    const exchange = new PurgeExchange({
      transport,
      clock,
      kept: KEPT,
      memory: {
        initial,
        save: (next) => {
          state = next;
          disk.set('purges', next);
        },
      },
      remove: async (key) => {
        store.delete(key);
        save();
      },
      validateAll: (validAfter) => {
        if (validAfter > 0) counts.resets++;
      },
      event: () => {},
    });
    return {
      exchange,
      store,
      epoch: () => state?.journal.epoch ?? '',
      keep: (key) => {
        store.set(key, { localTime: clock.now(), realTime: realNow() });
        save();
      },
      order: async (key) => {
        store.delete(key);
        save();
        await exchange.order(key);
      },
    };
  };
  const scenario: Scenario<PurgeNode> = {
    nodes: NODES,
    program,
    faultyMs: FAULTY_MS,
    // A timer of 10 s that a node sets while it is 20 times slower fires after 200 s.
    quietMs: 300_000,
    faults: 12,
    faultKinds: ['crash', 'cut', 'weather', 'slow'],
    load: ({ simulation, host }) => {
      orders = [];
      realNow = () => simulation.elapsedMs;
      const random = simulation.random('load');
      const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!;
      const keys = Array.from({ length: 12 }, (_, at) => `http://a/${at}`);
      for (let at = 0; at < 200; at++) {
        const [node, key] = [pick(NODES), pick(keys)];
        simulation.after(random() * FAULTY_MS, () => host(node).program?.keep(key));
      }
      for (let at = 0; at < 40; at++) {
        const [node, key] = [pick(NODES), pick(keys)];
        simulation.after(random() * FAULTY_MS, () => {
          const { program } = host(node);
          const realTime = simulation.elapsedMs;
          void program?.order(key).then(() => {
            counts.orders++;
            orders.push({ node, epoch: program.epoch(), key, realTime });
          });
        });
      }
    },
    converged: ({ hosts, host }) => {
      for (const order of orders) {
        // A node that lost its disk has forgotten what it ordered, as the guide says.
        if (host(order.node).program?.epoch() !== order.epoch) continue;
        for (const { id, program } of hosts) {
          const stored = program?.store.get(order.key);
          if (program === undefined || stored === undefined || stored.realTime >= order.realTime) continue;
          const validAfter = ignoresResets ? 0 : program.exchange.validAfter;
          if (stored.localTime >= validAfter)
            return `${id} serves ${order.key} of ${stored.realTime}, which ${order.node} purged at ${order.realTime}`;
        }
      }
      return null;
    },
  };
  return { scenario, counts };
}

const SEEDS = Array.from({ length: 60 }, (_, at) => at + 1);

test('after faults, no node serves a response that was stored before its purge', async () => {
  const { scenario, counts } = purgeScenario();
  expect(await explore(scenario, { seeds: SEEDS })).toBeNull();
  expect(counts.orders).toBeGreaterThan(1000);
  expect(counts.resets).toBeGreaterThan(10);
});

test('the search finds a node that would not validate after a reset', async () => {
  const { scenario } = purgeScenario({ ignoresResets: true });
  expect(await explore(scenario, { seeds: SEEDS })).not.toBeNull();
});

test('a neighbour that left the fleet is not waited for', async () => {
  const simulation = new Simulation({ seed: 1 });
  const network = new SimNetwork(simulation);
  const transport = network.join({ id: 'a', peers: ['b', 'c'] });
  network.join({ id: 'b', peers: ['a'] }).serve('purge', () => encodePosition({ epoch: '', sequence: 0 }));
  const exchange = new PurgeExchange({
    transport,
    clock: simulation.clockOf('a'),
    memory: { initial: null, save: () => {} },
    remove: () => {},
    validateAll: () => {},
    event: () => {},
  });
  const settled: PurgeReach[] = [];
  void exchange.order('http://a/1').then(async (sequence) => {
    settled.push(await exchange.settled(sequence, 3_600_000));
  });
  await simulation.run({ untilMs: 60_000 });
  expect(settled).toEqual([]);
  transport.changePeers(['b']);
  await simulation.run({ untilMs: 120_000 });
  // b does not confirm, and is still there.
  expect([settled, exchange.reachOf(1).waiting]).toEqual([[], ['b']]);
  transport.changePeers([]);
  await simulation.run({ untilMs: 180_000 });
  expect(settled).toEqual([{ confirmed: [], waiting: [] }]);
  exchange.close();
});
