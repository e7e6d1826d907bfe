/**
 * A UDP socket that has joined a group. It is the one place of the adapter that talks to the
 * system, so that tests can drop and damage datagrams of one node.
 *
 * Several nodes of one machine share the port (`reuseAddr`), and hear each other. A datagram passes
 * no router unless `hops` is above 1. `network` is the address of the network card to use (for IPv6
 * its scope, such as `::%eth0`); without it the system chooses by its routes, which is right on a
 * machine with one card.
 */

import { createSocket, type Socket } from 'node:dgram';
import type { MulticastGroup } from './multicast-group.ts';

export interface MulticastSocketOptions {
  readonly group: MulticastGroup;
  readonly network: string | undefined;
  readonly hops: number;
  readonly heard: (datagram: Buffer) => void;
  /** The socket is lost, and closed. */
  readonly failed: (error: Error) => void;
}

export interface MulticastSocket {
  /** Sends a datagram to the group. One that cannot be sent is lost, as on the network. */
  send(datagram: Uint8Array): void;
  /** Ends the socket when all datagrams are sent. */
  close(): Promise<void>;
}

export type OpenMulticastSocket = (options: MulticastSocketOptions) => Promise<MulticastSocket>;

/** Joins a group. Rejects if the system refuses. */
export const openMulticastSocket: OpenMulticastSocket = async (options) => {
  const { group, network, hops, heard, failed } = options;
  const socket = createSocket({ type: group.family, reuseAddr: true });
  socket.on('message', heard);
  try {
    await bound(socket, group);
    if (network !== undefined) socket.setMulticastInterface(network);
    socket.addMembership(group.group, network);
    socket.setMulticastTTL(hops);
    socket.setMulticastLoopback(true);
  } catch (error) {
    socket.close();
    throw error;
  }
  return new GroupSocket(socket, group, failed);
};

class GroupSocket implements MulticastSocket {
  readonly #socket: Socket;
  readonly #group: MulticastGroup;
  #sending = 0;
  #isClosed = false;
  #idle: () => void = () => {};

  constructor(socket: Socket, group: MulticastGroup, failed: (error: Error) => void) {
    this.#socket = socket;
    this.#group = group;
    socket.on('error', (error) => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      socket.close();
      failed(error);
    });
  }

  send(datagram: Uint8Array): void {
    if (this.#isClosed) return;
    this.#sending++;
    this.#socket.send(datagram, this.#group.port, this.#group.group, () => {
      if (--this.#sending === 0) this.#idle();
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#sending > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    this.#socket.close();
  }
}

/** Binding to the group itself keeps datagrams for other addresses of the port out. */
function bound(socket: Socket, { group, port }: MulticastGroup): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, group, () => {
      socket.off('error', reject);
      resolve();
    });
  });
}
