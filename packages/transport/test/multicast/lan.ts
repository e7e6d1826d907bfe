/**
 * Nodes with the multicast transport in a virtual network, one process per node. Loss is a rule of
 * nft at the input of a node, and a partition takes its cable out.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Space, VirtualNetwork } from '@bloomery/testkit/network/virtual-network';

const PROGRAM = fileURLToPath(new URL('lan-node.mjs', import.meta.url));
const GROUP_PORT = 3130;
const GROUP = `239.192.0.7:${GROUP_PORT}`;

/** An event that a node wrote. */
export interface LanEvent {
  readonly kind: string;
  readonly from?: string;
  readonly text?: string;
  readonly peer?: string;
  readonly state?: string;
  readonly repeated?: number;
  readonly fetched?: number;
  readonly givenUp?: number;
}

export class LanNode {
  readonly id: string;
  readonly space: Space;
  readonly events: LanEvent[] = [];
  readonly #child: ChildProcess;

  constructor(space: Space) {
    const { id, prefix, addresses } = space;
    this.id = id;
    this.space = space;
    const [command, ...words] = [...prefix, process.execPath, PROGRAM, id, addresses[0]!, GROUP];
    this.#child = spawn(command!, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => this.events.push(JSON.parse(line)));
  }

  say(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }

  /** The last state of a neighbour. */
  stateOf(peer: string): string | undefined {
    return this.events.findLast((event) => event.kind === 'peer' && event.peer === peer)?.state;
  }

  /** Whether the subscription to a neighbour is open. */
  hears(peer: string): boolean {
    const isAbout = ({ kind, from }: LanEvent) => from === peer && (kind === 'open' || kind === 'closed');
    return this.events.findLast(isAbout)?.kind === 'open';
  }

  /** Ends the program by closing its input. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.stdin!.end();
    await ended;
  }
}

export class Lan implements AsyncDisposable {
  readonly nodes: readonly LanNode[];
  readonly #network: VirtualNetwork;

  private constructor(network: VirtualNetwork, nodes: readonly LanNode[]) {
    this.#network = network;
    this.nodes = nodes;
  }

  static async start(ids: readonly string[]): Promise<Lan> {
    const network = await VirtualNetwork.start();
    const nodes: LanNode[] = [];
    try {
      for (const id of ids) nodes.push(new LanNode(await network.plugIn(id)));
      return new Lan(network, nodes);
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Lets this share of the multicast datagrams that arrive at a node vanish, in percent. */
  async lose({ space }: LanNode, percent: number): Promise<void> {
    await this.#network.lose(space, { percent, match: `udp dport ${GROUP_PORT}` });
  }

  /** Takes the cable of a node out, or puts it back. */
  async plug({ space }: LanNode, isIn: boolean): Promise<void> {
    await this.#network.plug(space, isIn);
  }

  /** Replaces the network card of a node by another one with the same address. */
  async replaceCard({ space }: LanNode): Promise<void> {
    await this.#network.replaceCard(space);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.end()));
    await this.#network[Symbol.asyncDispose]();
  }
}
