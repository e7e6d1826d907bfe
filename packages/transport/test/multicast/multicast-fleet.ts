/**
 * Nodes with the multicast transport on loopback: real sockets, real HTTP servers behind relays,
 * and faults for the datagrams of one node. Each fleet has a port of its own, which a bound socket
 * has shown to be free.
 */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freeUdpPort } from '@bloomery/testkit/network/free-udp-port';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { MulticastTransport, type MulticastTransportOptions } from '../../src/multicast/index.ts';
import { type OpenMulticastSocket, openMulticastSocket } from '../../src/multicast/multicast-socket.ts';

const SECRET = Uint8Array.from({ length: 32 }, (_, i) => i);
const LOOPBACK = '127.0.0.1';
const GROUP = '239.192.77.1';

/** Short intervals, but long enough for a machine with other work. */
const LIMITS = { heartbeatMs: 400, askMs: 5000, firstPauseMs: 10, longestPauseMs: 50 };

const NO_NODE: RequestListener = (_, response) => void response.writeHead(404).end();

export interface Told {
  readonly level: string;
  readonly name: string;
  readonly fields: Record<string, unknown>;
}

/** Changes the datagrams of one node. A result of null drops the datagram. */
export interface DatagramFaults {
  readonly sent?: (datagram: Buffer) => Buffer | null;
  readonly heard?: (datagram: Buffer) => Buffer | null;
}

class Place {
  readonly server: Server;
  readonly relay: TcpRelay;
  handle: RequestListener = NO_NODE;
  faults: DatagramFaults = {};

  constructor(server: Server, relay: TcpRelay) {
    this.server = server;
    this.relay = relay;
  }
}

export class MulticastFleet implements AsyncDisposable {
  readonly group: string;
  readonly events: Told[] = [];
  readonly #places: ReadonlyMap<string, Place>;
  readonly #transports: MulticastTransport[] = [];

  private constructor(group: string, places: ReadonlyMap<string, Place>) {
    this.group = group;
    this.#places = places;
  }

  static async withNames(...names: string[]): Promise<MulticastFleet> {
    const places = names.map(async (name) => [name, await newPlace()] as const);
    return new MulticastFleet(`${GROUP}:${await freeUdpPort()}`, new Map(await Promise.all(places)));
  }

  address(name: string): string {
    return `http://127.0.0.1:${this.relay(name).port}`;
  }

  relay(name: string): TcpRelay {
    return this.#place(name).relay;
  }

  setFaults(name: string, faults: DatagramFaults = {}): void {
    this.#place(name).faults = faults;
  }

  /** Starts a node. Its neighbours need no names; those that are given are expected. */
  node(name: string, { limits, ...options }: Partial<MulticastTransportOptions> = {}): MulticastTransport {
    const place = this.#place(name);
    const transport = new MulticastTransport({
      id: name,
      secret: SECRET,
      group: this.group,
      network: LOOPBACK,
      address: this.address(name),
      limits: { ...LIMITS, ...limits },
      event: (level, event, fields) => this.events.push({ level, name: event, fields }),
      openSocket: faulty(place),
      ...options,
    });
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

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#transports.map((transport) => transport.close()));
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

/** A real socket whose datagrams pass the faults of a place. */
function faulty(place: Place): OpenMulticastSocket {
  return async (options) => {
    const socket = await openMulticastSocket({
      ...options,
      heard: (datagram) => {
        const left = place.faults.heard === undefined ? datagram : place.faults.heard(datagram);
        if (left !== null) options.heard(left);
      },
    });
    return {
      send: (datagram) => {
        const copy = Buffer.from(datagram);
        const left = place.faults.sent === undefined ? copy : place.faults.sent(copy);
        if (left !== null) socket.send(left);
      },
      close: () => socket.close(),
    };
  };
}

async function newPlace(): Promise<Place> {
  const server = createServer((request, response) => place.handle(request, response));
  server.listen(0, LOOPBACK);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const place = new Place(server, await TcpRelay.start({ target: port, faults: { refuse: true } }));
  return place;
}
