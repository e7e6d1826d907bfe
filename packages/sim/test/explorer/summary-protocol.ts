/**
 * A small protocol for the tests of the explorer, and for measurements: every node publishes the
 * set of its keys by the library's SetPublisher, and follows those of its neighbours by
 * SetSubscriber. `forgets` plants a fault: the node does not ask again after a gap.
 */

import type { Transport } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { SetPublisher, SetSubscriber } from 'bloomery/wire';
import type { HostContext, Scenario, World } from '../../src/index.ts';

const BEAT_MS = 1000;
const UNIVERSE = 2 ** 24;
const TIMEOUT_MS = 500;

export interface SummaryNode {
  readonly publisher: SetPublisher;
  readonly subscribers: ReadonlyMap<string, SetSubscriber>;
  /** Keys of this node, published or not. */
  readonly keys: ReadonlySet<string>;
  add(key: string): void;
}

function summaryProgram({ forgets = false } = {}) {
  return ({ clock, transport, disk }: HostContext): SummaryNode => {
    const boots = Number(disk.get('boots') ?? 0) + 1;
    disk.set('boots', boots);
    const publisher = new SetPublisher({ incarnation: boots, universe: UNIVERSE });
    const keys = new Set((disk.get('keys') as string[] | undefined) ?? []);
    for (const key of keys) publisher.addHash(hashKey(key));
    transport.serve('ask', (request) => publisher.answer(request) ?? new Uint8Array(0));
    const beat = () => {
      transport.publish('summary', publisher.publish() ?? publisher.heartbeat());
      clock.after(BEAT_MS * (0.9 + 0.2 * clock.random()), beat);
    };
    clock.after(BEAT_MS * clock.random(), beat);
    const subscribers = new Map(
      transport.peers().map(({ address }) => [address, follow(transport, address, forgets)]),
    );
    const add = (key: string) => {
      keys.add(key);
      disk.set('keys', [...keys]);
      publisher.addHash(hashKey(key));
    };
    return { publisher, subscribers, keys, add };
  };
}

function follow(transport: Transport, address: string, forgets: boolean): SetSubscriber {
  const subscriber = new SetSubscriber({ maxPositions: 1e6 });
  const ask = async (request: Uint8Array) => {
    try {
      subscriber.receive(await transport.request(address, 'ask', request, { timeoutMs: TIMEOUT_MS }));
    } catch {
      // The next heartbeat leads to the next question.
    }
  };
  transport.subscribe(address, 'summary', {
    message: (bytes) => {
      const { reply, verdict } = subscriber.receive(bytes);
      if (reply !== undefined && !(forgets && verdict === 'missing')) void ask(reply);
    },
    open: () => void ask(subscriber.request()),
    closed: () => {},
  });
  return subscriber;
}

/** Four nodes that add keys while faults happen, and are quiet afterwards. */
export function summaryScenario(forgets: boolean): Scenario<SummaryNode> {
  const nodes = ['a', 'b', 'c', 'd'];
  const faultyMs = 30_000;
  return {
    nodes,
    program: summaryProgram({ forgets }),
    faultyMs,
    quietMs: 40_000,
    faults: 12,
    load: ({ simulation, host }) => {
      const random = simulation.random('keys');
      for (let i = 0; i < 200; i++) {
        const node = nodes[Math.floor(random() * nodes.length)];
        simulation.after(random() * faultyMs, () => host(node).program?.add(`key ${i}`));
      }
    },
    invariant: (world) => firstOf(world, falseNegative),
    converged: (world) => firstOf(world, notFollowed),
  };
}

type Check = (publisher: SummaryNode, subscriber: SetSubscriber) => string | null;

/** The first complaint of a check over all pairs of running nodes. */
function firstOf({ hosts, host }: World<SummaryNode>, check: Check): string | null {
  for (const { id, program } of hosts)
    for (const [address, subscriber] of program?.subscribers ?? []) {
      const publisher = host(address.slice('sim:'.length)).program;
      const problem = publisher === undefined ? null : check(publisher, subscriber);
      if (problem !== null) return `${id} about ${address}: ${problem}`;
    }
  return null;
}

/** A subscriber that holds the publisher's very generation must find its keys. */
function falseNegative({ publisher, keys }: SummaryNode, subscriber: SetSubscriber): string | null {
  const isSame = subscriber.generation?.sum === publisher.generation.sum;
  if (!isSame || !subscriber.current || publisher.changedCount() > 0) return null;
  for (const key of keys) if (!subscriber.hasHash(hashKey(key))) return `false negative for ${key}`;
  return null;
}

function notFollowed({ publisher }: SummaryNode, subscriber: SetSubscriber): string | null {
  const { sum, sequence } = publisher.generation;
  if (subscriber.current && subscriber.generation?.sum === sum) return null;
  return `expected generation ${sequence}, got ${subscriber.generation?.sequence} (${subscriber.status})`;
}
