/**
 * A fleet that fetches one file, by the decisions of production (`DeliveryPlan`) in virtual time.
 *
 * The model of the network: every node and the origin send by a link of their own and receive by
 * another, both of the same rate. A link takes one block at a time, in the order of the requests; a
 * block has arrived when both links are through with it. Requests and states take the latency.
 * There is no loss, and the fleet is honest: faults of the network and lies have tests of the
 * process itself. Blocks have numbers and no bytes.
 *
 * A node follows some others at random, and is told every change of theirs that was gathered for
 * `gatherMs`. Nodes begin within the first half second. Some can be killed midway; the others
 * notice at once, as their connections break.
 */

import { type RandomStream, Simulation } from '@bloomery/sim';
import { DeliveryPlan, ORIGIN } from '../decisions/delivery-plan.ts';
import { blockLength, type FileShape, shapeOf } from '../decisions/file-shape.ts';

export interface SwarmSettings {
  readonly seed: number;
  readonly nodes: number;
  /** Bytes of the file. */
  readonly size: number;
  /** Rate of every link, 100 by default. */
  readonly megabitsPerSecond?: number;
  /** Peers that each node follows, 64 by default. */
  readonly follow?: number;
  readonly latencyMs?: number;
  readonly gatherMs?: number;
  readonly killed?: { readonly share: number; readonly atMs: number };
  /** Virtual time after which the simulation ends, an hour by default. */
  readonly untilMs?: number;
}

export interface SwarmResult {
  /** Time of one download over an idle link. */
  readonly oneDownloadMs: number;
  /** Times at which the nodes that were not killed had the whole file, in order. */
  readonly doneMs: readonly number[];
  readonly survivors: number;
  /** Copies of the file that the origin sent. */
  readonly originCopies: number;
  /** Bytes that came again, as a share of all that came. */
  readonly duplicateShare: number;
  readonly events: number;
  /** Hash over all events: equal for equal settings. */
  readonly hash: string;
}

/** The most requests that wait at a node; further ones are refused for a second. */
const MOST_WAITING = 64;
const BUSY_MS = 1000;
const START_MS = 500;
/** A node looks again after this time, because pauses end without an event. */
const LOOK_MS = 250;

export async function simulateSwarm(
  settings: SwarmSettings,
  options: { readonly signal?: AbortSignal } = {},
): Promise<SwarmResult> {
  const swarm = new Swarm(settings);
  await swarm.simulation.run({ ...options, untilMs: settings.untilMs ?? 3_600_000 });
  return swarm.result();
}

/** A link's two directions: the times at which they are free again. */
interface Link {
  upFreeAt: number;
  downFreeAt: number;
  /** Blocks that are being sent or wait. */
  sending: number;
}

interface Node extends Link {
  readonly name: string;
  readonly plan: DeliveryPlan;
  readonly has: Set<number>;
  readonly follows: Node[];
  readonly followers: Node[];
  started: boolean;
  killed: boolean;
  doneMs: number | null;
  /** Blocks to tell of, and whether a message is being gathered. */
  news: number[];
  isGathering: boolean;
}

class Swarm {
  readonly simulation: Simulation;
  readonly #shape: FileShape;
  readonly #bytesPerMs: number;
  readonly #latencyMs: number;
  readonly #gatherMs: number;
  readonly #origin: Link = { upFreeAt: 0, downFreeAt: 0, sending: 0 };
  readonly #nodes: Node[] = [];
  readonly #byName = new Map<string, Node>();
  #originBytes = 0;
  #receivedBytes = 0;
  #duplicateBytes = 0;

  constructor(settings: SwarmSettings) {
    const { seed, nodes, size, follow = 64, megabitsPerSecond = 100, killed } = settings;
    this.simulation = new Simulation({ seed });
    this.#shape = shapeOf(size);
    this.#bytesPerMs = megabitsPerSecond * 125;
    this.#latencyMs = settings.latencyMs ?? 1;
    this.#gatherMs = settings.gatherMs ?? 200;
    const random = this.simulation.random('swarm');
    for (let number = 0; number < nodes; number++) this.#addNode(`node ${number}`);
    for (const node of this.#nodes) this.#follow(node, Math.min(follow, nodes - 1), random);
    for (const node of this.#nodes) this.simulation.after(START_MS * random(), () => this.#start(node));
    if (killed !== undefined)
      this.simulation.after(killed.atMs, () => {
        for (const node of this.#nodes) if (random() < killed.share) this.#kill(node);
      });
  }

  result(): SwarmResult {
    const survivors = this.#nodes.filter((node) => !node.killed);
    const done = survivors.flatMap(({ doneMs }) => (doneMs === null ? [] : [doneMs]));
    const { size } = this.#shape;
    return {
      oneDownloadMs: size / this.#bytesPerMs,
      doneMs: done.sort((a, b) => a - b),
      survivors: survivors.length,
      originCopies: this.#originBytes / size,
      duplicateShare: this.#duplicateBytes / Math.max(1, this.#receivedBytes),
      events: this.simulation.eventCount,
      hash: this.simulation.hash,
    };
  }

  #addNode(name: string): void {
    const plan = new DeliveryPlan({
      shape: this.#shape,
      self: name,
      random: this.simulation.random(`plan of ${name}`),
    });
    plan.addOrigin();
    const node: Node = {
      name,
      plan,
      has: new Set(),
      follows: [],
      followers: [],
      started: false,
      killed: false,
      doneMs: null,
      news: [],
      isGathering: false,
      upFreeAt: 0,
      downFreeAt: 0,
      sending: 0,
    };
    this.#nodes.push(node);
    this.#byName.set(name, node);
  }

  #follow(node: Node, count: number, random: RandomStream): void {
    const followed = new Set<Node>();
    while (followed.size < count) {
      const other = this.#nodes[Math.floor(random() * this.#nodes.length)] as Node;
      if (other !== node) followed.add(other);
    }
    for (const other of followed) {
      node.follows.push(other);
      other.followers.push(node);
    }
  }

  #start(node: Node): void {
    if (node.killed) return;
    node.started = true;
    for (const other of node.follows) if (other.started) this.#connect(node, other);
    for (const other of node.followers) if (other.started) this.#connect(other, node);
    this.#look(node);
  }

  /** The first state of a peer. */
  #connect(node: Node, peer: Node): void {
    if (peer.killed) return;
    node.plan.addPeer(peer.name);
    this.#tell(node, peer, [...peer.has], peer.plan.fetching);
  }

  #tell(node: Node, peer: Node, blocks: readonly number[], fetching: readonly number[]): void {
    const { plan } = node;
    plan.describePeer(peer.name, { node: peer.name, isComplete: peer.doneMs !== null, asksOrigin: true });
    plan.peerHas(peer.name, blocks);
    plan.peerFetches(peer.name, fetching, this.simulation.elapsedMs);
  }

  /** Looks for work, now and as long as the file is not here. */
  #look(node: Node): void {
    if (node.killed || node.doneMs !== null) return;
    this.#request(node);
    this.simulation.after(LOOK_MS, () => this.#look(node));
  }

  #request(node: Node): void {
    if (node.killed || node.doneMs !== null) return;
    const now = this.simulation.elapsedMs;
    for (let next = node.plan.next(now); next !== null; next = node.plan.next(now)) {
      const { source, block } = next;
      if (source === ORIGIN) this.#gather(node);
      this.simulation.after(this.#latencyMs, () => this.#serve(node, source, block));
    }
  }

  #serve(node: Node, source: string, block: number): void {
    if (node.killed) return;
    const now = this.simulation.elapsedMs;
    const peer = source === ORIGIN ? null : (this.#byName.get(source) as Node);
    const link = peer ?? this.#origin;
    const isBusy = peer !== null && link.sending >= MOST_WAITING;
    if (isBusy || peer?.killed) {
      this.#failed(node, source, block, isBusy ? BUSY_MS : null);
      return;
    }
    const bytes = blockLength(this.#shape, block);
    const time = bytes / this.#bytesPerMs;
    const start = Math.max(now, link.upFreeAt);
    link.upFreeAt = start + time;
    link.sending++;
    if (peer === null) this.#originBytes += bytes;
    // The receiving link is taken when the block leaves, not while it waits at the sender.
    this.simulation.after(start - now, () => {
      node.downFreeAt = Math.max(start, node.downFreeAt) + time;
      this.simulation.after(node.downFreeAt + this.#latencyMs - start, () => {
        link.sending--;
        if (node.killed) return;
        if (peer?.killed) this.#failed(node, source, block, null);
        else this.#received(node, source, block, bytes);
      });
    });
  }

  #failed(node: Node, source: string, block: number, busyMs: number | null): void {
    node.plan.failed(source, block, this.simulation.elapsedMs, busyMs);
    this.#request(node);
  }

  #received(node: Node, source: string, block: number, bytes: number): void {
    this.#receivedBytes += bytes;
    const now = this.simulation.elapsedMs;
    // A second request that was ended is on its way all the same, and its bytes count.
    if (node.has.has(block)) this.#duplicateBytes += bytes;
    else {
      node.plan.received(source, block, now);
      node.has.add(block);
      node.news.push(block);
      if (node.plan.isDone) node.doneMs = now;
      this.#gather(node);
    }
    this.#request(node);
  }

  /** Tells the followers what is new, a while from now. */
  #gather(node: Node): void {
    if (node.isGathering) return;
    node.isGathering = true;
    this.simulation.after(this.#gatherMs + this.#latencyMs, () => {
      node.isGathering = false;
      if (node.killed) return;
      const { news } = node;
      node.news = [];
      const { fetching } = node.plan;
      for (const follower of node.followers) {
        if (!follower.started || follower.killed || follower.doneMs !== null) continue;
        this.#tell(follower, node, news, fetching);
        this.#request(follower);
      }
    });
  }

  #kill(node: Node): void {
    node.killed = true;
    for (const follower of node.followers) follower.plan.removePeer(node.name);
  }
}
