/**
 * A route node as a process: a peer port for the other nodes, or a NATS server in its place, and a
 * control port on loopback for programs of this machine that announce and locate.
 *
 *     POST /announce?key=…    200 and {"settled": true} when the directory has confirmed it
 *     POST /withdraw?key=…    likewise
 *     GET  /locate?key=…      200 and the answer: found, absent or unknown
 *     GET  /status            members, neighbours, keys, bytes
 *
 * The control port trusts everyone who reaches it, so it listens on loopback. It refuses requests
 * whose Host is not loopback, and changes without the field `Bloomery-Admin`, which a page of
 * another site cannot send.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fleetKeys, systemClock, type Transport } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import { type NatsEvent, NatsTransport } from '@bloomery/transport/nats';
import { planRoutes, type RoutePlanOptions } from '../decisions/route-plan.ts';
import { RendezvousDirectory } from '../directory/rendezvous-directory.ts';
import { RouteNode } from '../route-node.ts';

export interface RouteDaemonOptions {
  /** The name of this node, unique in the network. */
  readonly id: string;
  /** The secret of the network: at least 16 random bytes. */
  readonly secret: Uint8Array;
  /** The peer port: host and port, 0 for any. It is not opened with `nats`. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The URLs of the other members' peer ports. */
  readonly peers?: readonly string[] | undefined;
  /** The URL of a NATS server, over which members find each other. */
  readonly nats?: string | undefined;
  /** The name of the network on that server. Default `route`. */
  readonly fleet?: string | undefined;
  /** The control port on loopback. Default 0: any. */
  readonly controlPort?: number | undefined;
  /** The same for all nodes. */
  readonly plan: RoutePlanOptions;
  readonly degree?: number | undefined;
  readonly intervalMs?: number | undefined;
  readonly beatMs?: number | undefined;
  /** Told what happens to the connection to the NATS server. */
  readonly event?: NatsEvent | undefined;
  /** Time between two heartbeats of a link. Default: that of the adapter. */
  readonly heartbeatMs?: number | undefined;
}

const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;
const MOST_KEY = 4096;

export class RouteDaemon {
  readonly node: RouteNode;
  /** The address of the control port. */
  readonly control: string;
  /** The port of the peer port, or null with NATS. */
  readonly peerPort: number | null;
  readonly #transport: Transport;
  readonly #servers: readonly Server[];

  private constructor(
    node: RouteNode,
    transport: Transport,
    servers: readonly Server[],
    peerPort: number | null,
  ) {
    this.node = node;
    this.#transport = transport;
    this.#servers = servers;
    this.peerPort = peerPort;
    const { port } = servers[0].address() as AddressInfo;
    this.control = `http://127.0.0.1:${port}`;
    servers[0].on('request', (request, response) => void this.#control(request, response));
  }

  static async start(options: RouteDaemonOptions): Promise<RouteDaemon> {
    const { id, secret, listen, peers = [], nats, fleet = 'route', degree, intervalMs, beatMs } = options;
    const limits = options.heartbeatMs === undefined ? {} : { heartbeatMs: options.heartbeatMs };
    // A network that does not fit its memory is refused before anything is opened.
    const plan = planRoutes(options.plan);
    const control = await listening(createServer(), '127.0.0.1', options.controlPort ?? 0);
    const servers = [control];
    let transport: Transport;
    let peerPort: number | null = null;
    try {
      if (nats !== undefined) {
        // Members on a NATS server need no address to be reached; this one only names the node.
        const address = `http://${encodeURIComponent(id)}.route.invalid`;
        transport = await NatsTransport.load({
          id,
          secret,
          fleet,
          address,
          server: { url: nats },
          limits,
          event: options.event,
        });
      } else {
        const http = new HttpTransport({ id, secret, peers, limits });
        const server = createServer((request, response) => {
          if (!http.handle(request, response)) response.writeHead(404).end();
        });
        await listening(server, listen.host, listen.port);
        peerPort = (server.address() as AddressInfo).port;
        servers.push(server);
        transport = http;
      }
    } catch (error) {
      // A control port that stays open would keep the process alive.
      for (const server of servers) server.close();
      throw error;
    }
    const clock = systemClock;
    const key = fleetKeys(secret).summary;
    const directory = new RendezvousDirectory({
      transport,
      clock,
      beatMs,
      settleMs: nats === undefined ? 0 : undefined,
    });
    const node = new RouteNode({ transport, clock, plan, key, degree, intervalMs, directory });
    return new RouteDaemon(node, transport, servers, peerPort);
  }

  /** Takes over a new list of members, if members are given as a list. */
  changePeers(peers: readonly string[]): void {
    if (this.#transport instanceof HttpTransport) this.#transport.changePeers(peers);
  }

  status() {
    const members = this.#transport.peers();
    return {
      id: this.#transport.self.id,
      members: members.map(({ id, address, state }) => ({ id, address, state })),
      neighbours: this.node.neighbours(),
      keys: this.node.table.size,
      stateBytes: this.node.table.neighbourBytes,
      publishedBytes: this.node.publishedBytes,
    };
  }

  async close(): Promise<void> {
    await this.node.close();
    await this.#transport.close();
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
  }

  async #control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const say = (code: number, body: unknown) =>
      response.writeHead(code, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
    if (!LOOPBACK.test(request.headers.host ?? '')) return void say(403, { error: 'not loopback' });
    const target = targetOf(request.url ?? '/');
    if (target === null) return void say(400, { error: 'expected a path' });
    const { pathname, searchParams } = target;
    const isChange = pathname === '/announce' || pathname === '/withdraw';
    if (isChange && (request.method !== 'POST' || request.headers['bloomery-admin'] === undefined))
      return void say(403, { error: 'expected POST with the field Bloomery-Admin' });
    if (pathname === '/status') return void say(200, this.status());
    const key = searchParams.get('key');
    if (key === null || key.length > MOST_KEY) return void say(400, { error: 'expected a key' });
    try {
      if (pathname === '/locate') say(200, await this.node.locate(key));
      else if (isChange)
        say(200, { settled: await this.node[pathname === '/announce' ? 'announce' : 'withdraw'](key) });
      else say(404, { error: 'expected announce, withdraw, locate or status' });
    } catch (error) {
      say(500, { error: (error as Error).message });
    }
  }
}

/** The target of a request, or null for one that is no path, such as `//`. */
function targetOf(path: string): URL | null {
  try {
    return new URL(path, 'http://localhost');
  } catch {
    return null;
  }
}

async function listening(server: Server, host: string, port: number): Promise<Server> {
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}
