/**
 * A fleet of real cache nodes on this machine, each in a process of its own, which all are each
 * other's neighbours. Tests and benchmarks start it, kill and restart nodes, and put a relay on
 * each link to watch it or to break it.
 *
 * Ports must be known before the first node starts, because each node's settings name the others.
 * They are taken from below the range in which the kernel chooses the ports of outgoing
 * connections: 16 nodes have 240 streams between them, and one of these would take the port of a
 * node that has not started yet. If another program takes a port all the same, the whole fleet
 * starts again on other ports.
 *
 * The program is given by the caller, who knows how it is built. It reads its settings from a file,
 * so that a test can change them between two starts.
 */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, until } from '../eventually.ts';
import { TcpRelay } from '../relay/tcp-relay.ts';
import { FleetNode } from './fleet-node.ts';

/** The secret of every fleet, for programs of a test that take part in one. */
export const FLEET_SECRET = 'a secret that only the nodes of this fleet know';

const ATTEMPTS = 5;
/** Time for a lot of nodes that has started. */
const CURRENT_MS = 120_000;
const LOWEST_PORT = 12_000;
const HIGHEST_PORT = 32_000;

export interface FleetOptions {
  readonly nodes: number;
  /** The arguments of Node that start the program with a file of settings. */
  readonly program: (settingsFile: string) => readonly string[];
  /** Further settings of a node, by their names in a configuration file. */
  readonly settings: (index: number, folder: string) => Readonly<Record<string, unknown>>;
  /** Puts a relay on each link, from the node that asks to the peer port of the other. */
  readonly relays?: { readonly record?: boolean };
  /** Addresses that a node is given besides those of the others; `own` is its own. */
  readonly furtherPeers?: (index: number, own: string) => readonly string[];
  /** False for nodes that do not know each other. */
  readonly cooperates?: boolean;
  /** True for nodes whose settings name certificates for mutual TLS. */
  readonly isTls?: boolean;
  /**
   * Processes that start at a time, after those before them are current. Default: all of them. On
   * two cores, 64 that start together are so slow that they take each other for silent.
   */
  readonly atOnce?: number;
}

export class Fleet implements AsyncDisposable {
  readonly folder: string;
  readonly nodes: readonly FleetNode[];
  readonly #relays: ReadonlyMap<string, TcpRelay>;

  private constructor(folder: string, nodes: readonly FleetNode[], relays: ReadonlyMap<string, TcpRelay>) {
    this.folder = folder;
    this.nodes = nodes;
    this.#relays = relays;
  }

  /** Starts all nodes, and waits until each of them listens. */
  static async start(options: FleetOptions): Promise<Fleet> {
    for (let attempt = 1; ; attempt++) {
      const fleet = await Fleet.#prepare(options);
      try {
        const { nodes } = fleet;
        const { atOnce = nodes.length, cooperates = true } = options;
        for (let first = 0; first < nodes.length; first += atOnce) {
          if (first > 0 && cooperates) await fleet.untilCurrent(CURRENT_MS);
          await startAll(nodes.slice(first, first + atOnce));
        }
        return fleet;
      } catch (error) {
        await fleet[Symbol.asyncDispose]();
        if (attempt === ATTEMPTS || !String(error).includes('EADDRINUSE')) throw error;
      }
    }
  }

  static async #prepare(options: FleetOptions): Promise<Fleet> {
    const { nodes: count, program, settings, furtherPeers, cooperates = true, isTls = false } = options;
    const folder = mkdtempSync(join(tmpdir(), 'bloomery-fleet-'));
    const secret = join(folder, 'secret');
    writeFileSync(secret, `${FLEET_SECRET}\n`);
    chmodSync(secret, 0o600);
    const ports = await freePorts(2 * count);
    const peerPorts = ports.slice(count);
    const relays = new Map<string, TcpRelay>();
    const nodes: FleetNode[] = [];
    for (let index = 0; index < count; index++) {
      const peer: string[] = [];
      for (const [other, target] of peerPorts.entries()) {
        if (other === index) continue;
        if (options.relays === undefined) peer.push(urlOf(target, isTls));
        else {
          const relay = await TcpRelay.start({ target, record: options.relays.record === true });
          relays.set(`${index}>${other}`, relay);
          peer.push(urlOf(relay.port, isTls));
        }
      }
      peer.push(...(furtherPeers?.(index, urlOf(peerPorts[index]!, isTls)) ?? []));
      const accessLog = join(folder, `access-${index}.log`);
      const all = {
        name: nameOf(index),
        listen: [`127.0.0.1:${ports[index]}`],
        disk: false,
        logFormat: 'json',
        shutdownTimeout: '2s',
        accessLog,
        ...(cooperates ? { peerListen: `127.0.0.1:${peerPorts[index]}`, peerSecret: secret, peer } : {}),
        ...settings(index, folder),
      };
      const file = join(folder, `node-${index}.json`);
      writeFileSync(file, `${JSON.stringify(all, null, 1)}\n`);
      nodes.push(
        new FleetNode({
          index,
          name: nameOf(index),
          port: ports[index]!,
          peerPort: peerPorts[index]!,
          accessLog,
          args: program(file),
        }),
      );
    }
    return new Fleet(folder, nodes, relays);
  }

  /** The relay on the link from a node that asks to another one. */
  relay(from: number, to: number): TcpRelay {
    const relay = this.#relays.get(`${from}>${to}`);
    if (relay === undefined)
      throw new RangeError(
        `Cannot find a relay: expected a fleet with relays and a link from ${from} to ${to}, got none`,
      );
    return relay;
  }

  /** All relays, by the link that they are on. */
  get relays(): readonly TcpRelay[] {
    return [...this.#relays.values()];
  }

  /**
   * Waits until each running node may ask each other running node: the links are up and the
   * summaries have come.
   */
  async untilCurrent(ms?: number): Promise<void> {
    const running = this.nodes.filter((node) => node.isRunning);
    const names = running.map(({ name }) => name);
    for (const node of running) {
      const others = names.filter((name) => name !== node.name);
      const isCurrent = async () => {
        const peers = (await node.status()).cooperation?.peers ?? [];
        const ready = peers.filter(({ state, masked }) => state === 'up' && masked === null);
        return others.every((name) => ready.some(({ id }) => id === name));
      };
      await eventually(isCurrent, ms, `${node.name} to have the summaries of ${others.join(', ')}`);
    }
  }

  /** Waits until all links are up, be the neighbours believed or not. */
  async untilUp(): Promise<void> {
    for (const node of this.nodes) {
      const isUp = async () =>
        (await node.status()).cooperation?.peers.every(({ state }) => state !== 'down');
      await until(`${node.name} to have its neighbours`, isUp);
    }
  }

  /** Kills all nodes that still run, and removes their files. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    for (const relay of this.relays) await relay[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** All of them end their start before a failure is told, so that none is left behind. */
async function startAll(nodes: readonly FleetNode[]): Promise<void> {
  const started = await Promise.allSettled(nodes.map((node) => node.start()));
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function nameOf(index: number): string {
  return `node-${index}`;
}

function urlOf(port: number, isTls: boolean): string {
  return `${isTls ? 'https' : 'http'}://127.0.0.1:${port}`;
}

/** Ports on which no program listens now. */
async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT));
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
