/**
 * Nodes with the HTTP transport on real servers on loopback, each behind a relay with faults. The
 * servers listen from the beginning, so that addresses are known before their nodes start; until
 * then the relay refuses.
 */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { HttpTransport, type HttpTransportOptions } from '../../src/http/index.ts';

export const SECRET = Uint8Array.from({ length: 32 }, (_, i) => i);

/** Short intervals, but long enough for a machine with other work. */
const LIMITS = { heartbeatMs: 400, firstPauseMs: 10, longestPauseMs: 50 };

const NO_NODE: RequestListener = (_, response) => void response.writeHead(404).end();

interface Place {
  readonly server: Server;
  readonly relay: TcpRelay;
  handle: RequestListener;
}

export class HttpFleet {
  readonly #places: ReadonlyMap<string, Place>;
  readonly #transports: HttpTransport[] = [];

  private constructor(places: ReadonlyMap<string, Place>) {
    this.#places = places;
  }

  static async withNames(...names: string[]): Promise<HttpFleet> {
    const places = names.map(async (name) => [name, await newPlace()] as const);
    return new HttpFleet(new Map(await Promise.all(places)));
  }

  relay(name: string): TcpRelay {
    return this.#place(name).relay;
  }

  address(name: string): string {
    return `http://127.0.0.1:${this.relay(name).port}`;
  }

  /** Starts a node whose neighbours are named. */
  start(
    name: string,
    peers: string[],
    { limits, ...options }: Partial<HttpTransportOptions> = {},
  ): HttpTransport {
    const transport = new HttpTransport({
      id: name,
      secret: SECRET,
      peers: peers.map((peer) => this.address(peer)),
      limits: { ...LIMITS, ...limits },
      ...options,
    });
    const place = this.#place(name);
    place.handle = (request, response) => {
      if (!transport.handle(request, response)) NO_NODE(request, response);
    };
    place.relay.setFaults();
    this.#transports.push(transport);
    return transport;
  }

  /** Takes a node from its address, as if its process had ended. */
  vacate(name: string): void {
    const place = this.#place(name);
    place.handle = NO_NODE;
    place.relay.setFaults({ refuse: true });
    place.relay.cut();
  }

  async end(): Promise<void> {
    for (const transport of this.#transports) await transport.close();
    for (const { server, relay } of this.#places.values()) {
      await relay[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    }
  }

  #place(name: string): Place {
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`Cannot find a node: expected a name of the fleet, got ${name}`);
    return place;
  }
}

async function newPlace(): Promise<Place> {
  const server = createServer((request, response) => place.handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const relay = await TcpRelay.start({ target: port, record: true, faults: { refuse: true } });
  const place: Place = { server, relay, handle: NO_NODE };
  return place;
}
