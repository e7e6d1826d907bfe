/**
 * Static meshes in which every node follows the set of every other one, by the library's
 * SetPublisher and SetSubscriber over the simulated network. Each node replaces some of its keys
 * and publishes once a minute. It is what the engine is measured by (bench/engine), and what
 * shows that a run does not depend on the kernel or on the version of Node.
 */

import { SimNetwork, Simulation } from '@bloomery/sim';
import type { Subscription, Transport } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { SetPublisher, SetSubscriber, SharedSets } from 'bloomery/wire';

export interface MeshOptions {
  readonly seed: number;
  readonly meshes: number;
  /** Nodes of one mesh. */
  readonly nodes: number;
  readonly keysPerNode: number;
  /** Keys that are replaced before each publication. */
  readonly replaced: number;
  /** Whether the nodes share decoded sets. It changes costs, and nothing else. */
  readonly shares?: boolean;
}

const MINUTE_MS = 60_000;
const DELAY_MS = 20;
const UNIVERSE = 2 ** 24;
const TIMEOUT_MS = 5000;

export class MeshFleet {
  readonly simulation: Simulation;
  readonly #network: SimNetwork;
  readonly #publishers = new Map<string, SetPublisher>();
  readonly #links: MeshLink[] = [];
  readonly #counts: Counts = { received: 0, taken: 0 };

  constructor({ seed, meshes, nodes, keysPerNode, replaced, shares = true }: MeshOptions) {
    this.simulation = new Simulation({ seed });
    this.#network = new SimNetwork(this.simulation);
    this.#network.setConditions({ delayMs: DELAY_MS });
    const shared = shares ? { shared: new SharedSets() } : {};
    for (let mesh = 0; mesh < meshes; mesh++) {
      const ids = Array.from({ length: nodes }, (_, i) => `${mesh}-${i}`);
      for (const id of ids) this.#add(id, ids, { keysPerNode, replaced }, shared);
    }
  }

  /** Messages that were received. */
  get received(): number {
    return this.#counts.received;
  }

  /** Those of them that brought a new generation. */
  get taken(): number {
    return this.#counts.taken;
  }

  /** Links whose subscriber holds the very generation of its publisher. */
  currentLinks(): number {
    return this.#links.filter(({ address, subscriber }) => {
      const { generation } = this.#publishers.get(address)!;
      return subscriber.current && subscriber.generation?.sum === generation.sum;
    }).length;
  }

  get links(): number {
    return this.#links.length;
  }

  /** The sums of all publishers, so that two runs can be compared by their contents. */
  sums(): bigint[] {
    return [...this.#publishers.values()].map(({ generation }) => generation.sum);
  }

  #add(
    id: string,
    ids: readonly string[],
    { keysPerNode, replaced }: Pick<MeshOptions, 'keysPerNode' | 'replaced'>,
    shared: { shared?: SharedSets },
  ): void {
    const peers = ids.filter((other) => other !== id).map((other) => `sim:${other}`);
    const transport = this.#network.join({ id, peers });
    const { clock } = transport;
    const publisher = new SetPublisher({ incarnation: 1, universe: UNIVERSE });
    this.#publishers.set(transport.address, publisher);
    let next = 0;
    const add = (count: number) => {
      for (const end = next + count; next < end; next++) publisher.addHash(hashKey(`${id} ${next}`));
    };
    add(keysPerNode);
    publisher.publish();
    transport.serve('ask', (request) => publisher.answer(request) ?? new Uint8Array(0));
    const publish = () => {
      for (let i = 0; i < replaced; i++) publisher.deleteHash(hashKey(`${id} ${next - keysPerNode + i}`));
      add(replaced);
      transport.publish('set', publisher.publish() ?? publisher.heartbeat());
      clock.after(MINUTE_MS, publish);
    };
    clock.after(MINUTE_MS * clock.random(), publish);
    for (const address of peers) {
      const subscriber = new SetSubscriber({ maxPositions: 1e6, ...shared });
      const link = new MeshLink(transport, address, subscriber, this.#counts);
      this.#links.push(link);
      transport.subscribe(address, 'set', link);
    }
  }
}

interface Counts {
  received: number;
  taken: number;
}

/** A node that follows another one. It is a class because a fleet has a million of them. */
class MeshLink implements Subscription {
  readonly #transport: Transport;
  readonly address: string;
  readonly subscriber: SetSubscriber;
  readonly #counts: Counts;

  constructor(transport: Transport, address: string, subscriber: SetSubscriber, counts: Counts) {
    this.#transport = transport;
    this.address = address;
    this.subscriber = subscriber;
    this.#counts = counts;
  }

  message(bytes: Uint8Array): void {
    this.#counts.received++;
    const { verdict, reply } = this.subscriber.receive(bytes);
    if (verdict === 'taken') this.#counts.taken++;
    if (reply !== undefined) this.#ask(reply);
  }

  open(): void {
    this.#ask(this.subscriber.request());
  }

  closed(): void {}

  #ask(request: Uint8Array): void {
    this.#transport.request(this.address, 'ask', request, { timeoutMs: TIMEOUT_MS }).then(
      (answer) => void this.subscriber.receive(answer),
      () => {},
    );
  }
}
