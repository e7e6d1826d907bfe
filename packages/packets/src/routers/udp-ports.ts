/**
 * The port to another router: one datagram for each packet, over a UDP socket that is bound
 * already. One socket serves all neighbours of a router, and their addresses tell them apart.
 *
 * Datagrams from other addresses are not passed on. This keeps out accidents, and not an attacker
 * who can forge a source address.
 */

import type { Socket } from 'node:dgram';
import type { Port } from './router.ts';

export interface Neighbour {
  readonly host: string;
  readonly port: number;
}

export class UdpPorts {
  readonly #socket: Socket;
  readonly #takers = new Map<string, (bytes: Uint8Array) => void>();
  #unknown = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (bytes, { address, port }) => {
      const take = this.#takers.get(`${address} ${port}`);
      if (take === undefined) this.#unknown++;
      else take(bytes);
    });
    // A neighbour that is not there yet is a packet lost, as on any link.
    socket.on('error', () => {});
  }

  /** Datagrams from addresses that are no neighbours. */
  get unknown(): number {
    return this.#unknown;
  }

  /** The port to a neighbour. `take` gets the packets from it. */
  to({ host, port }: Neighbour, take: (bytes: Uint8Array) => void): Port {
    this.#takers.set(`${host} ${port}`, take);
    return { send: (packet) => this.#socket.send(packet, port, host, () => {}) };
  }
}
