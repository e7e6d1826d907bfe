/**
 * A rolling restart: each node in turn is told to end, finishes its work and starts again, while
 * clients that obey `/.bloomery/ready` go on. No client sees a failure, and neighbours know why the
 * node left and count no wrong summary against it. A node that is late on a busy machine may rest.
 */

import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { expect, test } from 'vitest';
import { ask, until } from '../node/scratch.ts';
import { startFleet, startKnownOrigin } from './start-fleet.ts';

const CLIENTS = 4;
const OBJECTS = 40;

/** A load balancer: it asks each node every few milliseconds whether it is ready. */
class ReadyNodes {
  readonly #nodes: readonly FleetNode[];
  #ready: readonly FleetNode[];
  #isOver = false;
  readonly #watching: Promise<unknown>;

  constructor(nodes: readonly FleetNode[]) {
    this.#nodes = nodes;
    this.#ready = nodes;
    this.#watching = this.#watch();
  }

  /** The ready nodes in turn. */
  at(turn: number): FleetNode {
    return this.#ready[turn % this.#ready.length]!;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      const words = await Promise.all(this.#nodes.map((node) => wordOf(node)));
      this.#ready = this.#nodes.filter((_, i) => words[i] === 'ready');
    }
  }
}

async function wordOf(node: FleetNode): Promise<string> {
  try {
    return (await ask(node.port, '/.bloomery/ready')).body.trim();
  } catch {
    return 'unreachable';
  }
}

test('a rolling restart of three nodes costs no client an answer, and no node its good name', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({
    nodes: 3,
    origin: origin.url,
    settings: (index) => ({ shutdownDelay: '2s', workers: index === 1 ? 2 : 1 }),
  });
  const ready = new ReadyNodes(fleet.nodes);
  const failures: string[] = [];
  const words = new Set<string>();
  let answers = 0;
  let isOver = false;
  const client = async (number: number) => {
    for (let turn = number; !isOver; turn += CLIENTS) {
      const node = ready.at(turn);
      const path = knownPath(`rolling/${(turn * 7) % OBJECTS}`, 3000);
      try {
        const { status, wrong, isWhole } = await checkedGet(node.port, path);
        if (status !== 200 || wrong !== null || !isWhole) failures.push(`${node.name}: ${status} ${wrong}`);
      } catch (error) {
        failures.push(`${node.name}: ${error}`);
      }
      answers++;
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  for (const node of fleet.nodes) {
    const before = answers;
    await until('clients are served', () => answers > before + 20, 60_000);
    const ended = node.stop();
    await until('it says that it stops', async () => {
      words.add(await wordOf(node));
      return words.has('stopping');
    });
    expect(await ended).toBe(0);
    for (const neighbour of fleet.nodes) {
      if (neighbour === node) continue;
      const down = neighbour.log.filter(({ event, id }) => event === 'peer-down' && id === node.name);
      expect(down.at(-1)?.why, neighbour.name).toBe('it is shutting down');
    }
    await node.start();
    await fleet.untilCurrent(60_000);
    words.clear();
  }
  isOver = true;
  await Promise.all(clients);
  await ready.end();
  expect(failures).toEqual([]);
  for (const node of fleet.nodes)
    for (const { id, masked } of (await node.status()).cooperation!.peers)
      expect(masked, `${node.name} of ${id}`).not.toBe('it was wrong too often');
}, 300_000);
