/**
 * The port for neighbours: a server with the guards and limits of the node, for requests only. A
 * node without workers opens it, or the primary of several.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Limits } from '../../safety/limits.ts';
import type { ListenAddress } from '../config/listen-address.ts';
import { type Certificate, NodeServers } from '../listen/node-servers.ts';

export interface PeerPortOptions {
  readonly address: ListenAddress;
  readonly certificate: Certificate | null;
  /** The limits of the whole node. */
  readonly limits: Limits;
  /** The name of the node, for its refusals. */
  readonly name: () => string;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  readonly failed: (error: Error) => void;
}

export interface PeerPort {
  /** The address with the actual port. */
  readonly address: ListenAddress;
  changeCertificate(certificate: Certificate): void;
  /** Takes other limits of the whole node. Open connections stay. */
  changeLimits(limits: Limits): void;
  /** Takes no more connections, and cuts the answers that still run at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

export async function openPeerPort(options: PeerPortOptions): Promise<PeerPort> {
  const { limits, certificate, name, handle, failed } = options;
  const handlers = {
    name,
    request: handle,
    connect: (_request: unknown, socket: Duplex) => socket.destroy(),
    refused() {},
    failed,
  };
  const own = { ...forNeighbours(limits) };
  const servers = new NodeServers(handlers, own);
  const address = await servers.open(options.address, { certificate, nextFree: false });
  return {
    address,
    changeCertificate: (changed) => servers.changeCertificate(changed),
    changeLimits: (changed) => {
      Object.assign(own, forNeighbours(changed));
      servers.applyLimits();
    },
    close: async (deadlineMs) => {
      await servers.close(deadlineMs);
    },
  };
}

/** Several neighbours may share an address, and their number is the operator's. */
function forNeighbours(limits: Limits): Limits {
  return { ...limits, connectionsPerClient: limits.connections };
}
