/**
 * A fleet of real cache nodes in a virtual network: each node in a namespace of its own, a NATS
 * server in another, the origin and the clients in two more. The nodes and the NATS server share
 * one network, and all faults are made there. Clients and origin are in a second one, which stays
 * well, so no request has an excuse to fail.
 *
 *     clients ──┐                                ┌── origin         second network, well
 *               ├── node-0 ── node-1 ── node-2 ──┤
 *                      └───────┴── nats ──┘                         first network, with faults
 *
 * Before each peer port and before the NATS server stands a TcpRelay, in the same namespace. It
 * delays, stalls and cuts, and the packets between two namespaces still have the addresses of the
 * nodes, so rules of nft hold for them.
 *
 * *Current* means here: each node has of each other node a summary that is as late as the one which
 * that node had published when the wait began, and the links are up.
 */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import { FLEET_SECRET } from '../fleet/fleet.ts';
import { FleetNode, type FleetStatus } from '../fleet/fleet-node.ts';
import { SpaceSockets } from '../network/space-sockets.ts';
import { type Space, VirtualNetwork } from '../network/virtual-network.ts';
import { NatsServer } from '../programs/nats-server.ts';
import { TcpRelay } from '../relay/tcp-relay.ts';

/** The network with the faults, and the one of clients and origin. */
const FLEET = 0;
const OUTSIDE = 1;
const CLIENT_PORT = 3128;
const PEER_PORT = 3129;
const HIDDEN_PEER_PORT = 3130;
const NATS_PORT = 4222;
const ORIGIN_PORT = 80;
/** Pause between two looks at all nodes, which costs each of them some milliseconds. */
const LOOK_MS = 50;

export interface NetworkFleetOptions {
  readonly nodes: number;
  /** The way of the summaries. Objects go over HTTP in both cases. */
  readonly transport: 'http' | 'nats';
  /** The arguments of Node that start the program with a file of settings. */
  readonly program: (settingsFile: string) => readonly string[];
  /** Further settings of a node, by their names in a configuration file. */
  readonly settings: (index: number, folder: string) => Readonly<Record<string, unknown>>;
  /** Starts the origin on a server that listens in its namespace. */
  readonly serveOrigin: (listener: Server) => Promise<unknown>;
}

/** A node, its place in the network, and the relay before its peer port. */
export interface PlacedNode {
  readonly node: FleetNode;
  readonly space: Space;
  readonly relay: TcpRelay;
}

/** The NATS server, its place in the network, and the relay before it. */
interface PlacedServer {
  readonly server: NatsServer;
  readonly space: Space;
  readonly relay: TcpRelay;
}

export class NetworkFleet implements AsyncDisposable {
  readonly network: VirtualNetwork;
  readonly folder = mkdtempSync(join(tmpdir(), 'bloomery-faults-'));
  readonly #options: NetworkFleetOptions;
  readonly #parts: AsyncDisposable[] = [];
  #placed: readonly PlacedNode[] = [];
  #nats: PlacedServer | null = null;
  #originHost = '';
  #originAgent: Agent | null = null;

  private constructor(network: VirtualNetwork, options: NetworkFleetOptions) {
    this.network = network;
    this.#options = options;
  }

  /** Starts everything, and waits until all nodes are current. */
  static async start(options: NetworkFleetOptions): Promise<NetworkFleet> {
    const fleet = new NetworkFleet(await VirtualNetwork.start(2), options);
    try {
      await fleet.#start();
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  get placed(): readonly PlacedNode[] {
    return this.#placed;
  }

  get nodes(): readonly FleetNode[] {
    return this.#placed.map(({ node }) => node);
  }

  /** The NATS server, or null in a fleet over HTTP. */
  get nats(): PlacedServer | null {
    return this.#nats;
  }

  /** An agent of the clients whose connections lead to the origin. */
  get originAgent(): Agent {
    return this.#originAgent!;
  }

  /** All relays: those before the nodes, and that before the NATS server. */
  get relays(): readonly TcpRelay[] {
    return [...this.#placed, ...(this.#nats === null ? [] : [this.#nats])].map(({ relay }) => relay);
  }

  /** All spaces of the network with the faults. */
  get spaces(): readonly Space[] {
    return [...this.#placed, ...(this.#nats === null ? [] : [this.#nats])].map(({ space }) => space);
  }

  /** Waits until all nodes are current, and returns the time that it took. */
  async untilCurrent(ms: number): Promise<number> {
    const began = performance.now();
    const wanted = new Map<string, string>();
    for (const node of this.nodes)
      wanted.set(node.name, (await node.status()).cooperation?.own.generation ?? '');
    let missing: string[] = [];
    const isCurrent = async () => {
      const looks = this.nodes.map(async (node) => missingOf(await node.status(), node.name, wanted));
      missing = (await Promise.all(looks)).flat();
      return missing.length === 0;
    };
    try {
      await eventually(isCurrent, ms, 'all nodes to be current', LOOK_MS);
    } catch (cause) {
      throw new Error(`Cannot go on: expected current nodes within ${ms} ms, got ${missing.join('; ')}`, {
        cause,
      });
    }
    return performance.now() - began;
  }

  /** Waits until each node of one side has the nodes of the other as down, and the reverse. */
  async untilApart(one: readonly FleetNode[], other: readonly FleetNode[], ms?: number): Promise<void> {
    const apart = async (side: readonly FleetNode[], beyond: readonly FleetNode[]) => {
      for (const node of side)
        for (const { name } of beyond) if ((await node.peer(name))?.state !== 'down') return false;
      return true;
    };
    await eventually(
      async () => (await apart(one, other)) && (await apart(other, one)),
      ms,
      'both sides to have the other as down',
      LOOK_MS,
    );
  }

  /** Ends everything, in any state. The network goes last, with all processes that are left. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { node } of this.#placed) await node.kill().catch(() => {});
    for (const part of this.#parts.reverse()) await part[Symbol.asyncDispose]();
    await this.network[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const { nodes: count, transport, serveOrigin } = this.#options;
    const origin = await this.network.plugIn('origin', [OUTSIDE]);
    const clients = await this.network.plugIn('clients', [OUTSIDE]);
    const originSockets = this.#keep(new SpaceSockets(origin));
    const clientSockets = this.#keep(new SpaceSockets(clients));
    this.#originHost = origin.addresses[OUTSIDE]!;
    const place = { host: this.#originHost, port: ORIGIN_PORT };
    this.#originAgent = clientSockets.agentFor(place);
    await serveOrigin(await originSockets.listen(place));
    if (transport === 'nats') this.#nats = await this.#startNats();
    const spaces: Space[] = [];
    for (let index = 0; index < count; index++)
      spaces.push(await this.network.plugIn(`node-${index}`, [FLEET, OUTSIDE]));
    const secret = join(this.folder, 'secret');
    writeFileSync(secret, `${FLEET_SECRET}\n`);
    chmodSync(secret, 0o600);
    const placed: PlacedNode[] = [];
    for (const [index, space] of spaces.entries()) {
      const relay = await this.#relayBefore(space, PEER_PORT, () => HIDDEN_PEER_PORT);
      placed.push({ node: this.#newNode(index, spaces, secret, clientSockets), space, relay });
    }
    this.#placed = placed;
    await Promise.all(this.nodes.map((node) => node.start()));
    await this.untilCurrent(100_000);
  }

  #newNode(index: number, spaces: readonly Space[], secret: string, clients: SpaceSockets): FleetNode {
    const space = spaces[index]!;
    const name = `node-${index}`;
    const outside = space.addresses[OUTSIDE]!;
    const accessLog = join(this.folder, `access-${index}.log`);
    const peerAddress = ({ addresses }: Space) => `http://${addresses[FLEET]}:${PEER_PORT}`;
    const others = spaces.filter((other) => other !== space);
    const links =
      this.#nats === null
        ? { peer: others.map(peerAddress) }
        : {
            nats: `nats://${this.#nats.space.addresses[FLEET]}:${NATS_PORT}`,
            natsFleet: 'faults',
            peerAddress: peerAddress(space),
          };
    const all = {
      name,
      listen: [`${outside}:${CLIENT_PORT}`],
      allowClient: ['10.0.0.0/8'],
      adminClient: ['10.0.0.0/8'],
      disk: false,
      logFormat: 'json',
      shutdownTimeout: '2s',
      peerListen: `127.0.0.1:${HIDDEN_PEER_PORT}`,
      peerSecret: secret,
      upstream: [`/=http://${this.#originHost}:${ORIGIN_PORT}/`],
      ...links,
      ...this.#options.settings(index, this.folder),
    };
    const file = join(this.folder, `${name}.json`);
    writeFileSync(file, `${JSON.stringify(all, null, 1)}\n`);
    const agent = clients.agentFor({ host: outside, port: CLIENT_PORT });
    return new FleetNode({
      index,
      name,
      port: CLIENT_PORT,
      peerPort: PEER_PORT,
      accessLog,
      args: this.#options.program(file),
      prefix: space.prefix,
      agent,
    });
  }

  async #startNats(): Promise<PlacedServer> {
    const space = await this.network.plugIn('nats', [FLEET]);
    const server = this.#keep(await NatsServer.start({ prefix: space.prefix }));
    const relay = await this.#relayBefore(space, NATS_PORT, () => server.port);
    return { server, space, relay };
  }

  /** A relay on a port of a space, to a port of its loopback. */
  async #relayBefore(space: Space, port: number, target: () => number): Promise<TcpRelay> {
    const sockets = this.#keep(new SpaceSockets(space));
    return this.#keep(
      await TcpRelay.start({
        listener: await sockets.listen({ host: space.addresses[FLEET]!, port }),
        target: () => sockets.connect({ host: '127.0.0.1', port: target() }),
      }),
    );
  }

  #keep<Part extends AsyncDisposable>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }
}

/** The neighbours of a node of which it is not current, in words for an error. */
function missingOf(
  { cooperation }: FleetStatus,
  self: string,
  wanted: ReadonlyMap<string, string>,
): string[] {
  return [...wanted].flatMap(([name, generation]) => {
    if (name === self) return [];
    const peer = cooperation?.peers.find(({ id }) => id === name);
    if (peer === undefined) return [`${self} does not know ${name}`];
    if (peer.state === 'up' && isAsLate(peer.generation, generation)) return [];
    return [`${self} has ${name} ${peer.state} at ${peer.generation}, not ${generation}: ${peer.masked}`];
  });
}

/** Whether a state of a summary is that one or a later one. Both are `epoch.sequence`. */
function isAsLate(held: string | null, wanted: string): boolean {
  const [epoch = 0, sequence = 0] = (held ?? '').split('.').map(Number);
  const [wantedEpoch = 0, wantedSequence = 0] = wanted.split('.').map(Number);
  return epoch > wantedEpoch || (epoch === wantedEpoch && sequence >= wantedSequence);
}
