/**
 * A network of nodes that route by attenuated filters, in rounds: in each round every node sends
 * its array to its neighbours, as one publishing interval of production. Tables, arrays, messages
 * and the choice of hops are those of production (routing/decisions, the library's
 * `SnapshotPublisher`).
 *
 * Modelled: news travels one hop per round, so the arrays of a node d hops away are d rounds old.
 * Queries run between two rounds. A node that has failed does not answer, and its neighbours drop
 * its array in the round after. Not modelled: delays within a query, lost messages, and the
 * messages of the second tier, whose answers are exact here. The tests with real processes have all
 * of them.
 *
 * Neighbours share one array object, because 10,000 nodes with four copies each would take half a
 * gigabyte. The bytes of a node's state are those that a process would hold.
 */

import { type RandomStream, randomStream } from '@bloomery/sim';
import { type AttenuatedBloomFilter, hashKey, type KeyHash, type PathFilter } from 'bloomery';
import { SnapshotPublisher } from 'bloomery/wire';
import { chooseHop, newPath } from '../routing/decisions/choose-hop.ts';
import { planRoutes, type RoutePlan } from '../routing/decisions/route-plan.ts';
import { hashName, RouteTable } from '../routing/decisions/route-table.ts';
import { type Graph, randomGraph } from './random-graph.ts';

export interface RouteWorldOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly degree?: number | undefined;
  readonly objectsPerNode: number;
  /** Copies of each object. Default 10. */
  readonly replicas?: number | undefined;
  readonly levels?: number | undefined;
  readonly stateBytes?: number | undefined;
  /** One of this many nodes codes its messages, to measure them. Default: 20. */
  readonly measuredEvery?: number | undefined;
}

/** An object of the network. */
export interface SimObject {
  readonly name: string;
  readonly hash: KeyHash;
  readonly holders: Set<number>;
}

export interface SimNode {
  readonly id: string;
  readonly table: RouteTable;
  readonly publisher: SnapshotPublisher | null;
  /** The array as the neighbours know it. */
  array: AttenuatedBloomFilter | null;
  isUp: boolean;
}

/** A network, and the way of one query in it. */
export interface WorldPicture {
  readonly links: Graph;
  readonly start: number;
  readonly way: readonly number[];
  readonly holders: ReadonlySet<number>;
  readonly hops: number;
}

/** A key that came to a node or left it since the last round. */
export interface WorldChange {
  readonly node: number;
  readonly hash: KeyHash;
  readonly isThere: boolean;
}

/** The way of one query. */
export interface Walk {
  /** The node that holds the key, or null if the filters did not lead to one. */
  readonly holder: number | null;
  /** Forwardings, and ways back after false leads. */
  readonly hops: number;
  /** Times that a node sent the query back, or did not answer. */
  readonly detours: number;
  /** The nodes in the order in which they were visited. */
  readonly visited: readonly number[];
}

export class RouteWorld {
  readonly plan: RoutePlan;
  readonly random: RandomStream;
  readonly nodes: readonly SimNode[];
  readonly links: Graph;
  readonly objects: SimObject[] = [];
  /** Bytes of the last round's messages, and their number, of the nodes that are measured. */
  measured = { messages: 0, bytes: 0, nodes: 0 };
  /** The changes since the last round, in order. */
  changes: WorldChange[] = [];
  readonly #replicas: number;
  readonly #objects = new Map<string, SimObject>();
  /** The second tier: holders by key, entered and removed by the nodes themselves. */
  readonly #directory = new Map<string, Set<number>>();
  #objectCount = 0;

  constructor(options: RouteWorldOptions) {
    const { seed, nodes, degree = 4, objectsPerNode, replicas = 10, measuredEvery = 20 } = options;
    this.plan = planRoutes({
      degree,
      objectsPerNode,
      ...(options.levels && { levels: options.levels }),
      ...(options.stateBytes && { stateBytes: options.stateBytes }),
    });
    this.random = randomStream(seed, 'route world');
    this.links = randomGraph(nodes, degree, randomStream(seed, 'route graph'));
    this.#replicas = Math.min(replicas, nodes);
    this.nodes = this.links.map((_, number) => {
      const table = new RouteTable({ plan: this.plan });
      const publisher =
        number % measuredEvery === 0
          ? new SnapshotPublisher({ frame: table.outgoing().encode(), incarnation: 1 })
          : null;
      return { id: String(number), table, publisher, array: null, isUp: true };
    });
    for (let i = 0; i < (nodes * objectsPerNode) / this.#replicas; i++) this.addObject();
  }

  /** Adds an object with its copies at random nodes. */
  addObject(): SimObject {
    const name = `object ${this.#objectCount++}`;
    const object: SimObject = { name, hash: hashKey(name), holders: new Set() };
    while (object.holders.size < this.#replicas) {
      const number = this.below(this.nodes.length);
      if (!this.nodes[number].isUp || object.holders.has(number)) continue;
      object.holders.add(number);
      this.nodes[number].table.announce(object.hash);
      this.#enter(number, object.hash);
      this.changes.push({ node: number, hash: object.hash, isThere: true });
    }
    this.objects.push(object);
    this.#objects.set(hashName(object.hash), object);
    return object;
  }

  /** Removes a random object from all its holders. */
  removeObject(): void {
    const at = this.below(this.objects.length);
    const object = this.objects[at];
    for (const number of object.holders) {
      this.nodes[number].table.withdraw(object.hash);
      this.#leave(number, object.hash);
      this.changes.push({ node: number, hash: object.hash, isThere: false });
    }
    object.holders.clear();
    this.#objects.delete(hashName(object.hash));
    this.objects[at] = this.objects[this.objects.length - 1];
    this.objects.pop();
  }

  /** Ends a node without a word. Its copies are gone. */
  failNode(number: number): void {
    const node = this.nodes[number];
    node.isUp = false;
    node.array = null;
    for (const hash of [...node.table.ownHashes()]) {
      node.table.withdraw(hash);
      this.#leave(number, hash);
      this.objectOf(hash)?.holders.delete(number);
    }
    for (const neighbour of this.links[number]) node.table.setNeighbour(String(neighbour), null);
  }

  /** Starts a node again, without keys. */
  startNode(number: number): void {
    this.nodes[number].isUp = true;
  }

  /** Exchanges the ends of two links, as two nodes that move do. */
  moveLink(): void {
    const [a, c] = [this.below(this.nodes.length), this.below(this.nodes.length)];
    const [b, d] = [this.#linkOf(a), this.#linkOf(c)];
    if (new Set([a, b, c, d]).size < 4 || this.links[a].has(c) || this.links[b].has(d)) return;
    for (const [x, y] of [
      [a, b],
      [c, d],
    ] as const)
      this.#disconnect(x, y);
    for (const [x, y] of [
      [a, c],
      [b, d],
    ] as const) {
      this.links[x].add(y);
      this.links[y].add(x);
    }
  }

  /**
   * One round: every node that runs sends its array, and then all take those of their neighbours.
   */
  round(): void {
    const measured = { messages: 0, bytes: 0, nodes: 0 };
    for (const node of this.nodes) {
      node.array = node.isUp ? node.table.outgoing() : null;
      if (node.publisher === null || node.array === null) continue;
      const message = node.publisher.publish(node.array.encode());
      measured.nodes++;
      if (message !== null) measured.messages++;
      measured.bytes += message?.length ?? node.publisher.heartbeat().length;
    }
    this.measured = measured;
    this.changes = [];
    for (const [number, { table, isUp }] of this.nodes.entries())
      if (isUp)
        for (const neighbour of this.links[number])
          table.setNeighbour(String(neighbour), this.nodes[neighbour].array);
  }

  /** Rounds until news has travelled as far as the arrays reach. */
  settle(): void {
    for (let i = 0; i < this.plan.levels; i++) this.round();
  }

  /** Sends a query from a node along the filters. */
  walk(start: number, hash: KeyHash): Walk {
    const path = newPath(this.below(65_536));
    const state = { hopsLeft: this.plan.levels, hops: 0, detours: 0, visited: [] as number[], path, hash };
    const holder = this.#visit(start, this.plan.levels, state);
    return { holder, hops: state.hops, detours: state.detours, visited: state.visited };
  }

  /** Hops to the nearest holder that runs, up to a limit; Infinity if none is within it. */
  distance(start: number, holders: ReadonlySet<number>, limit: number): number {
    let front = [start];
    const seen = new Set(front);
    for (let hops = 0; hops <= limit; hops++) {
      if (front.some((node) => holders.has(node))) return hops;
      const next: number[] = [];
      for (const node of front)
        for (const neighbour of this.links[node]) {
          if (seen.has(neighbour) || !this.nodes[neighbour].isUp) continue;
          seen.add(neighbour);
          next.push(neighbour);
        }
      front = next;
    }
    return Infinity;
  }

  /** The nodes within some hops of one, itself included. */
  ball(start: number, radius: number): number[] {
    const seen = new Set([start]);
    let front = [start];
    for (let hops = 0; hops < radius; hops++)
      front = front.flatMap((node) =>
        [...this.links[node]].filter((other) => !seen.has(other) && seen.add(other)),
      );
    return [...seen];
  }

  /** The object of a hash that a table holds. */
  objectOf(hash: KeyHash): SimObject | undefined {
    return this.#objects.get(hashName(hash));
  }

  /** The holders of a key, from a directory that is told every change at once. */
  secondTier(hash: KeyHash): ReadonlySet<number> {
    return this.#directory.get(hashName(hash)) ?? new Set();
  }

  /** Whether a node that runs holds a key, by the tables of all nodes and not by a directory. */
  isHeld(hash: KeyHash): boolean {
    return this.nodes.some(({ isUp, table }) => isUp && table.holds(hash));
  }

  /** A query whose copy is as far away as the filters reach, for a picture. */
  picture(): WorldPicture {
    for (let attempt = 0; ; attempt++) {
      const start = this.below(this.nodes.length);
      const object = this.objects[this.below(this.objects.length)];
      const { holder, hops, visited } = this.walk(start, object.hash);
      // Small networks may have no object that is so far away from any node.
      const isFar = hops === this.plan.levels || attempt > 1000;
      if ((holder === null || !isFar) && attempt < 5000) continue;
      const { links } = this;
      return { links, start, way: visited, holders: object.holders, hops };
    }
  }

  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  #visit(number: number, reach: number, state: WalkState): number | null {
    const node = this.nodes[number];
    state.visited.push(number);
    state.path.visit(node.id);
    if (!node.isUp) return null;
    for (;;) {
      const { hash, hopsLeft, path } = state;
      const hop = chooseHop(node.table, { hash, reach, hopsLeft, path });
      if (hop.kind === 'here') return number;
      if (hop.kind === 'back') return null;
      state.hopsLeft--;
      state.hops++;
      const holder = this.#visit(Number(hop.to), hop.reach, state);
      if (holder !== null) return holder;
      // The way back is a hop as well.
      state.hops++;
      state.detours++;
    }
  }

  #enter(node: number, hash: KeyHash): void {
    const name = hashName(hash);
    const holders = this.#directory.get(name);
    if (holders === undefined) this.#directory.set(name, new Set([node]));
    else holders.add(node);
  }

  #leave(node: number, hash: KeyHash): void {
    const name = hashName(hash);
    const holders = this.#directory.get(name);
    holders?.delete(node);
    if (holders?.size === 0) this.#directory.delete(name);
  }

  #linkOf(node: number): number {
    const links = [...this.links[node]];
    return links[this.below(links.length)];
  }

  #disconnect(a: number, b: number): void {
    this.links[a].delete(b);
    this.links[b].delete(a);
    this.nodes[a].table.setNeighbour(String(b), null);
    this.nodes[b].table.setNeighbour(String(a), null);
  }
}

interface WalkState {
  readonly hash: KeyHash;
  readonly path: PathFilter;
  readonly visited: number[];
  hopsLeft: number;
  hops: number;
  detours: number;
}
